/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Processes on a GPU. Key "processes": words PID:MIB:TYPE:GPU_INSTANCE:COMPUTE_INSTANCE:NAME. MIB "-" means that the
 * driver does not know; an instance "-" means none; TYPE is C (compute), G (graphics) or M (MPS).
 */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE 0xffffffffu
#define MAX_PROCESSES 64

typedef struct {
  uint pid;
  ull used;
  uint gpu_instance, compute_instance;
} process;

static long part(const char **text, long otherwise) {
  char *end;
  long value = strtol(*text, &end, 10);
  bool found = end != *text;
  *text += strcspn(*text, ": ");
  *text += **text == ':';
  return found ? value : otherwise;
}

/* The processes of one type (0: any); the name of the process pid goes to name. */
static int list(int gpu, char type, process *found, uint pid, char *name, size_t room) {
  int count = 0;
  for (const char *text = state_text(gpu, "processes"); *text && count < MAX_PROCESSES; text += strspn(text, " ")) {
    process one;
    one.pid = (uint)part(&text, 0);
    long mib = part(&text, -1);
    one.used = mib < 0 ? ~0ull : (ull)mib << 20;
    char kind = *text;
    text += strcspn(text, ": ");
    text += *text == ':';
    one.gpu_instance = (uint)part(&text, NONE);
    one.compute_instance = (uint)part(&text, NONE);
    size_t length = strcspn(text, " ");
    if (name && one.pid == pid) snprintf(name, room, "%.*s", (int)length, text);
    text += length;
    if (!type || type == kind) found[count++] = one;
  }
  return count;
}

long processes_mib(int gpu, long gpu_instance) {
  process found[MAX_PROCESSES];
  long sum = 0;
  for (int i = list(gpu, 0, found, 0, NULL, 0) - 1; i >= 0; i--)
    if (found[i].used != ~0ull && (gpu_instance < 0 || (long)found[i].gpu_instance == gpu_instance)) sum += (long)(found[i].used >> 20);
  return sum;
}

static int running(device handle, char type, uint *count, process *to) {
  LIVE(handle);
  NEED(count);
  process found[MAX_PROCESSES];
  mig_device instances[MAX_MIG];
  int all = list(gpu, type, found, 0, NULL, 0), kept = 0;
  for (int i = 0; i < all; i++) {
    bool here = handle->mig < 0 || (handle->mig < mig_list(gpu, instances) &&
                                    found[i].gpu_instance == (uint)instances[handle->mig].gpu_instance &&
                                    found[i].compute_instance == (uint)instances[handle->mig].compute_instance);
    if (here) found[kept++] = found[i];
  }
  uint room = *count;
  *count = (uint)kept;
  if (kept == 0) return SUCCESS;
  if (!to || room < (uint)kept) return INSUFFICIENT_SIZE;
  memcpy(to, found, sizeof *to * (size_t)kept);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(device handle, uint *count, process *to) { return running(handle, 'C', count, to); }
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(device handle, uint *count, process *to) { return running(handle, 'G', count, to); }
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(device handle, uint *count, process *to) { return running(handle, 'M', count, to); }

EXPORT int nvmlSystemGetProcessName(uint pid, char *text, uint room) {
  ENTER();
  process found[MAX_PROCESSES];
  char name[256] = "";
  for (int gpu = 0; gpu < MAX_GPUS && !*name; gpu++) list(gpu, 0, found, pid, name, sizeof name);
  return *name ? copy_text(text, room, name) : NOT_FOUND;
}
