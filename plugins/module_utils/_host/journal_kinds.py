# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each kind of thing in the undo journal was like before (probe), and how it is put back (restore).

probe(item) -> prior, a JSON object. restore(item, prior) raises Kept (nothing can or needs to be done, with the reason) or
SystemFailure/OSError (failed, may be tried again); returning means that the thing is as it was. Restoring twice is harmless.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat

from . import atomic
from . import container as container_module
from . import nvml
from . import sysfs
from . import system as system_module

# Writing 0 to the one in use is EINVAL: each pair has one value above 0, and that one is put back.
SYSCTL_PAIRS = {
    "vm.dirty_bytes": "vm.dirty_ratio",
    "vm.dirty_ratio": "vm.dirty_bytes",
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.dirty_background_ratio": "vm.dirty_background_bytes",
}

_NEVER_PURGED = frozenset((
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/local",
    "/var", "/var/lib",
))


class Kept(Exception):
    """The thing stays as it is; the text says why."""


class NotEmpty(Exception):
    """A directory that may become empty once later entries are undone."""


class Copies:
    """Saved file contents, named by their hash, readable by root only."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, data):
        """Keep data (bytes) -> its name."""
        name = hashlib.sha256(data).hexdigest()
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            atomic.write(path, data, 0o600)
        return name

    def load(self, name):
        """The bytes kept under name."""
        with open(os.path.join(self.folder, name), "rb") as handle:
            return handle.read()


def missing_parents(path):
    """Directories above path that do not exist, the outermost first."""
    missing = []
    parent = os.path.dirname(path)
    while parent and not os.path.lexists(parent):
        missing.insert(0, parent)
        parent = os.path.dirname(parent)
    return missing


def remove_empty(directories):
    """Remove those directories that are empty, the innermost first."""
    for path in sorted(directories, key=len, reverse=True):
        try:
            os.rmdir(path)
        except OSError:
            return


class Kinds:
    """Probe and restore by kind. root: prefix of every path; undo: the journal's own folder, never removed from here."""

    def __init__(self, root, undo, copies, system):
        self.root = root.rstrip("/")
        self.undo = undo
        self.copies = copies
        self.system = system

    def real(self, path):
        """The path under root."""
        return self.root + path

    def probe(self, item, absent=(), dry=False):
        """State before any change. absent: real paths to be taken as missing; dry: keep no copy."""
        return getattr(self, "_probe_" + item["kind"])(item, absent, dry)

    def restore(self, item, prior):
        """Put one thing back."""
        getattr(self, "_restore_" + item["kind"])(item, prior)

    # ---- files ----------------------------------------------------------------------------------------------------

    def _probe_file(self, item, absent, dry):
        path = self.real(item["path"])
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return {"type": "absent", "missing_parents": missing_parents(path)}
        if stat.S_ISLNK(found.st_mode):
            return {"type": "symlink", "target": os.readlink(path)}
        if not stat.S_ISREG(found.st_mode):
            return {"type": "other"}
        with open(path, "rb") as handle:
            data = handle.read()
        name = hashlib.sha256(data).hexdigest() if dry else self.copies.save(data)
        return dict(_ownership(found), type="file", copy=name)

    def _restore_file(self, item, prior):
        path = self.real(item["path"])
        if prior["type"] == "other":
            raise Kept("was no regular file before; nothing was saved")
        if os.path.isdir(path) and not os.path.islink(path):
            raise Kept("a directory has this name now")
        if prior["type"] == "absent":
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError):
                pass
            remove_empty(prior["missing_parents"])
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if prior["type"] == "symlink":
            if not os.path.islink(path) or os.readlink(path) != prior["target"]:
                atomic.symlink(path, prior["target"])
            return
        if self._probe_file(item, (), True) != prior:
            atomic.write(path, self.copies.load(prior["copy"]), prior["mode"], prior["uid"], prior["gid"])

    def checksum(self, path):
        """Hash of a file's content or link target, None when it is absent or something else."""
        path = self.real(path)
        try:
            if os.path.islink(path):
                return hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()
            with open(path, "rb") as handle:
                return hashlib.sha256(handle.read()).hexdigest()
        except OSError:
            return None

    # ---- directories ----------------------------------------------------------------------------------------------

    def _probe_directory(self, item, absent, dry):
        path = self.real(item["path"])
        if path in absent or not os.path.lexists(path):
            # a parent that the journal made for itself goes with the journal
            return {"type": "absent", "missing_parents": [p for p in missing_parents(path) if p not in absent]}
        if os.path.islink(path) or not os.path.isdir(path):
            return {"type": "other"}
        return dict(_ownership(os.lstat(path)), type="directory")

    def _restore_directory(self, item, prior):
        path = self.real(item["path"])
        if prior["type"] == "other":
            raise Kept("was no directory before")
        if prior["type"] == "directory":
            self._restore_ownership(path, prior)
            return
        if os.path.islink(path) or not os.path.lexists(path):
            remove_empty(prior["missing_parents"])
            return
        if not os.path.isdir(path):
            raise Kept("something else than a directory has this name now")
        if item.get("purge"):
            if item["path"].rstrip("/") in _NEVER_PURGED or item["path"].rstrip("/") == "":
                raise Kept("a system directory is never removed with its content")
            self._purge(path, os.lstat(path).st_dev)
        left = [name for name in sorted(os.listdir(path)) if not self._holds_undo(os.path.join(path, name))]
        if left:
            raise NotEmpty("not empty: %s" % ", ".join(left[:5] + ["..."] * (len(left) > 5)))
        if not self._holds_undo(path):
            os.rmdir(path)
            remove_empty(prior["missing_parents"])

    def _holds_undo(self, path):
        return self.undo == path or self.undo.startswith(path + "/")

    def _purge(self, path, device):
        """Remove what is in path, but never another file system and never the journal."""
        for entry in list(os.scandir(path)):
            if entry.is_dir(follow_symlinks=False):
                if entry.stat(follow_symlinks=False).st_dev != device or os.path.ismount(entry.path):
                    raise Kept("a file system is mounted on %s" % entry.path)
                if entry.path == self.undo:
                    continue
                self._purge(entry.path, device)
                if not self._holds_undo(entry.path):
                    os.rmdir(entry.path)
            else:
                os.unlink(entry.path)

    @staticmethod
    def _restore_ownership(path, prior):
        try:
            now = _ownership(os.lstat(path))
        except FileNotFoundError:
            os.makedirs(path)
            now = {}
        if now == {key: prior[key] for key in ("mode", "uid", "gid")}:
            return
        os.chown(path, prior["uid"], prior["gid"])
        os.chmod(path, prior["mode"])

    # ---- kernel settings ------------------------------------------------------------------------------------------

    def _sysctl_path(self, key):
        # as sysctl(8): the first separator decides; "net/ipv4/conf/eth0.100/x" keeps the dot of its interface
        slash, dot = key.find("/"), key.find(".")
        if slash < 0 or 0 <= dot < slash:
            key = key.translate(str.maketrans("./", "/."))
        return self.real("/proc/sys/" + key)

    def _read_sysctl(self, key):
        try:
            with open(self._sysctl_path(key), encoding="utf-8") as handle:
                return " ".join(handle.read().split())
        except FileNotFoundError:
            return None

    def _probe_sysctl(self, item, absent, dry):
        prior = {"value": self._read_sysctl(item["key"])}
        pair = SYSCTL_PAIRS.get(item["key"])
        if pair:
            prior["pair"] = {"key": pair, "value": self._read_sysctl(pair)}
        return prior

    def _restore_sysctl(self, item, prior):
        key, value = item["key"], prior["value"]
        if value is None:
            if self._read_sysctl(key) is None:
                return
            raise Kept("the key did not exist before; it goes with its kernel module at the next boot")
        if value == "0" and "pair" in prior and prior["pair"]["value"] not in (None, "0"):
            key, value = prior["pair"]["key"], prior["pair"]["value"]
        current = self._read_sysctl(key)
        if current == value:
            return
        if current is None:
            raise Kept("the kernel has no such key now")
        try:
            with open(self._sysctl_path(key), "w", encoding="utf-8") as handle:
                handle.write(value + "\n")  # an empty value needs something to be written at all
        except OSError as exc:
            if exc.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise Kept("read-only here: stays %s, was %s" % (current, value)) from None
            raise

    # ---- units ----------------------------------------------------------------------------------------------------

    def _probe_unit(self, item, absent, dry):
        return self.system.unit(system_module.unit_name(item["name"]))

    def quiet_unit(self, item, prior):
        """Stop and disable what did not run or was not enabled before; while the unit's files are still there."""
        name = system_module.unit_name(item["name"])
        now = self.system.unit(name)
        if not now["exists"] and now["active"] in ("", "inactive"):
            return
        template = system_module.is_template(name)
        if template and not prior["exists"]:
            self.system.systemctl("stop", name.replace("@.", "@*."))
        elif not template and prior["active"] in ("", "inactive", "failed") and now["active"] not in ("", "inactive", "failed"):
            self.system.systemctl("stop", name)
        if now["active"] == "failed" and prior["active"] != "failed":
            self.system.systemctl("reset-failed", name)
        if not now["exists"]:
            return
        if (template and not prior["exists"]) or (now["enabled"].startswith("enabled") and not prior["enabled"].startswith("enabled")):
            self.system.systemctl("disable", name)
        if now["enabled"].startswith("masked") and not prior["enabled"].startswith("masked"):
            self.system.systemctl("unmask", name)

    def _restore_unit(self, item, prior):
        """Enable, mask and start what was so before; when the unit's files are back and read."""
        if not prior["exists"]:
            return
        name = system_module.unit_name(item["name"])
        now = self.system.unit(name)
        if not now["exists"]:
            raise Kept("the unit does not exist any more (was %s, %s)" % (prior["active"], prior["enabled"]))
        was, enabled = prior["enabled"], now["enabled"]
        if was != enabled and was in ("enabled", "enabled-runtime"):
            self.system.systemctl("enable", *(["--runtime", name] if was.endswith("runtime") else [name]))
        if was in ("masked", "masked-runtime") and not enabled.startswith("masked"):
            self.system.systemctl("mask", *(["--runtime", name] if was.endswith("runtime") else [name]))
        if prior["active"] in ("active", "activating", "reloading") and now["active"] not in ("active", "activating", "reloading"):
            self.system.systemctl("start", name)

    # ---- containers -----------------------------------------------------------------------------------------------

    def _probe_container(self, item, absent, dry):
        found = self.system.container(item["name"])
        if found is None:
            return {"exists": False}
        return {
            "exists": True,
            "id": found["Id"],
            "running": container_module.is_running(found),
            "restart_policy": found["HostConfig"].get("RestartPolicy") or {"Name": "no"},
        }

    def _restore_container(self, item, prior):
        found = self.system.container(item["name"])
        if not prior["exists"]:
            if found is None:
                return
            if container_module.labels_of(found).get(container_module.MANAGED) != "true":
                raise Kept("a container of this name exists that the collection did not make")
            self.system.container_action("remove", found["Id"])
            return
        if found is None:
            raise Kept("the container does not exist any more")
        if found["Id"] != prior["id"]:
            raise Kept("another container has this name now")
        policy = prior["restart_policy"]
        if (found["HostConfig"].get("RestartPolicy") or {}) != policy:
            self.system.container_action("update", found["Id"], {"RestartPolicy": policy})
        running = container_module.is_running(found)
        if prior["running"] and not running:
            self.system.container_action("start", found["Id"])
        elif running and not prior["running"]:
            self.system.container_action("stop", found["Id"], 30)

    # ---- accounts and packages ------------------------------------------------------------------------------------

    def _probe_user(self, item, absent, dry):
        return {"exists": self.system.has_user(item["name"])}

    def _restore_user(self, item, prior):
        if not prior["exists"] and self.system.has_user(item["name"]):
            self.system.remove_user(item["name"])

    def _probe_group(self, item, absent, dry):
        return {"exists": self.system.has_group(item["name"])}

    def _restore_group(self, item, prior):
        if not prior["exists"] and self.system.has_group(item["name"]):
            self.system.remove_group(item["name"])

    def _probe_package(self, item, absent, dry):
        return {"version": self.system.package_version(item["name"])}

    def _restore_package(self, item, prior):
        now = self.system.package_version(item["name"])
        if now != prior["version"]:
            raise Kept("packages stay: is %s, was %s" % (now or "not installed", prior["version"] or "not installed"))

    # ---- holds ----------------------------------------------------------------------------------------------------

    def _probe_hold(self, item, absent, dry):
        return {"held": self.system.package_held(item["name"])}

    def _restore_hold(self, item, prior):
        now = self.system.package_held(item["name"])
        before = bool(prior["held"])  # what was not installed was not held
        if now is not None and now != before:  # a package that is gone carries no hold
            self.system.hold_package(item["name"], before)

    # ---- GPUs -----------------------------------------------------------------------------------------------------

    def _probe_gpu(self, item, absent, dry):
        return GpuSetting(item["name"]).probe()

    def _restore_gpu(self, item, prior):
        GpuSetting(item["name"]).restore(prior)

    # ---- values under /sys ----------------------------------------------------------------------------------------

    def _probe_sysfs(self, item, absent, dry):
        return SysfsValue(self.real(item["path"])).probe()

    def _restore_sysfs(self, item, prior):
        SysfsValue(self.real(item["path"])).restore(prior)


