/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * MIG. Key "mig_devices": words PROFILE:GPU_INSTANCE:COMPUTE_INSTANCE:MIB; they exist while the fault "mig" is set.
 */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mig_enabled(int gpu) { return state_fault(gpu, "mig", NULL); }

int mig_list(int gpu, mig_device *found) {
  int count = 0;
  if (!mig_enabled(gpu)) return 0;
  for (const char *text = state_text(gpu, "mig_devices"); count < MAX_MIG; text += strcspn(text, " ")) {
    text += strspn(text, " ");
    mig_device *next = &found[count];
    if (sscanf(text, "%31[^:]:%ld:%ld:%ld", next->profile, &next->gpu_instance, &next->compute_instance, &next->mib) != 4) break;
    count++;
  }
  return count;
}

void mig_uuid(int gpu, int number, char *text, size_t room) {
  const char *uuid = state_text(gpu, "uuid");
  /* The GPU's own, marked in its first digit: unique and the same in every process. */
  snprintf(text, room, "MIG-%d%s", number + 1, strlen(uuid) > 5 ? uuid + 5 : "");
}

/* The MIG device behind a handle; false for a GPU's. */
static bool instance(device handle, mig_device *one) {
  mig_device found[MAX_MIG];
  if (handle->mig < 0 || handle->mig >= mig_list(handle->gpu, found)) return false;
  *one = found[handle->mig];
  return true;
}

EXPORT int nvmlDeviceGetMigMode(device handle, uint *current, uint *pending) {
  LIVE(handle);
  NEED(current && pending);
  if (!*state_text(gpu, "mig_devices")) return NOT_SUPPORTED;
  *current = *pending = mig_enabled(gpu);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(device handle, uint *count) {
  LIVE(handle);
  NEED(count);
  *count = *state_text(gpu, "mig_devices") ? MAX_MIG : 0;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(device handle, uint index, device *found) {
  LIVE(handle);
  NEED(found && handle->mig < 0);
  mig_device all[MAX_MIG];
  if (!mig_enabled(gpu)) return NOT_SUPPORTED;
  if (index >= (uint)mig_list(gpu, all)) return NOT_FOUND;
  *found = mig_handle(gpu, (int)index);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device handle, device *parent) {
  LIVE(handle);
  NEED(parent && handle->mig >= 0);
  *parent = gpu_handle(gpu);
  return SUCCESS;
}

EXPORT int nvmlDeviceIsMigDeviceHandle(device handle, uint *is) {
  CACHED(handle);
  NEED(is);
  *is = handle->mig >= 0;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetGpuInstanceId(device handle, uint *id) {
  LIVE(handle);
  mig_device one;
  NEED(id);
  if (!instance(handle, &one)) return NOT_SUPPORTED;
  *id = (uint)one.gpu_instance;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeInstanceId(device handle, uint *id) {
  LIVE(handle);
  mig_device one;
  NEED(id);
  if (!instance(handle, &one)) return NOT_SUPPORTED;
  *id = (uint)one.compute_instance;
  return SUCCESS;
}

typedef struct {
  uint multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
  ull mib;
} attributes;

EXPORT int nvmlDeviceGetAttributes_v2(device handle, attributes *found) {
  LIVE(handle);
  mig_device one;
  NEED(found);
  if (!instance(handle, &one)) return NOT_SUPPORTED;
  *found = (attributes){.gpu_slices = (uint)strtol(one.profile, NULL, 10), .mib = (ull)one.mib};
  found->compute_slices = found->gpu_slices;
  found->multiprocessors = found->gpu_slices * 16;
  return SUCCESS;
}
