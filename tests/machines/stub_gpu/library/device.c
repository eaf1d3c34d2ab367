/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a GPU says of itself.
 */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLOCKS 256
#define MIB 20
enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };
enum { REASON_IDLE = 0x1, REASON_POWER_CAP = 0x4, REASON_HW_SLOWDOWN = 0x8, REASON_HW_THERMAL = 0x40, REASONS_ALL = 0x1ff };
enum { ANCESTOR_INTERNAL = 0, ANCESTOR_NODE = 40, ANCESTOR_SYSTEM = 50 };

/* --- identity: known also of a GPU that is lost --- */

EXPORT int nvmlDeviceGetName(device handle, char *text, uint room) {
  CACHED(handle);
  if (handle->mig < 0) return copy_text(text, room, state_text(gpu, "name"));
  mig_device found[MAX_MIG];
  char name[160];
  if (handle->mig >= mig_list(gpu, found)) return NOT_FOUND;
  snprintf(name, sizeof name, "%s MIG %s", state_text(gpu, "name"), found[handle->mig].profile);
  return copy_text(text, room, name);
}

EXPORT int nvmlDeviceGetUUID(device handle, char *text, uint room) {
  CACHED(handle);
  if (handle->mig < 0) return copy_text(text, room, state_text(gpu, "uuid"));
  char uuid[96];
  mig_uuid(gpu, handle->mig, uuid, sizeof uuid);
  return copy_text(text, room, uuid);
}

