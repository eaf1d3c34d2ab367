/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What changes a GPU. NVML has no getter for a lock: it shows in the clock that the GPU then runs at.
 */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT_TDP 0xffffff01u
#define LIMIT_UNLIMITED 0xffffff02u
#define MAX_MEMORY_CLOCKS 8
#define MEMORY_TOLERANCE 2

static int allowed(int gpu) {
  bool root = geteuid() == 0 || !state_number(-1, "root_only", 1);
  return root && !state_fault(gpu, "noperm", NULL) ? SUCCESS : NO_PERMISSION;
}

#define CHANGE(handle) \
  LIVE(handle); \
  NEED(handle->mig < 0); \
  { int bad_ = allowed(gpu); if (bad_ != SUCCESS) return bad_; }

EXPORT int nvmlDeviceSetPersistenceMode(device handle, uint mode) {
  CHANGE(handle);
  NEED(mode <= 1);
  return state_write(gpu, "persistence", mode ? "1" : "0");
}

EXPORT int nvmlDeviceSetPowerManagementLimit(device handle, uint milliwatts) {
  CHANGE(handle);
  long range[2];
  if (state_numbers(gpu, "power_range_mw", range, 2) != 2) return NOT_SUPPORTED;
  NEED(milliwatts >= (ull)range[0] && milliwatts <= (ull)range[1]);
  char text[32];
  snprintf(text, sizeof text, "%u", milliwatts);
  return state_write(gpu, "power_limit_mw", text);
}

static int write_pair(int gpu, const char *key, long low, long high) {
  char text[64];
  snprintf(text, sizeof text, "%ld %ld", low, high);
  return state_write(gpu, key, text);
}

/* The supported SM clock that is closest to the one wanted. */
static long closest_sm(int gpu, uint wanted) {
  long low = state_number(gpu, "sm_min", 0), high = state_number(gpu, "sm_max", 0), step = state_number(gpu, "sm_step", 15);
  if (wanted == LIMIT_TDP || wanted == LIMIT_UNLIMITED || (long)wanted >= high) return high;
  if ((long)wanted <= low) return low;
  return high - (high - (long)wanted + step / 2) / step * step;
}

EXPORT int nvmlDeviceSetGpuLockedClocks(device handle, uint low, uint high) {
  CHANGE(handle);
  if (state_fault(gpu, "nolgc", NULL)) return NOT_SUPPORTED;
  NEED(low <= high);
  return write_pair(gpu, "sm_lock", closest_sm(gpu, low), closest_sm(gpu, high));
}

EXPORT int nvmlDeviceResetGpuLockedClocks(device handle) {
  CHANGE(handle);
  if (state_fault(gpu, "nolgc", NULL)) return NOT_SUPPORTED;
  return state_write(gpu, "sm_lock", NULL);
}

/* The supported memory clock that is meant, 0 when none is. */
static long meant_memory(int gpu, uint wanted) {
  long clocks[MAX_MEMORY_CLOCKS];
  for (int i = state_numbers(gpu, "mem_clocks", clocks, MAX_MEMORY_CLOCKS) - 1; i >= 0; i--)
    if (labs(clocks[i] - (long)wanted) <= MEMORY_TOLERANCE) return clocks[i];
  return 0;
}

EXPORT int nvmlDeviceSetMemoryLockedClocks(device handle, uint low, uint high) {
  CHANGE(handle);
  if (state_fault(gpu, "nolmc", NULL)) return NOT_SUPPORTED;
  long from = meant_memory(gpu, low), to = meant_memory(gpu, high);
  NEED(low <= high && from && to);
  return write_pair(gpu, "mem_lock", from, to);
}

EXPORT int nvmlDeviceResetMemoryLockedClocks(device handle) {
  CHANGE(handle);
  if (state_fault(gpu, "nolmc", NULL)) return NOT_SUPPORTED;
  return state_write(gpu, "mem_lock", NULL);
}
