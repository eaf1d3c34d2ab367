# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stub GPU as its clients see it: through pynvml, which is no part of it, and through its nvidia-smi."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import pathlib
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "machines"))

from stub_gpu import build  # noqa: E402
from stub_gpu.guest.stubgpu import ctl, devices, hook, profiles, state  # noqa: E402
from stub_gpu.running import StubGpu  # noqa: E402

pytestmark = [
    pytest.mark.skipif(build.compiler() is None, reason="no C compiler here to build the stub's library with (gcc)"),
    pytest.mark.skipif(importlib.util.find_spec("pynvml") is None, reason="pynvml is not installed (pip install nvidia-ml-py)"),
]

# Reads lines [function, GPU or null, arguments], answers each with {"is": value} or {"error": NVML code}.
CLIENT = r"""
import json, sys
import pynvml

def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "_fields_"):
        return {field[0]: plain(getattr(value, field[0])) for field in value._fields_ if not hasattr(getattr(value, field[0]), "_length_")}
    return {key: plain(one) for key, one in vars(value).items()} if hasattr(value, "__dict__") else value

for line in sys.stdin:
    function, gpu, arguments = json.loads(line)
    try:
        before = () if gpu is None else (pynvml.nvmlDeviceGetHandleByIndex(gpu),)
        if function == "of_mig_device":
            mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(before[0], arguments[1])
            answer = {"is": plain(getattr(pynvml, "nvml" + arguments[0])(mig))}
        else:
            answer = {"is": plain(getattr(pynvml, "nvml" + function)(*before, *arguments))}
    except pynvml.NVMLError as error:
        answer = {"error": error.value}
    print(json.dumps(answer), flush=True)
"""
LOST, NEEDS_RESET, UNKNOWN, NOT_SUPPORTED, NO_PERMISSION, NO_DRIVER, MISMATCH, INVALID = 15, 16, 999, 3, 4, 9, 18, 2
SM, MEMORY = 1, 2
V2 = 0x02000028  # version of the second form of the memory structure


class NvmlError(Exception):
    """The argument is the code."""