static int known_text(device handle, const char *key, char *text, uint room) {
  CACHED(handle);
  return *state_text(gpu, key) ? copy_text(text, room, state_text(gpu, key)) : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetSerial(device handle, char *text, uint room) { return known_text(handle, "serial", text, room); }
EXPORT int nvmlDeviceGetVbiosVersion(device handle, char *text, uint room) { return known_text(handle, "vbios", text, room); }
EXPORT int nvmlDeviceGetBoardPartNumber(device handle, char *text, uint room) { return known_text(handle, "board_part", text, room); }

EXPORT int nvmlDeviceGetMinorNumber(device handle, uint *minor) {
  CACHED(handle);
  NEED(minor);
  *minor = (uint)gpu;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetArchitecture(device handle, uint *architecture) {
  CACHED(handle);
  NEED(architecture);
  *architecture = (uint)state_number(gpu, "architecture", 0);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(device handle, int *major, int *minor) {
  CACHED(handle);
  NEED(major && minor);
  long parts[2] = {0, 0};
  state_numbers(gpu, "compute", parts, 2);
  *major = (int)parts[0];
  *minor = (int)parts[1];
  return SUCCESS;
}

typedef struct {
  char legacy[16];
  uint domain, bus, slot, device_id, subsystem_id;
  char bus_id[32];
} pci;

EXPORT int nvmlDeviceGetPciInfo_v3(device handle, pci *found) {
  CACHED(handle);
  NEED(found);
  const char *text = state_text(gpu, "pci");
  memset(found, 0, sizeof *found);
  sscanf(text, "%x:%x:%x", &found->domain, &found->bus, &found->slot);
  long ids[2] = {0, 0};
  state_numbers(gpu, "pci_ids", ids, 2);
  found->device_id = (uint)ids[0];
  found->subsystem_id = (uint)ids[1];
  snprintf(found->bus_id, sizeof found->bus_id, "%s", text);
  snprintf(found->legacy, sizeof found->legacy, "%.15s", strlen(text) > 4 ? text + 4 : text);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetPersistenceMode(device handle, uint *mode) {
  CACHED(handle);
  NEED(mode);
  *mode = state_number(gpu, "persistence", 0) != 0;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeMode(device handle, uint *mode) {
  CACHED(handle);
  NEED(mode);
  *mode = (uint)state_number(gpu, "compute_mode", 0);
  return SUCCESS;
}

/* --- memory --- */

typedef struct { ull total, free, used; } memory;
typedef struct { uint version; ull total, reserved, free, used; } memory_v2;

/* total, reserved and used of a GPU or of a MIG device, in bytes */
static void amounts(device handle, ull *total, ull *reserved, ull *used) {
  const int gpu = handle->gpu;
  mig_device found[MAX_MIG];
  if (handle->mig >= 0 && handle->mig < mig_list(gpu, found)) {
    *total = (ull)found[handle->mig].mib << MIB;
    *reserved = 0;
    *used = (ull)processes_mib(gpu, found[handle->mig].gpu_instance) << MIB;
    return;
  }
  *total = (ull)state_number(gpu, "memory_mib", 0) << MIB;
  *reserved = (ull)state_number(gpu, "reserved_mib", 0) << MIB;
  *used = (ull)(state_number(gpu, "used_mib", 0) + processes_mib(gpu, -1)) << MIB;
}

EXPORT int nvmlDeviceGetMemoryInfo(device handle, memory *found) {
  LIVE(handle);
  NEED(found);
  ull total, reserved, used;
  amounts(handle, &total, &reserved, &used);
  /* The first form counts what the driver keeps as used. */
  *found = (memory){total, total - reserved - used, reserved + used};
  return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(device handle, memory_v2 *found) {
  LIVE(handle);
  NEED(found);
  if (found->version != (sizeof *found | 2u << 24)) return ARGUMENT_VERSION;
  ull total, reserved, used;
  amounts(handle, &total, &reserved, &used);
  *found = (memory_v2){found->version, total, reserved, total - reserved - used, used};
  return SUCCESS;
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(device handle, memory *found) {
  LIVE(handle);
  NEED(found);
  ull total = (ull)state_number(gpu, "bar1_mib", 0) << MIB, used = 1ull << MIB;
  *found = (memory){total, total - used, used};
  return SUCCESS;
}

/* --- errors --- */

EXPORT int nvmlDeviceGetEccMode(device handle, uint *current, uint *pending) {
  LIVE(handle);
  NEED(current && pending);
  *current = *pending = state_number(gpu, "ecc", 1) != 0;
  return SUCCESS;
}

/* Key "ecc_errors": corrected volatile, uncorrected volatile, corrected aggregate, uncorrected aggregate. */
static int ecc_errors(device handle, uint uncorrected, uint aggregate, ull *errors) {
  LIVE(handle);
  NEED(errors && uncorrected <= 1 && aggregate <= 1);
  if (!aggregate && mig_enabled(gpu)) return NOT_SUPPORTED;
  long counts[4] = {0, 0, 0, 0};
  state_numbers(gpu, "ecc_errors", counts, 4);
  *errors = (ull)counts[aggregate * 2 + uncorrected];
  return SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEccErrors(device handle, uint uncorrected, uint aggregate, ull *errors) {
  return ecc_errors(handle, uncorrected, aggregate, errors);
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(device handle, uint uncorrected, uint aggregate, uint location, ull *errors) {
  enum { DRAM = 2, SRAM = 7 };
  int bad = ecc_errors(handle, uncorrected, aggregate, errors);
  if (bad != SUCCESS || location == DRAM) return bad;
  if (location != SRAM) return NOT_SUPPORTED;
  *errors = 0;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetRetiredPages(device handle, uint cause, uint *count, ull *addresses) {
  LIVE(handle);
  (void)cause, (void)count, (void)addresses;
  return NOT_SUPPORTED; /* memory that remaps rows retires no pages */
}

EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(device handle, uint *pending) {
  LIVE(handle);
  (void)pending;
  return NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetRemappedRows(device handle, uint *corrected, uint *uncorrected, uint *pending, uint *failed) {
  LIVE(handle);
  NEED(corrected && uncorrected && pending && failed);
  if (mig_enabled(gpu)) return NOT_SUPPORTED;
  long rows[4] = {0, 0, 0, 0};
  state_numbers(gpu, "remapped_rows", rows, 4);
  *corrected = (uint)rows[0];
  *uncorrected = (uint)rows[1];
  *pending = (uint)rows[2];
  *failed = (uint)rows[3];
  return SUCCESS;
}

EXPORT int nvmlDeviceGetRowRemapperHistogram(device handle, uint *five) {
  LIVE(handle);
  NEED(five);
  long banks[5] = {0, 0, 0, 0, 0};
  if (mig_enabled(gpu) || !state_numbers(gpu, "remap_banks", banks, 5)) return NOT_SUPPORTED;
  for (int i = 0; i < 5; i++) five[i] = (uint)banks[i];
  return SUCCESS;
}

/* --- clocks, load, power, heat --- */

static bool busy(int gpu) { return state_number(gpu, "busy", 0) || state_fault(gpu, "powercap", NULL); }

static long between(long value, long low, long high) { return value < low ? low : value > high ? high : value; }

static long sm_clock(int gpu) {
  long lock[2], high = state_number(gpu, "sm_max", 0);
  long clock = busy(gpu) ? high : state_number(gpu, "sm_min", 0);
  if (state_numbers(gpu, "sm_lock", lock, 2) == 2) clock = between(clock, lock[0], lock[1]);
  long cap = high;
  if (state_fault(gpu, "powercap", &cap)) clock = between(clock, 0, cap < high ? cap : high - 15 * state_number(gpu, "sm_step", 15));
  return clock;
}

static long memory_max(int gpu) { return state_number(gpu, "mem_clocks", 0); }

static long memory_clock(int gpu) {
  long lock[2], clock = busy(gpu) ? memory_max(gpu) : state_number(gpu, "mem_idle", memory_max(gpu));
  if (state_numbers(gpu, "mem_lock", lock, 2) == 2) clock = between(clock, lock[0], lock[1]);
  return clock + state_number(gpu, "mem_skew", 0);
}

EXPORT int nvmlDeviceGetClockInfo(device handle, uint type, uint *clock) {
  LIVE(handle);
  NEED(clock && type <= CLOCK_VIDEO);
  long video[2] = {0, 0};
  state_numbers(gpu, "video_clocks", video, 2);
  *clock = (uint)(type == CLOCK_MEMORY ? memory_clock(gpu) : type == CLOCK_VIDEO ? video[busy(gpu)] : sm_clock(gpu));
  return SUCCESS;
}

EXPORT int nvmlDeviceGetMaxClockInfo(device handle, uint type, uint *clock) {
  CACHED(handle);
  NEED(clock && type <= CLOCK_VIDEO);
  long video[2] = {0, 0};
  state_numbers(gpu, "video_clocks", video, 2);
  *clock = (uint)(type == CLOCK_MEMORY ? memory_max(gpu) : type == CLOCK_VIDEO ? video[1] : state_number(gpu, "sm_max", 0));
  return SUCCESS;
}

EXPORT int nvmlDeviceGetClock(device handle, uint type, uint id, uint *clock) {
  (void)id;
  return nvmlDeviceGetClockInfo(handle, type, clock);
}

EXPORT int nvmlDeviceGetApplicationsClock(device handle, uint type, uint *clock) {
  CACHED(handle);
  NEED(clock);
  if (strtol(state_text(-1, "driver"), NULL, 10) >= 590) return DEPRECATED;
  *clock = (uint)(type == CLOCK_MEMORY ? memory_max(gpu) : state_number(gpu, "sm_default", state_number(gpu, "sm_max", 0)));
  return SUCCESS;
}

static int fill(uint *count, uint *to, const long *from, int found) {
  if (!count) return INVALID_ARGUMENT;
  uint room = *count;
  *count = (uint)found;
  if (!to || room < (uint)found) return INSUFFICIENT_SIZE;
  for (int i = 0; i < found; i++) to[i] = (uint)from[i];
  return SUCCESS;
}

EXPORT int nvmlDeviceGetSupportedMemoryClocks(device handle, uint *count, uint *clocks) {
  LIVE(handle);
  long found[MAX_CLOCKS];
  return fill(count, clocks, found, state_numbers(gpu, "mem_clocks", found, MAX_CLOCKS));
}

EXPORT int nvmlDeviceGetSupportedGraphicsClocks(device handle, uint memory_mhz, uint *count, uint *clocks) {
  LIVE(handle);
  long memories[MAX_CLOCKS], found[MAX_CLOCKS];
  int known = state_numbers(gpu, "mem_clocks", memories, MAX_CLOCKS), steps = 0;
  while (known > 0 && memories[known - 1] != (long)memory_mhz) known--;
  if (known == 0) return NOT_FOUND;
  long low = state_number(gpu, "sm_min", 0), step = state_number(gpu, "sm_step", 15);
  for (long clock = state_number(gpu, "sm_max", 0); clock >= low && step > 0 && steps < MAX_CLOCKS; clock -= step) found[steps++] = clock;
  return fill(count, clocks, found, steps);
}

static int reasons(device handle, ull *found) {
  LIVE(handle);
  NEED(found);
  long given = state_number(gpu, "event_reasons", -1);
  *found = given >= 0 ? (ull)given : busy(gpu) ? 0 : REASON_IDLE;
  if (state_fault(gpu, "powercap", NULL)) *found |= REASON_POWER_CAP;
  if (state_fault(gpu, "hwslowdown", NULL)) *found |= REASON_HW_SLOWDOWN | REASON_HW_THERMAL;
  return SUCCESS;
}

static int supported_reasons(device handle, ull *found) {
  LIVE(handle);
  NEED(found);
  *found = REASONS_ALL;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(device handle, ull *found) { return reasons(handle, found); }
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(device handle, ull *found) { return reasons(handle, found); }
EXPORT int nvmlDeviceGetSupportedClocksEventReasons(device handle, ull *found) { return supported_reasons(handle, found); }
EXPORT int nvmlDeviceGetSupportedClocksThrottleReasons(device handle, ull *found) { return supported_reasons(handle, found); }

EXPORT int nvmlDeviceGetPerformanceState(device handle, uint *state) {
  LIVE(handle);
  NEED(state);
  *state = (uint)state_number(gpu, "pstate", 0);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetUtilizationRates(device handle, uint *percent) {
  LIVE(handle);
  NEED(percent);
  if (mig_enabled(gpu)) return NOT_SUPPORTED;
  long rates[2] = {busy(gpu) ? 100 : 0, busy(gpu) ? 7 : 0};
  state_numbers(gpu, "utilization", rates, 2);
  percent[0] = (uint)rates[0];
  percent[1] = (uint)rates[1];
  return SUCCESS;
}

static long power_limit(int gpu) { return state_number(gpu, "power_limit_mw", state_number(gpu, "power_default_mw", 0)); }

static long power_draw(int gpu) {
  long draw[2] = {0, 0};
  state_numbers(gpu, "power_draw_mw", draw, 2);
  if (state_fault(gpu, "powercap", NULL)) return power_limit(gpu);
  return between(draw[busy(gpu)], 0, power_limit(gpu));
}

static int milliwatts(device handle, long (*of)(int), uint *found) {
  LIVE(handle);
  NEED(found);
  *found = (uint)of(gpu);
  return SUCCESS;
}

static long power_default(int gpu) { return state_number(gpu, "power_default_mw", 0); }

EXPORT int nvmlDeviceGetPowerUsage(device handle, uint *found) { return milliwatts(handle, power_draw, found); }
EXPORT int nvmlDeviceGetPowerManagementLimit(device handle, uint *found) { return milliwatts(handle, power_limit, found); }
EXPORT int nvmlDeviceGetEnforcedPowerLimit(device handle, uint *found) { return milliwatts(handle, power_limit, found); }
EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(device handle, uint *found) { return milliwatts(handle, power_default, found); }

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(device handle, uint *low, uint *high) {
  LIVE(handle);
  NEED(low && high);
  long range[2];
  if (state_numbers(gpu, "power_range_mw", range, 2) != 2) return NOT_SUPPORTED;
  *low = (uint)range[0];
  *high = (uint)range[1];
  return SUCCESS;
}

/* Key "temperatures": GPU idle, GPU busy, memory idle, memory busy. */
static long temperature(int gpu, int sensor) {
  long all[4] = {0, 0, 0, 0};
  state_numbers(gpu, "temperatures", all, 4);
  return all[sensor * 2 + busy(gpu)];
}

EXPORT int nvmlDeviceGetTemperature(device handle, uint sensor, uint *found) {
  LIVE(handle);
  NEED(found && sensor == 0);
  *found = (uint)temperature(gpu, 0);
  return SUCCESS;
}

typedef struct { uint version; int sensor, temperature; } temperature_v1;

EXPORT int nvmlDeviceGetTemperatureV(device handle, temperature_v1 *found) {
  LIVE(handle);
  NEED(found && found->sensor == 0);
  found->temperature = (int)temperature(gpu, 0);
  return SUCCESS;
}

typedef struct { uint version; int margin; } margin_v1;

static int margin(int gpu, long *found) {
  long limit = state_number(gpu, "temperature_limit", -1);
  *found = limit - temperature(gpu, 0);
  return limit < 0 ? NOT_SUPPORTED : SUCCESS;
}

EXPORT int nvmlDeviceGetMarginTemperature(device handle, margin_v1 *found) {
  LIVE(handle);
  NEED(found);
  long degrees;
  int bad = margin(gpu, &degrees);
  found->margin = (int)degrees;
  return bad;
}

/* --- links and places --- */

static int link_state(int gpu, uint link, uint *state) {
  long links = state_number(gpu, "nvlinks", 0), down = 3;
  if (links == 0) return NOT_SUPPORTED;
  NEED(link < (uint)links);
  *state = !(state_fault(gpu, "nvlinkdown", &down) && (long)link == down);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetNvLinkState(device handle, uint link, uint *state) {
  LIVE(handle);
  NEED(state);
  return link_state(gpu, link, state);
}

EXPORT int nvmlDeviceGetNvLinkErrorCounter(device handle, uint link, uint counter, ull *errors) {
  LIVE(handle);
  NEED(errors && counter < 5);
  uint state = 0;
  int bad = link_state(gpu, link, &state);
  *errors = bad == SUCCESS && !state ? 1 : 0;
  return bad;
}

typedef struct {
  uint version;
  unsigned char cluster[16];
  int status;
  uint clique, state, health_mask;
  unsigned char health;
} fabric_v3;

EXPORT int nvmlDeviceGetGpuFabricInfoV(device handle, fabric_v3 *found) {
  enum { V2_SIZE = 36, IN_PROGRESS = 2, COMPLETED = 3 };
  LIVE(handle);
  NEED(found);
  bool third = found->version == (sizeof *found | 3u << 24);
  if (!third && found->version != (V2_SIZE | 2u << 24)) return ARGUMENT_VERSION;
  memset(found->cluster, 0, sizeof found->cluster);
  found->status = SUCCESS;
  found->clique = 0;
  found->health_mask = 0;
  found->state = !state_number(gpu, "fabric", 0) ? 0 : state_fault(gpu, "fabric", NULL) ? IN_PROGRESS : COMPLETED;
  if (third) found->health = 0;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetNumaNodeId(device handle, uint *node) {
  LIVE(handle);
  (void)node;
  return NOT_SUPPORTED; /* only where the GPU's memory is a node of its own */
}

EXPORT int nvmlDeviceGetCpuAffinity(device handle, uint words, unsigned long *mask) {
  LIVE(handle);
  NEED(mask && words > 0);
  memset(mask, 0, sizeof *mask * words);
  mask[0] = (unsigned long)state_number(gpu, "cpu_affinity", 0xffff);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetTopologyCommonAncestor(device handle, device other, uint *level) {
  LIVE(handle);
  NEED(level && gpu_of(other) >= 0);
  int half = (int)state_number(-1, "count", 0) / 2;
  *level = gpu == gpu_of(other) ? ANCESTOR_INTERNAL : (gpu < half) == (gpu_of(other) < half) ? ANCESTOR_NODE : ANCESTOR_SYSTEM;
  return SUCCESS;
}

/* --- field values --- */

typedef struct {
  uint id, scope;
  long long timestamp, latency;
  int type, result;
  union { double d; uint ui; ull ull; long long sll; int si; } value;
} field;

enum { TYPE_UINT = 1, TYPE_ULL = 3, TYPE_INT = 5 };

static int rows(int gpu, int which, long *value) {
  long all[4] = {0, 0, 0, 0};
  state_numbers(gpu, "remapped_rows", all, 4);
  *value = all[which];
  return mig_enabled(gpu) ? NOT_SUPPORTED : SUCCESS;
}

/* The value of a field; *type is the type it has. */
static int field_value(int gpu, uint id, uint scope, long *value, int *type) {
  long range[2] = {0, 0};
  uint state = 0;
  int bad = SUCCESS;
  state_numbers(gpu, "power_range_mw", range, 2);
  *type = TYPE_UINT;
  switch (id) {
    case 1: case 2: *value = state_number(gpu, "ecc", 1) != 0; return SUCCESS;
    case 74: *type = TYPE_ULL; *value = state_number(gpu, "power_cap_us", 0) * 1000; return SUCCESS;
    case 76: case 269: case 270: case 271: *type = TYPE_ULL; *value = 0; return SUCCESS;
    case 82: *value = temperature(gpu, 1); return SUCCESS;
    case 91: *value = state_number(gpu, "nvlinks", 0); return *value ? SUCCESS : NOT_SUPPORTED;
    case 94: case 95: *value = 0; return SUCCESS;
    case 142: case 143: case 144: case 145: return rows(gpu, (int)id - 142, value);
    case 165: bad = link_state(gpu, scope, &state); *value = (long)state; return bad;
    case 185: case 186: *value = power_draw(gpu); return SUCCESS;
    case 187: *value = range[0]; return SUCCESS;
    case 188: *value = range[1]; return SUCCESS;
    case 189: *value = power_default(gpu); return SUCCESS;
    case 190: case 192: *value = power_limit(gpu); return SUCCESS;
    case 193: case 194: case 195: case 196: {
      static const long thresholds[] = {-8, -2, 0, 0};
      *type = TYPE_INT;
      bad = margin(gpu, value);
      *value = thresholds[id - 193];
      return bad;
    }
    default: return NOT_SUPPORTED;
  }
}

/* The driver knows what a GPU needs even when the GPU does not answer. */
static long recovery_action(int gpu) {
  long given = state_number(gpu, "recovery_action", -1);
  if (given >= 0) return given;
  return state_fault(gpu, "needs_reset", NULL) ? 1 : state_fault(gpu, "lost", NULL) ? 2 : 0;
}

EXPORT int nvmlDeviceGetFieldValues(device handle, int count, field *fields) {
  enum { RECOVERY_ACTION = 230 };
  CACHED(handle);
  NEED(fields && count > 0);
  int health = usable(handle, false);
  for (int i = 0; i < count; i++) {
    long value = 0;
    int type = TYPE_UINT;
    fields[i].timestamp = fields[i].latency = 0;
    if (fields[i].id == RECOVERY_ACTION) {
      value = recovery_action(gpu);
      fields[i].result = SUCCESS;
    } else {
      fields[i].result = health != SUCCESS ? health : field_value(gpu, fields[i].id, fields[i].scope, &value, &type);
    }
    fields[i].type = type;
    fields[i].value.sll = 0;
    if (type == TYPE_INT) fields[i].value.si = (int)value;
    else fields[i].value.ull = (ull)value;
  }
  return SUCCESS;
}
