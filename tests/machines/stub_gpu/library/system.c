/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opening and closing the library, what it says of the system, and which devices there are.
 */
#include "stub.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static int opened;
static int client_file = -1;
static int visible[MAX_GPUS], visible_count; /* numbers of the GPUs that this process may see, in order */
static struct { int gpu, mig; } gpus[MAX_GPUS], migs[MAX_GPUS][MAX_MIG];

bool is_open(void) { return opened > 0; }

device gpu_handle(int gpu) {
  gpus[gpu].gpu = gpu;
  gpus[gpu].mig = -1;
  return (device)&gpus[gpu];
}

device mig_handle(int gpu, int number) {
  migs[gpu][number].gpu = gpu;
  migs[gpu][number].mig = number;
  return (device)&migs[gpu][number];
}

int gpu_of(device handle) {
  const char *at = (const char *)handle;
  bool known = (at >= (const char *)gpus && at < (const char *)gpus + sizeof gpus) ||
               (at >= (const char *)migs && at < (const char *)migs + sizeof migs);
  return known ? handle->gpu : -1;
}

int usable(device handle, bool cached) {
  int gpu = gpu_of(handle);
  if (gpu < 0) return INVALID_ARGUMENT;
  if (state_fault(-1, "nodriver", NULL)) return DRIVER_NOT_LOADED;
  if (cached) return SUCCESS;
  if (state_fault(gpu, "lost", NULL) || state_fault(gpu, "nohandle", NULL)) return GPU_IS_LOST;
  if (state_fault(gpu, "needs_reset", NULL)) return RESET_REQUIRED;
  if (state_fault(gpu, "err", NULL)) return UNKNOWN_ERROR;
  return SUCCESS;
}

/* A GPU is visible when its device node is there; without the key "devices" no nodes are asked for. */
static bool node(const char *name) {
  char path[256];
  const char *folder = state_text(-1, "devices");
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return !*folder || access(path, F_OK) == 0;
}

static void look(void) {
  long all = state_number(-1, "count", 0);
  visible_count = 0;
  for (int gpu = 0; gpu < all && gpu < MAX_GPUS; gpu++) {
    char name[32];
    snprintf(name, sizeof name, "nvidia%d", gpu);
    if (node(name)) visible[visible_count++] = gpu;
  }
}

/* Without persistence the driver lets go of a GPU with its last client, and forgets the locks then. Whoever comes when
 * nobody holds the clients' lock is the first after that; the kernel gives up the lock of a process that died. */
static void become_client(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s.clients", state_path());
  client_file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (client_file < 0) client_file = open(path, O_RDONLY | O_CLOEXEC);
  if (client_file < 0) return;
  if (flock(client_file, LOCK_EX | LOCK_NB) == 0) {
    static const char *const forgotten[] = {"sm_lock", "mem_lock", "power_limit_mw"};
    for (int gpu = 0; gpu < MAX_GPUS; gpu++)
      for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++) {
        char own[64];
        snprintf(own, sizeof own, "gpu.%d.%s", gpu, forgotten[i]);
        if (*state_text(-1, own) && !state_number(gpu, "persistence", 0) && processes_mib(gpu, -1) == 0)
          state_write(gpu, forgotten[i], NULL);
      }
  }
  flock(client_file, LOCK_SH);
}

static int start(void) {
  long seconds = 0;
  if (state_fault(-1, "hang", &seconds)) {
    struct timespec pause = {seconds ? seconds : 3600, 0};
    nanosleep(&pause, NULL);
  }
  if (!state_present() || state_fault(-1, "nodriver", NULL)) return DRIVER_NOT_LOADED;
  if (state_fault(-1, "late", &seconds) && time(NULL) < state_number(-1, "started", 0) + seconds) return DRIVER_NOT_LOADED;
  if (!node("nvidiactl")) return DRIVER_NOT_LOADED;
  if (state_fault(-1, "mismatch", NULL)) return VERSION_MISMATCH;
  return SUCCESS;
}

EXPORT int nvmlInitWithFlags(uint flags) {
  (void)flags;
  __attribute__((cleanup(state_leave), unused)) int held = 0;
  state_enter();
  int bad = start();
  if (bad != SUCCESS) return bad;
  look();
  if (opened++ == 0) become_client();
  return SUCCESS;
}

EXPORT int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
EXPORT int nvmlInit(void) { return nvmlInitWithFlags(0); }

EXPORT int nvmlShutdown(void) {
  ENTER();
  if (--opened == 0 && client_file >= 0) {
    close(client_file);
    client_file = -1;
  }
  return SUCCESS;
}

EXPORT const char *nvmlErrorString(int code) {
  static const char *const texts[] = {
    "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized",
    "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout",
    "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost",
    "GPU requires reset", "The operating system has blocked the request", "Driver/library version mismatch",
    "In use by another client", "Insufficient Memory", "No data", "vGPU ECC is not supported", "Insufficient Resources",
    "Frequency Not Supported", "Argument version mismatch", "Requested functionality has been deprecated"};
  return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "Unknown Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *text, uint room) {
  ENTER();
  return copy_text(text, room, state_text(-1, "driver"));
}

EXPORT int nvmlSystemGetNVMLVersion(char *text, uint room) {
  ENTER();
  char version[96];
  snprintf(version, sizeof version, "13.%s", state_text(-1, "driver"));
  return copy_text(text, room, version);
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) {
  ENTER();
  NEED(version);
  const char *text = state_text(-1, "cuda");
  const char *dot = strchr(text, '.');
  *version = (int)strtol(text, NULL, 10) * 1000 + (dot ? (int)strtol(dot + 1, NULL, 10) * 10 : 0);
  return SUCCESS;
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

EXPORT int nvmlDeviceGetCount_v2(uint *count) {
  ENTER();
  NEED(count);
  *count = (uint)visible_count;
  return SUCCESS;
}

static int give(int gpu, device *handle) {
  if (state_fault(gpu, "nohandle", NULL)) return GPU_IS_LOST;
  *handle = gpu_handle(gpu);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(uint index, device *handle) {
  ENTER();
  NEED(handle && index < (uint)visible_count);
  return give(visible[index], handle);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, device *handle) {
  ENTER();
  NEED(uuid && handle);
  for (int i = 0; i < visible_count; i++) {
    if (strcmp(uuid, state_text(visible[i], "uuid")) == 0) return give(visible[i], handle);
    mig_device found[MAX_MIG];
    for (int number = mig_list(visible[i], found) - 1; number >= 0; number--) {
      char text[96];
      mig_uuid(visible[i], number, text, sizeof text);
      if (strcmp(uuid, text) != 0) continue;
      *handle = mig_handle(visible[i], number);
      return SUCCESS;
    }
  }
  return NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, device *handle) {
  ENTER();
  NEED(bus_id && handle);
  for (int i = 0; i < visible_count; i++) {
    const char *known = state_text(visible[i], "pci");
    /* The domain may be written with four digits or with eight. */
    if (strcasecmp(bus_id, known) == 0 || (strlen(known) > 4 && strcasecmp(bus_id, known + 4) == 0))
      return give(visible[i], handle);
  }
  return NOT_FOUND;
}

EXPORT int nvmlDeviceGetIndex(device handle, uint *index) {
  CACHED(handle);
  NEED(index);
  for (int i = 0; i < visible_count; i++)
    if (visible[i] == gpu) *index = (uint)i;
  return SUCCESS;
}