def _ownership(found):
    return {"mode": stat.S_IMODE(found.st_mode), "uid": found.st_uid, "gid": found.st_gid}


class GpuSetting:
    """One setting of one GPU, called "UUID persistence", "UUID power_limit", "UUID sm_clock" or "UUID memory_clock".

    A locked clock cannot be read, so the way back from our lock is no lock; it is recorded only before we make one.
    """

    def __init__(self, name, library=None):
        self.uuid, unused, self.setting = name.partition(" ")
        self.library = library or nvml.Library

    def probe(self):
        """{"value": on or off, mW, or null for a clock}."""
        if self.setting not in ("persistence", "power_limit"):
            return {"value": None}
        try:
            with self.library() as library:
                gpu = library.gpu_of(self.uuid)
                return {"value": gpu.persistence() if self.setting == "persistence" else gpu.power_limit()}
        except nvml.NvmlError as exc:
            raise system_module.SystemFailure(str(exc)) from None

    def restore(self, prior):
        """Kept where there is no driver or no such GPU: what we set went with it."""
        try:
            library = self.library()
        except nvml.NvmlError as exc:
            if exc.code in (nvml.LIBRARY_NOT_FOUND, nvml.DRIVER_NOT_LOADED):
                raise Kept("no driver is loaded, so nothing of it is left") from None
            raise system_module.SystemFailure(str(exc)) from None
        with library:
            try:
                gpu = library.gpu_of(self.uuid)
            except nvml.NvmlError as exc:
                raise Kept("the GPU cannot be reached: %s" % exc) from None
            try:
                self._put_back(gpu, prior["value"])
            except nvml.NvmlError as exc:
                if exc.code not in nvml.ABSENT:
                    raise system_module.SystemFailure(str(exc)) from None

    def _put_back(self, gpu, value):
        if self.setting == "sm_clock":
            gpu.reset_sm()
        elif self.setting == "memory_clock":
            gpu.reset_memory()
        elif self.setting == "power_limit" and gpu.power_limit() != value:
            gpu.set_power_limit(value)
        elif self.setting == "persistence" and gpu.persistence() != value:
            gpu.set_persistence(value)


class SysfsValue:
    """A file of one value under /sys: a choice such as "always [madvise] never", a number, a mask of CPUs, a governor."""

    def __init__(self, path):
        self.path = path

    def probe(self):
        """{"value": text, or null where there is no such file}."""
        return {"value": sysfs.read(self.path)}

    def restore(self, prior):
        """Write the value back. Kept where the file is gone (a device that went), was not there, or is read-only."""
        current = sysfs.read(self.path)
        if prior["value"] is None:
            if current is None:
                return
            raise Kept("did not exist before; it goes with its device")
        if current is None:
            raise Kept("does not exist any more (was %s)" % prior["value"])
        if current == prior["value"]:
            return
        try:
            sysfs.write(self.path, prior["value"])
        except OSError as exc:
            if exc.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise Kept("read-only here: stays %s, was %s" % (current, prior["value"])) from None
            raise
