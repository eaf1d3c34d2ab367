# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-smi of the stub GPUs: a client of the stub's library, as the real program is one of the real library."""
from __future__ import annotations

import sys

from . import nvml, state
from .readings import read

NO_DRIVER = ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver "
             "is installed and running.\n\n")
NO_LIBRARY = ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is "
              "properly installed and present in your system.\n"
              "Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n")
RC_INVALID, RC_NOT_FOUND, RC_NO_DRIVER, RC_NO_LIBRARY, RC_OTHER = 2, 6, 9, 12, 255

_SETTERS = {"-lgc": "lock_gpu", "--lock-gpu-clocks": "lock_gpu", "-lmc": "lock_memory", "--lock-memory-clocks": "lock_memory",
            "-rgc": "reset_gpu", "--reset-gpu-clocks": "reset_gpu", "-rmc": "reset_memory", "--reset-memory-clocks": "reset_memory",
            "-pm": "persistence", "--persistence-mode": "persistence", "-pl": "power_limit", "--power-limit": "power_limit"}
_WITHOUT_VALUE = {"-q": "-q", "--query": "-q", "-x": "-x", "--xml-format": "-x", "-L": "-L", "--list-gpus": "-L", "--version": "--version",
                  "nvlink": "nvlink", "-s": "-s", "--status": "-s", "-h": "-h", "--help": "-h",
                  **{word: word for word in ("-rgc", "--reset-gpu-clocks", "-rmc", "--reset-memory-clocks")}}
_WITH_VALUE = {"-i": "-i", "--id": "-i", "-d": "-d", "--display": "-d", "--format": "--format", "--query-gpu": "--query-gpu",
               "--query-compute-apps": "--query-compute-apps", "--query-supported-clocks": "--query-supported-clocks",
               **{word: word for word in _SETTERS if not word.startswith(("-r", "--r"))}}
_HELP = "This is the nvidia-smi of the stub GPU: tests/machines/stub_gpu/README.md lists what it can do.\n"


