/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stand-in for libnvidia-ml.so.1: the public ABI of NVML over a text file. What all its files share.
 */
#ifndef STUB_H
#define STUB_H

#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_GPUS 8
#define MAX_MIG 7

enum {
  SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, RESET_REQUIRED = 16, VERSION_MISMATCH = 18,
  ARGUMENT_VERSION = 25, DEPRECATED = 26, UNKNOWN_ERROR = 999
};

typedef unsigned int uint;
typedef unsigned long long ull;

/* What a device handle points to: a GPU, or a MIG device of one. */
typedef struct {
  int gpu; /* number in the state file; also its minor number */
  int mig; /* -1, or the number of the MIG device */
} *device;

/* state.c: the file. A key is looked up as "gpu.N.KEY" and then as "KEY"; gpu < 0 reads "KEY" only. */
void state_enter(void);           /* lock out the other threads and read the file when it changed */
void state_leave(void *unused);
bool state_present(void);
const char *state_text(int gpu, const char *key); /* "" when there is no such key */
long state_number(int gpu, const char *key, long otherwise);
int state_numbers(int gpu, const char *key, long *found, int room); /* how many were read, at most room */
bool state_fault(int gpu, const char *name, long *argument);        /* name or name:argument in "fault" */
int state_write(int gpu, const char *key, const char *value);       /* value NULL removes "gpu.N.KEY" */
const char *state_path(void);

/* system.c: which devices there are. */
bool is_open(void);
device gpu_handle(int gpu);
device mig_handle(int gpu, int number);
int gpu_of(device handle); /* -1 for anything that is no handle */

/* mig.c */
typedef struct {
  char profile[32];
  long gpu_instance, compute_instance, mib;
} mig_device;
bool mig_enabled(int gpu);
int mig_list(int gpu, mig_device *found); /* how many; 0 when MIG is off */
void mig_uuid(int gpu, int number, char *text, size_t room);

/* processes.c */
long processes_mib(int gpu, long gpu_instance); /* gpu_instance < 0: the whole GPU */

/* What must be true before a device function answers: the library is open, the handle is one, the GPU is well. */
int usable(device handle, bool cached);

/* Every exported function starts with one of these. They hold the lock until the function returns. */
#define ENTER() \
  __attribute__((cleanup(state_leave), unused)) int held_ = 0; \
  state_enter(); \
  if (!is_open()) return UNINITIALIZED
#define DEVICE_(handle, cached) \
  ENTER(); \
  { int bad_ = usable(handle, cached); if (bad_ != SUCCESS) return bad_; } \
  const int gpu = gpu_of(handle); \
  (void)gpu
/* What a driver still knows of a GPU that is gone, such as its name. */
#define CACHED(handle) DEVICE_(handle, true)
/* What only the GPU itself can tell. */
#define LIVE(handle) DEVICE_(handle, false)
#define NEED(condition) do { if (!(condition)) return INVALID_ARGUMENT; } while (0)

int copy_text(char *to, uint room, const char *text); /* INSUFFICIENT_SIZE when it does not fit */

#endif