class Client:
    """A process that has the library open. ``client("DeviceGetName", 0)``"""

    def __init__(self, gpu: StubGpu):
        self.process = subprocess.Popen([sys.executable, "-c", CLIENT], env=gpu.environment(), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, function, gpu=None, *arguments):
        self.process.stdin.write(json.dumps([function, gpu, arguments]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise NvmlError(answer["error"])
        return answer["is"]

    def code(self, function, gpu=None, *arguments) -> int:
        """The error that this call must end with."""
        with pytest.raises(NvmlError) as caught:
            self(function, gpu, *arguments)
        return caught.value.args[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def board():
    with StubGpu("h200", 8) as board:
        yield board


@pytest.fixture
def gpu(board):
    board.control("reset", "h200", "8")
    return board


@pytest.fixture
def client(gpu):
    client = Client(gpu)
    client("Init")
    yield client
    client.close()


def document(gpu):
    return ElementTree.fromstring(gpu.smi("-q", "-x").stdout)


def query(gpu, fields, *words):
    """Rows of --query-gpu without header and units."""
    done = gpu.smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits", *words)
    assert done.returncode == 0, done.stdout
    return [line.split(", ") for line in done.stdout.splitlines()]


def sm_clocks(gpu):
    return [int(row[0]) for row in query(gpu, "clocks.sm")]


# --- both programs tell the same -----------------------------------------------------------------------------------------

def of_nvml(client, index):
    """A GPU's facts as texts of nvidia-smi."""
    memory = client("DeviceGetMemoryInfo", index, V2)
    limits = client("DeviceGetPowerManagementLimitConstraints", index)
    memories = client("DeviceGetSupportedMemoryClocks", index)
    return {
        "product_name": client("DeviceGetName", index), "uuid": client("DeviceGetUUID", index), "serial": client("DeviceGetSerial", index),
        "pci/pci_bus_id": client("DeviceGetPciInfo", index)["busId"],
        "pci/pci_device_id": f"{client('DeviceGetPciInfo', index)['pciDeviceId']:08X}",
        "persistence_mode": ("Disabled", "Enabled")[client("DeviceGetPersistenceMode", index)],
        **{f"fb_memory_usage/{name}": f"{memory[name] >> 20} MiB" for name in ("total", "reserved", "used", "free")},
        "clocks/sm_clock": f"{client('DeviceGetClockInfo', index, SM)} MHz",
        "clocks/mem_clock": f"{client('DeviceGetClockInfo', index, MEMORY)} MHz",
        "max_clocks/sm_clock": f"{client('DeviceGetMaxClockInfo', index, SM)} MHz",
        "max_clocks/mem_clock": f"{client('DeviceGetMaxClockInfo', index, MEMORY)} MHz",
        "supported_clocks/supported_mem_clock/value": f"{memories[0]} MHz",
        "gpu_power_readings/current_power_limit": f"{client('DeviceGetPowerManagementLimit', index) / 1000:.2f} W",
        "gpu_power_readings/min_power_limit": f"{limits[0] / 1000:.2f} W", "gpu_power_readings/max_power_limit": f"{limits[1] / 1000:.2f} W",
        "gpu_power_readings/instant_power_draw": f"{client('DeviceGetPowerUsage', index) / 1000:.2f} W",
        "temperature/gpu_temp": f"{client('DeviceGetTemperature', index, 0)} C",
        "utilization/gpu_util": f"{client('DeviceGetUtilizationRates', index)['gpu']} %",
        "remapped_rows/remapped_row_corr": str(client("DeviceGetRemappedRows", index)[0]),
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_max":
            f"{client('DeviceGetRowRemapperHistogram', index)['max']} bank(s)",
        "ecc_errors/aggregate/dram_uncorrectable": str(client("DeviceGetTotalEccErrors", index, 1, 1)),
    }


@pytest.mark.parametrize("profile", profiles.NAMES)
def test_pynvml_and_nvidia_smi_tell_the_same_of_every_gpu(gpu, profile):
    gpu.control("reset", profile, "2")
    gpu.set("gpu.1.processes", "4242:2566:C:-:-:/usr/bin/engine 4243:-:C:-:-:other")
    gpu.set("gpu.1.remapped_rows", "2 1 1 0")
    gpu.set("gpu.1.ecc_errors", "5 0 9 1")
    gpu.set("gpu.1.busy", "1")
    client = Client(gpu)
    client("Init")
    found = document(gpu)
    for index, element in enumerate(found.findall("gpu")):
        wanted = of_nvml(client, index)
        assert {path: element.findtext(path) for path in wanted} == wanted
        graphics = client("DeviceGetSupportedGraphicsClocks", index, client("DeviceGetSupportedMemoryClocks", index)[0])
        assert [f"{clock} MHz" for clock in graphics] == [
            one.text for one in element.find("supported_clocks/supported_mem_clock").findall("supported_graphics_clock")]
    assert [(one["pid"], one["usedGpuMemory"]) for one in client("DeviceGetComputeRunningProcesses", 1)] == [(4242, 2566 << 20), (4243, None)]
    assert [tuple(one.findtext(tag) for tag in ("pid", "process_name", "used_memory")) for one in element.iter("process_info")] == [
        ("4242", "/usr/bin/engine", "2566 MiB"), ("4243", "other", "N/A")]
    assert len(found.findall("gpu")) == client("DeviceGetCount") == int(found.findtext("attached_gpus"))
    client.close()


def test_the_h200_is_what_the_real_one_reports(gpu, client):
    assert client("DeviceGetMemoryInfo", 0, V2)["total"] >> 20 == 143771
    graphics = client("DeviceGetSupportedGraphicsClocks", 0, 3201)
    assert (graphics[0], graphics[-1], len(graphics)) == (1980, 345, 110)
    assert client("DeviceGetPowerManagementLimitConstraints", 0) == [200000, 700000]
    assert {client("DeviceGetClockInfo", index, MEMORY) for index in range(8)} == {3199, 3201}
    # The first form of the memory structure counts what the driver keeps as used, the second does not.
    assert client("DeviceGetMemoryInfo", 0)["used"] >> 20 == 614


def test_a_gpu_is_found_by_uuid_bus_id_and_index(gpu):
    uuid = gpu.state()["gpu.3.uuid"]
    for name in (uuid, "3", "00000000:5d:00.0", "0000:5D:00.0"):
        assert query(gpu, "uuid", "-i", name) == [[uuid]]
    missing = gpu.smi("-i", "9", "-L")
    assert (missing.returncode, missing.stdout) == (6, "No devices were found\n")


def test_the_csv_has_the_headers_and_units_of_the_real_program(gpu):
    done = gpu.smi("--query-gpu=index,memory.total,clocks.sm,power.limit,clocks_throttle_reasons.active,temperature.gpu", "--format=csv", "-i", "0")
    assert done.stdout == (
        "index, memory.total [MiB], clocks.current.sm [MHz], power.limit [W], clocks_event_reasons.active, temperature.gpu\n"
        "0, 143771 MiB, 345 MHz, 700.00 W, 0x0000000000000001, 28\n")
    wrong = gpu.smi("--query-gpu=index,bogus", "--format=csv")
    assert (wrong.returncode, wrong.stdout.strip()) == (2, 'Field "bogus" is not a valid field to query.')


def test_each_schema_has_its_own_names(gpu):
    thirteen = document(gpu).find("gpu")
    assert thirteen.findtext("gpu_power_readings/average_power_draw") == "77.67 W" and thirteen.find("gpu_reset_status") is None
    gpu.set("schema", "v12")
    gpu.set("driver", "535.183.06")
    text = gpu.smi("-q", "-x").stdout
    twelve = ElementTree.fromstring(text).find("gpu")
    assert "nvsmi_device_v12.dtd" in text
    assert twelve.findtext("gpu_power_readings/power_draw") == "77.67 W" and twelve.find("gpu_power_readings/average_power_draw") is None
    assert twelve.find("gpu_recovery_action") is None and twelve.findtext("gpu_reset_status/reset_required") == "No"


# --- faults --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fault, code, text", [
    ("lost", LOST, "GPU is lost"), ("needs_reset", NEEDS_RESET, "GPU requires reset"), ("err", UNKNOWN, "Unknown Error")])
def test_a_broken_gpu_is_broken_in_both_and_its_neighbours_are_not(gpu, client, fault, code, text):
    gpu.set("gpu.1.fault", fault)
    assert client.code("DeviceGetMemoryInfo", 1) == code
    assert client.code("DeviceSetPersistenceMode", 1, 1) == code
    assert client("DeviceGetUUID", 1) == gpu.state()["gpu.1.uuid"]  # the driver remembers it
    assert client("DeviceGetMemoryInfo", 0)["total"] > 0
    assert query(gpu, "memory.used,clocks.sm", "-i", "1") == [[f"[{text}]", f"[{text}]"]]
    broken = document(gpu).findall("gpu")[1]
    assert broken.findtext("fb_memory_usage/used") == broken.findtext("remapped_rows") == text
    assert "ERR!" in gpu.smi().stdout


def test_a_gpu_without_a_handle_stops_nvidia_smi(gpu, client):
    gpu.set("gpu.1.fault", "nohandle")
    assert client.code("DeviceGetName", 1) == LOST
    done = gpu.smi("-q", "-x")
    assert done.returncode == 15 and done.stdout.startswith("Unable to determine the device handle for GPU 00000000:2A:00.0: GPU is lost.")


def test_the_recovery_action_is_known_of_a_gpu_that_does_not_answer(gpu):
    gpu.set("gpu.1.fault", "needs_reset")
    gpu.set("gpu.2.recovery_action", "4")
    assert [row[0] for row in query(gpu, "gpu_recovery_action")][:3] == ["None", "Reset", "Drain and Reset"]


@pytest.mark.parametrize("fault, code, status, text", [
    ("nodriver", NO_DRIVER, 9, "couldn't communicate with the NVIDIA driver"), ("late:600", NO_DRIVER, 9, "couldn't communicate"),
    ("mismatch", MISMATCH, 18, "Failed to initialize NVML: Driver/library version mismatch")])
def test_a_driver_that_is_away_or_of_another_version(gpu, fault, code, status, text):
    gpu.set("fault", fault)
    client = Client(gpu)
    assert client.code("Init") == code
    client.close()
    for words in (("-L",), ("-lgc", "1980"), ("--no-such-option",)):
        done = gpu.smi(*words)
        assert done.returncode == status and text in done.stdout


def test_a_late_driver_comes_by_itself_and_is_late_again_after_a_reboot(gpu):
    gpu.set("fault", "late:60")
    with_stamp = {"started": str(int(time.time()) - 61)}
    gpu.edit(with_stamp)
    assert gpu.smi("-L").returncode == 0
    gpu.control("reboot")
    assert gpu.smi("-L").returncode == 9


def test_without_the_library_nvidia_smi_says_so(gpu):
    done = gpu.smi("-L", library=False)
    assert done.returncode == 12 and "couldn't find libnvidia-ml.so library" in done.stdout


def test_a_hanging_driver_hangs(gpu):
    gpu.set("fault", "hang:30")
    with pytest.raises(subprocess.TimeoutExpired):
        gpu.smi("-L", timeout=1)


def test_no_state_is_no_driver(gpu):
    gpu.state_file.unlink()
    assert gpu.smi("-L").returncode == 9
    with pytest.raises(state.StateError):
        gpu.set("fault", "")


def test_a_link_that_is_down_and_a_fabric_that_is_not_ready(gpu, client):
    gpu.set("gpu.0.fault", "nvlinkdown:5 fabric")
    assert [client("DeviceGetNvLinkState", 0, link) for link in range(18)] == [1] * 5 + [0] + [1] * 12
    assert query(gpu, "fabric.state")[:2] == [["In Progress"], ["Completed"]]
    assert "Link 5: <inactive>" in gpu.smi("nvlink", "-s", "-i", "0").stdout


def test_a_power_capped_gpu_is_slower_than_its_lock_and_says_why(gpu, client):
    gpu.set("gpu.0.fault", "powercap:1755")
    client("DeviceSetGpuLockedClocks", 0, 1980, 1980)
    assert client("DeviceGetClockInfo", 0, SM) == 1755
    assert client("DeviceGetCurrentClocksEventReasons", 0) == 0x4 == client("DeviceGetCurrentClocksThrottleReasons", 0)
    assert client("DeviceGetPowerUsage", 0) == 700000


def test_mig_devices_have_their_own_memory_and_the_gpu_has_no_utilization(gpu, client):
    gpu.set("gpu.0.fault", "mig")
    gpu.set("gpu.0.processes", "7:1000:C:1:0:a 8:2000:C:2:0:b")
    uuids = [client("of_mig_device", 0, "DeviceGetUUID", number) for number in (0, 1)]
    used = [client("of_mig_device", 0, "DeviceGetMemoryInfo", number)["used"] >> 20 for number in (0, 1)]
    assert len(set(uuids)) == 2 and used == [1000, 2000] and client("of_mig_device", 0, "DeviceGetName", 0) == "NVIDIA H200 MIG 3g.71gb"
    assert client("of_mig_device", 0, "DeviceGetUUID", 1) in gpu.smi("-L").stdout
    assert client.code("DeviceGetMigDeviceHandleByIndex", 0, 2) == 6
    assert client.code("DeviceGetUtilizationRates", 0) == client.code("DeviceGetRemappedRows", 0) == NOT_SUPPORTED
    element = document(gpu).find("gpu")
    assert element.findtext("mig_mode/current_mig") == "Enabled" and element.findtext("remapped_rows") == "N/A"
    assert [one.findtext("fb_memory_usage/used") for one in element.iter("mig_device")] == ["1000 MiB", "2000 MiB"]
    assert client.code("DeviceGetMigDeviceHandleByIndex", 1, 0) == NOT_SUPPORTED


# --- setters -------------------------------------------------------------------------------------------------------------

def test_a_lock_shows_in_the_idle_clock_of_every_process(gpu, client):
    assert client("DeviceGetClockInfo", 0, SM) == 345
    client("DeviceSetGpuLockedClocks", 0, 1980, 1980)
    assert sm_clocks(gpu)[:2] == [1980, 345]
    client("DeviceResetGpuLockedClocks", 0)
    assert sm_clocks(gpu)[0] == 345


def test_a_busy_gpu_runs_at_the_top_of_its_range(gpu, client):
    client("DeviceSetGpuLockedClocks", 0, 600, 1500)
    gpu.set("gpu.0.busy", "1")
    assert client("DeviceGetClockInfo", 0, SM) == 1500
    gpu.set("gpu.0.busy", "0")
    assert client("DeviceGetClockInfo", 0, SM) == 600


def test_the_driver_takes_the_closest_sm_clock_but_no_unknown_memory_clock(gpu, client):
    client("DeviceSetGpuLockedClocks", 0, 1001, 9999)
    assert gpu.state()["gpu.0.sm_lock"] == "1005 1980"
    assert client.code("DeviceSetGpuLockedClocks", 0, 1500, 1000) == INVALID
    assert client.code("DeviceSetMemoryLockedClocks", 0, 2619, 2619) == INVALID
    client("DeviceSetMemoryLockedClocks", 1, 3199, 3199)
    assert client("DeviceGetClockInfo", 1, MEMORY) == 3199 and gpu.state()["gpu.1.mem_lock"] == "3201 3201"


def test_a_memory_clock_that_idles_low_is_held_up_by_a_lock(gpu):
    gpu.control("reset", "l40s", "1")
    assert query(gpu, "clocks.mem") == [["405"]]
    gpu.smi("-lmc", "9001")
    assert query(gpu, "clocks.mem") == [["9001"]]


def test_nvidia_smi_sets_and_resets_with_the_real_sentences(gpu):
    done = gpu.smi("-i", "0", "-lgc", "1980,1980")
    assert done.stdout == 'GPU clocks set to "(gpuClkMin 1980, gpuClkMax 1980)" for GPU 00000000:18:00.0\nAll done.\n'
    assert gpu.smi("-i", "0", "-rgc").stdout == "All done.\n" and sm_clocks(gpu)[0] == 345
    assert gpu.smi("-i", "0", "-pl", "500").stdout.startswith("Power limit for GPU 00000000:18:00.0 was set to 500.00 W from 700.00 W.")
    assert query(gpu, "power.limit")[:2] == [["500.00"], ["700.00"]]
    done = gpu.smi("-pl", "150")
    assert done.returncode == 2 and "should be between 200.00 W and 700.00 W" in done.stdout
    assert gpu.smi("-i", "0", "-pm", "1").stdout.startswith("Persistence mode is already Enabled")
    assert gpu.smi("-i", "0", "-pm", "0").stdout.startswith("Disabled persistence mode")
    assert "persistence mode is disabled on device" in gpu.smi("-i", "0", "-lgc", "1980").stdout


def test_a_gpu_that_cannot_lock_its_memory_clock_still_ends_with_status_0(gpu, client):
    gpu.set("fault", "nolmc")
    assert client.code("DeviceSetMemoryLockedClocks", 0, 3201, 3201) == NOT_SUPPORTED
    done = gpu.smi("-i", "0", "-lmc", "3201")
    assert done.returncode == 0 and done.stdout.splitlines() == [
        "Setting locked Memory clocks is not supported for GPU 00000000:18:00.0.", "Treating as warning and moving on.", "All done."]


def test_a_setter_without_permission_changes_nothing(gpu, client):
    gpu.set("fault", "noperm")
    for function, arguments in (("SetPersistenceMode", (0,)), ("SetGpuLockedClocks", (1980, 1980)), ("ResetGpuLockedClocks", ()),
                                ("SetMemoryLockedClocks", (3201, 3201)), ("SetPowerManagementLimit", (500000,))):
        assert client.code("Device" + function, 0, *arguments) == NO_PERMISSION
    done = gpu.smi("-lgc", "1980")
    assert done.returncode == 4 and "does not have permission to change clocks" in done.stdout
    assert sm_clocks(gpu)[0] == 345 and query(gpu, "persistence_mode,power.limit")[0] == ["Enabled", "700.00"]


def test_a_reboot_forgets_what_was_set_and_keeps_what_is_broken(gpu, client):
    client("DeviceSetGpuLockedClocks", 0, 1980, 1980)
    client("DeviceSetPowerManagementLimit", 0, 500000)
    client("DeviceSetPersistenceMode", 0, 0)
    gpu.set("gpu.1.fault", "lost")
    gpu.control("reboot")
    assert query(gpu, "clocks.sm,power.limit,persistence_mode", "-i", "0") == [["345", "700.00", "Enabled"]]
    assert client.code("DeviceGetMemoryInfo", 1) == LOST


def test_without_persistence_the_last_client_takes_the_lock_with_it(gpu):
    gpu.set("persistence", "0")
    gpu.smi("-i", "0", "-lgc", "1980")
    assert sm_clocks(gpu)[0] == 345
    client = Client(gpu)
    client("Init")
    gpu.smi("-i", "0", "-lgc", "1980")
    assert sm_clocks(gpu)[0] == 1980  # as long as somebody has the library open
    client.close()
    assert sm_clocks(gpu)[0] == 345


def test_persistence_keeps_the_lock(gpu):
    gpu.set("persistence", "0")
    gpu.smi("-i", "0", "-pm", "1")
    gpu.smi("-i", "0", "-lgc", "1980")
    assert sm_clocks(gpu)[:2] == [1980, 345]


def test_many_processes_change_the_state_at_once_and_no_change_is_lost(gpu):
    clients = [Client(gpu) for _each in range(4)]
    clocks = [600, 1980] * 25
    for client in clients:
        client("Init")
    for number, client in enumerate(clients):  # all of them are written before the first answer is read
        lines = [json.dumps(words) + "\n" for clock in clocks
                 for words in (["DeviceSetGpuLockedClocks", number, [clock, clock]], ["DeviceGetClockInfo", number, [SM]])]
        client.process.stdin.write("".join(lines))
        client.process.stdin.flush()
    for client in clients:
        answers = [json.loads(client.process.stdout.readline()) for _each in range(2 * len(clocks))]
        assert [answer["is"] for answer in answers[1::2]] == clocks
        client.close()


# --- the control program, and the ways into a container ----------------------------------------------------------------------

@pytest.mark.parametrize("words", [
    ("set", "gpu.1.fault", "lots"), ("set", "fault", "late"), ("set", "gpu.1.fault", "nodriver"), ("set", "clock_of_gpu", "1"),
    ("set", "gpu.9.fault", "lost"), ("reset", "h300"), ("reset", "h200", "9"), ("get", "nothing"), ("jump",)])
def test_a_typo_is_refused_so_that_no_test_passes_by_accident(gpu, words):
    before = gpu.state()
    with pytest.raises(ctl.UsageError):
        gpu.control(*words)
    assert gpu.state() == before


def test_a_process_sees_only_the_gpus_whose_nodes_it_has(gpu, tmp_path):
    for name in ("nvidiactl", "nvidia3", "nvidia1"):
        (tmp_path / name).touch()
    gpu.edit({"devices": str(tmp_path)})
    assert query(gpu, "index,uuid") == [["0", gpu.state()["gpu.1.uuid"]], ["1", gpu.state()["gpu.3.uuid"]]]
    (tmp_path / "nvidiactl").unlink()
    assert gpu.smi("-L").returncode == 9


def test_docker_asks_the_hook_by_all_by_index_and_by_uuid(gpu):
    values = gpu.state()
    assert hook.choose("all", values) == list(range(8))
    assert hook.choose(f"{values['gpu.5.uuid']},1", values) == [1, 5]
    with pytest.raises(hook.HookError, match="device error: 8: unknown device"):
        hook.choose("8", values)
    assert [hook.wanted([f"NVIDIA_VISIBLE_DEVICES={value}"]) for value in ("none", "void", "all")] == ["", "", "all"]
    assert hook.wanted(["PATH=/bin"]) == ""


def test_the_cdi_specification_names_each_gpu_by_index_and_uuid(gpu):
    values = dict(gpu.state(), library="/lib/here.so.1")
    found = devices.cdi(values)
    nodes = {one["name"]: [node["path"] for node in one["containerEdits"]["deviceNodes"]] for one in found["devices"]}
    assert found["kind"] == "nvidia.com/gpu" and len(nodes) == 17
    assert nodes["5"] == nodes[values["gpu.5.uuid"]] == ["/dev/nvidia5"] and len(nodes["all"]) == 8
    assert {"/lib/here.so.1", "/usr/bin/nvidia-smi"} < {mount["hostPath"] for mount in found["containerEdits"]["mounts"]}


def test_the_library_has_every_function_that_pynvml_needs_of_it():
    library = ctypes.CDLL(str(build.ensure() / build.SONAME))
    getters = """Count_v2 HandleByIndex_v2 HandleByUUID HandleByPciBusId_v2 Name UUID Serial PciInfo_v3 MinorNumber MemoryInfo MemoryInfo_v2
        MigMode MaxMigDeviceCount MigDeviceHandleByIndex DeviceHandleFromMigDeviceHandle GpuInstanceId ComputeInstanceId EccMode TotalEccErrors
        MemoryErrorCounter RetiredPages RetiredPagesPendingStatus RemappedRows RowRemapperHistogram NvLinkState NvLinkErrorCounter FieldValues
        PersistenceMode ClockInfo MaxClockInfo SupportedMemoryClocks SupportedGraphicsClocks CurrentClocksEventReasons
        CurrentClocksThrottleReasons SupportedClocksEventReasons PowerUsage PowerManagementLimit PowerManagementLimitConstraints
        PowerManagementDefaultLimit EnforcedPowerLimit Temperature UtilizationRates ComputeRunningProcesses_v3 GraphicsRunningProcesses_v3
        MPSComputeRunningProcesses_v3 PerformanceState ComputeMode GpuFabricInfoV VbiosVersion NumaNodeId CpuAffinity
        TopologyCommonAncestor""".split()
    setters = "PersistenceMode GpuLockedClocks MemoryLockedClocks PowerManagementLimit".split()
    names = ["nvmlDeviceGet" + name for name in getters] + ["nvmlDeviceSet" + name for name in setters]
    names += ["nvmlInitWithFlags", "nvmlInit_v2", "nvmlShutdown", "nvmlErrorString", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion",
              "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetProcessName", "nvmlDeviceResetGpuLockedClocks",
              "nvmlDeviceResetMemoryLockedClocks"]
    assert [name for name in names if not hasattr(library, name)] == []