class Stop(Exception):
    """Print the text and end with the status."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


def _invalid(text: str) -> Stop:
    return Stop(RC_INVALID, f"{text}\n\n\nRun 'nvidia-smi --help' for more information.\n")


def parse(words: list) -> dict:
    """Options as {name: value}; Stop for a word that is none."""
    found, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE:
            if not equals and not rest:
                raise _invalid(f"Option {name} requires an argument.")
            found[_WITH_VALUE[name]] = value if equals else rest.pop(0)
        elif word in _WITHOUT_VALUE:
            found[_WITHOUT_VALUE[word]] = ""
        else:
            raise _invalid(f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n{word}")
    return found


def _open() -> nvml.Nvml:
    try:
        return nvml.Nvml()
    except nvml.NoLibrary as error:
        raise Stop(RC_NO_LIBRARY, NO_LIBRARY) from error
    except nvml.Failed as error:
        if error.code == nvml.DRIVER_NOT_LOADED:
            raise Stop(RC_NO_DRIVER, NO_DRIVER) from error
        raise Stop(error.code, f"Failed to initialize NVML: {error}\n") from error


def _devices(library: nvml.Nvml) -> list:
    try:
        return library.gpus()
    except nvml.Failed as error:
        lost = next(gpu for gpu in range(8) if "nohandle" in state.lookup(state.read(), gpu, "fault"))
        bus_id = state.lookup(state.read(), lost, "pci")
        text = f"Unable to determine the device handle for GPU {bus_id}: {error}.  Reboot the system to recover this GPU\n"
        raise Stop(error.code, text) from error


def _chosen(devices: list, wanted: str) -> list:
    """The GPUs that -i names: by index, UUID or PCI bus id."""
    found = []
    for word in wanted.split(","):
        same = [device for device in devices
                if word in (str(device.index), read(device, "uuid")) or read(device, "pci.bus_id").lower().endswith(word.lower()) and ":" in word]
        if not same:
            raise Stop(RC_NOT_FOUND, "No devices were found\n")
        found += same
    return found


def _pair(text: str) -> tuple:
    """MIN,MAX or one value for both."""
    numbers = text.split(",")
    if len(numbers) > 2 or not all(number.isdigit() for number in numbers):
        raise _invalid(f"Unable to parse \"{text}\" as a clock or a pair of clocks.")
    return int(numbers[0]), int(numbers[-1])


def _argument(name: str, text: str):
    if name in ("lock_gpu", "lock_memory"):
        return _pair(text)
    if name == "persistence":
        mode = {"0": 0, "DISABLED": 0, "1": 1, "ENABLED": 1}.get(text.upper())
        if mode is None:
            raise _invalid(f"\"{text}\" is not a valid value for persistence mode.")
        return mode
    if name == "power_limit":
        if not text.replace(".", "", 1).isdigit():
            raise _invalid(f"\"{text}\" is not a valid power limit.")
        return float(text)
    return None


def _query(options: dict, devices: list, driver: str, count: int) -> str:
    from . import smi_csv  # pylint: disable=import-outside-toplevel  # a short command loads only what it needs

    formats = set(options.get("--format", "").split(","))
    if "csv" not in formats:
        raise _invalid("\"--format=\" switch is missing or does not name csv.")
    table = smi_csv.Table(formats)
    try:
        for option, function in (("--query-compute-apps", smi_csv.processes), ("--query-supported-clocks", smi_csv.clocks)):
            if option in options:
                return function(devices, options[option].split(","), table)
        return smi_csv.gpus(devices, options["--query-gpu"].split(","), table, driver, count)
    except smi_csv.BadField as field:
        raise Stop(RC_INVALID, f'Field "{field}" is not a valid field to query.\n\n') from field


def _supported_clocks(devices: list) -> str:
    lines = []
    for device in devices:
        lines += [f"GPU {read(device, 'pci.bus_id')}", "    Supported Clocks"]
        memories = device.memory_clocks()
        for memory in [] if isinstance(memories, nvml.Bad) else memories:
            lines.append(f"        Memory                                         : {memory} MHz")
            lines += [f"            Graphics                                   : {clock} MHz" for clock in device.graphics_clocks(memory)]
    return "\n".join(["", "==============NVSMI LOG==============", ""] + lines) + "\n"


def run(words: list) -> tuple:
    """(exit status, text) of one command line."""
    library = _open()  # without a driver the real program does not look at its arguments either
    options = parse(words)
    if "-h" in options:
        return 0, _HELP
    driver = library.text("nvmlSystemGetDriverVersion")
    cuda_number = library.numbers("nvmlSystemGetCudaDriverVersion_v2")
    cuda = f"{cuda_number // 1000}.{cuda_number % 1000 // 10}"
    if "--version" in options:
        return 0, (f"NVIDIA-SMI version  : {driver}\nNVML version        : {driver.rsplit('.', 1)[0]}\n"
                   f"DRIVER version      : {driver}\nCUDA Version        : {cuda}\n")
    every = _devices(library)
    if not every:
        raise Stop(RC_NOT_FOUND, "No devices were found\n")
    devices = _chosen(every, options["-i"]) if "-i" in options else every
    for option, text in options.items():
        if option in _SETTERS:
            from . import smi_set  # pylint: disable=import-outside-toplevel

            return smi_set.apply(devices, getattr(smi_set, _SETTERS[option]), _argument(_SETTERS[option], text))
    if any(option.startswith("--query-") for option in options):
        return 0, _query(options, devices, driver, len(every))
    if "-q" in options:
        if "-x" in options:
            from . import smi_xml  # pylint: disable=import-outside-toplevel

            return 0, smi_xml.document(devices, len(every), driver, cuda, state.read())
        if options.get("-d") == "SUPPORTED_CLOCKS":
            return 0, _supported_clocks(devices)
        raise _invalid("The stub has -q only as `-q -x` and as `-q -d SUPPORTED_CLOCKS`.")
    from . import smi_table  # pylint: disable=import-outside-toplevel

    if "-L" in options:
        return 0, smi_table.listing(devices)
    if "nvlink" in options:
        return 0, smi_table.links(devices)
    return 0, smi_table.table(devices, driver, cuda)


def main() -> int:
    try:
        status, text = run(sys.argv[1:])
    except Stop as stop:
        status, text = stop.status, str(stop)
    sys.stdout.write(text)
    return min(status, RC_OTHER)
