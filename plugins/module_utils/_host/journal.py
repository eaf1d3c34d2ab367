# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The undo journal: what was there before this collection changed it, and the way back.

One JSON object per line, only ever appended; an entry is on the disk before the change it belongs to. A line cut short by
a power cut belongs to a change that was not made. The first record of a thing wins, whoever makes it; a thing that
several roles use is put back when the last of them goes. docs/contracts/undo_entry.schema.json has the shape of an entry.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

from . import atomic
from . import journal_kinds
from . import paths
from . import system as system_module

SCHEMA_VERSION = 1

# kind -> the key that names the thing
KINDS = {
    "file": "path",
    "directory": "path",
    "sysctl": "key",
    "unit": "name",
    "container": "name",
    "package": "name",
    "hold": "name",
    "user": "name",
    "group": "name",
    "gpu": "name",
    "sysfs": "path",
}

_SYSTEMD_FOLDERS = ("/etc/systemd/", "/run/systemd/", "/usr/local/lib/systemd/")


class JournalError(Exception):
    """The journal cannot be read or written, or an item is wrong. Nothing may be changed then."""


class Journal:
    """The journal of one host. root: prefix of every path (tests); system: what stands for systemd, Docker and accounts."""

    def __init__(self, root="/", undo=paths.UNDO, system=None):
        self.root = root.rstrip("/")
        self.undo = self.root + undo
        self.path = os.path.join(self.undo, "journal.jsonl")
        self.copies = os.path.join(self.undo, "files")
        self.kinds = journal_kinds.Kinds(self.root, self.undo, journal_kinds.Copies(self.copies), system or system_module.System())

    # ---- for roles and modules ------------------------------------------------------------------------------------

    def record(self, role, items, dry=False):
        """Note the present state of the items that are not in the journal yet -> those items (list of dict).

        items: [{"kind": "file", "path": "/etc/x"}, {"kind": "sysctl", "key": "vm.swappiness"}, ...]. dry: only tell.
        JournalError: then nothing may be changed.
        """
        items = [normalise(item) for item in items]
        try:
            if dry:
                return self._record(role, items, True)
            with self._locked():
                return self._record(role, items, False)
        except (OSError, system_module.SystemFailure) as exc:
            raise JournalError("cannot record for role %s: %s" % (role, exc)) from None

    def restore(self, role, dry=False):
        """Undo everything a role ("all": every role) recorded, newest first.

        -> {"restored": [text], "kept": [{"item", "reason"}], "failed": [{"item", "reason"}], "warnings": [text]}.
        What failed stays in the journal and is tried again next time.
        """
        result = {"restored": [], "kept": [], "failed": [], "warnings": []}
        if not os.path.exists(self.path):
            return result
        if dry:
            for entry in reversed(self._mine(self._load(), role)):
                result["restored"].append(describe(entry["item"]))
            return result
        with self._locked():
            self._restore(role, result)
            self._compact()
        return result

    def seal(self, role, files):
        """Note the present content of these recorded files as ours, so that a later edit by somebody else is reported."""
        if not os.path.exists(self.path):
            return
        with self._locked():
            entries = self._load()
            lines = []
            for path in files:
                entry = entries.get("file " + path)
                checksum = self.kinds.checksum(path)
                if entry and entry["sealed"] != checksum:
                    lines.append({"op": "seal", "id": entry["id"], "sha256": checksum})
            self._append(lines)

    def entries(self, role="all"):
        """What the journal holds for a role, oldest first."""
        return self._mine(self._load(), role)

    # ---- recording ------------------------------------------------------------------------------------------------

    def _record(self, role, items, dry):
        entries = self._load()
        absent = set(self._own_parents())
        lines, new = [], []
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for item in items:
            known = entries.get(describe(item))
            if known and known["done"]:  # undone, but a crash kept the line
                known = None
            if known and role in known["roles"]:
                continue
            new.append(item)
            if known:
                line = {"op": "share", "id": known["id"], "role": role}
                if item.get("purge"):  # one role that fills a folder of ours is enough for its content to go
                    line["purge"] = known["item"]["purge"] = True
                lines.append(line)
                known["roles"].append(role)
                continue
            prior = self.kinds.probe(item, absent, dry)
            line = _record_line(describe(item), role, at, item, prior)
            lines.append(line)
            entries[line["id"]] = {"id": line["id"], "roles": [role], "item": item, "prior": prior, "sealed": None, "done": False}
        if not dry:
            self._append(lines)
        return new

    # ---- restoring ------------------------------------------------------------------------------------------------

    def _restore(self, role, result):
        entries = self._load()
        todo = []
        for entry in self._mine(entries, role):
            others = [name for name in entry["roles"] if name != role]
            if role != "all" and others:
                self._append([{"op": "leave", "id": entry["id"], "role": role}])
                result["kept"].append({"item": entry["id"], "reason": "still used by %s" % ", ".join(others)})
            else:
                todo.append(entry)
        todo.reverse()
        touched = any(_concerns_systemd(entry["item"]) for entry in entries.values() if entry["done"]) or any(
            _concerns_systemd(entry["item"]) for entry in todo
        )
        # First everything that we brought up goes down, while its files are there; accounts and what was up before come last.
        broken = set()
        for entry in _of(todo, "unit"):
            self._attempt(entry, lambda e: self.kinds.quiet_unit(e["item"], e["prior"]), result, broken, final=False)
        late = []
        for entry in todo:
            if entry["item"]["kind"] in ("unit", "user", "group"):
                continue
            self._warn_of_edit(entry, result)
            self._attempt(entry, self._put_back, result, broken, late=late)
        for entry in sorted(late, key=lambda e: len(e["item"]["path"]), reverse=True):
            self._attempt(entry, self._put_back, result, broken)
        if touched:
            self._reload(result)
        for kind in ("unit", "user", "group"):
            for entry in _of(todo, kind):
                if entry["id"] not in broken:
                    self._attempt(entry, self._put_back, result, broken)

    def _put_back(self, entry):
        self.kinds.restore(entry["item"], entry["prior"])

    def _attempt(self, entry, action, result, broken, final=True, late=None):
        try:
            action(entry)
        except journal_kinds.NotEmpty as exc:
            if late is not None:
                late.append(entry)
                return
            result["kept"].append({"item": entry["id"], "reason": str(exc)})
        except journal_kinds.Kept as exc:
            result["kept"].append({"item": entry["id"], "reason": str(exc)})
        except (OSError, system_module.SystemFailure) as exc:
            result["failed"].append({"item": entry["id"], "reason": str(exc)})
            broken.add(entry["id"])
            return
        else:
            if not final:
                return
            result["restored"].append(entry["id"])
        self._append([{"op": "done", "id": entry["id"]}])

    def _warn_of_edit(self, entry, result):
        if entry["sealed"] and self.kinds.checksum(entry["item"]["path"]) not in (None, entry["sealed"]):
            result["warnings"].append("%s was changed by somebody else after this collection wrote it; the change is gone" % entry["id"])

    def _reload(self, result):
        try:
            self.kinds.system.systemctl("daemon-reload")
        except system_module.SystemFailure as exc:
            result["warnings"].append(str(exc))

    # ---- the file -------------------------------------------------------------------------------------------------

    def _mine(self, entries, role):
        return [e for e in entries.values() if not e["done"] and (role == "all" or role in e["roles"])]

    def _load(self):
        """{id: entry}, oldest first."""
        entries = {}
        for line in self._lines():
            if line["op"] == "record":
                entries[line["id"]] = {
                    "id": line["id"],
                    "roles": [line["role"]],
                    "at": line["at"],
                    "item": line["item"],
                    "prior": line["prior"],
                    "sealed": None,
                    "done": False,
                }
                continue
            entry = entries.get(line.get("id"))
            if entry is None:
                continue
            if line["op"] == "share" and line["role"] not in entry["roles"]:
                entry["roles"].append(line["role"])
                if line.get("purge"):
                    entry["item"]["purge"] = True
            elif line["op"] == "leave" and line["role"] in entry["roles"]:
                entry["roles"].remove(line["role"])
            elif line["op"] == "seal":
                entry["sealed"] = line["sha256"]
            elif line["op"] == "done":
                entry["done"] = True
        return entries

    def _lines(self):
        try:
            with open(self.path, "rb") as handle:
                data = handle.read()
        except FileNotFoundError:
            return []
        whole = data[:data.rfind(b"\n") + 1]  # what follows the last newline was cut short
        lines = []
        for number, text in enumerate(whole.splitlines(), 1):
            try:
                lines.append(json.loads(text))
            except ValueError as exc:
                raise JournalError("%s, line %d is damaged: %s" % (self.path, number, exc)) from None
        return lines

    def _own_parents(self):
        """Directories that exist only because the journal does (or will)."""
        for line in self._lines():
            if line["op"] == "begin":
                return line["missing"]
        # the folders without a journal in them: a crash came between the two
        missing = journal_kinds.missing_parents(self.path) or [self.undo]
        parent = os.path.dirname(self.undo)
        if os.path.isdir(parent) and os.listdir(parent) == [os.path.basename(self.undo)]:
            missing.insert(0, parent)
        return missing

    def _append(self, lines):
        if not lines:
            return
        new = not os.path.exists(self.path)
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines).encode("utf-8")
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            data = os.pread(fd, os.fstat(fd).st_size, 0)
            os.ftruncate(fd, data.rfind(b"\n") + 1)
            os.lseek(fd, 0, os.SEEK_END)
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view):]
            os.fsync(fd)
        finally:
            os.close(fd)
        if new:
            atomic.fsync_directory(self.undo)

    @contextlib.contextmanager
    def _locked(self):
        """The journal's folder, made when needed, and its lock."""
        missing = self._own_parents()
        os.makedirs(os.path.dirname(self.undo), mode=0o755, exist_ok=True)
        for folder in (self.undo, self.copies):
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
        fd = os.open(os.path.join(self.undo, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if not os.path.exists(self.path):
                self._append([{"op": "begin", "schema_version": SCHEMA_VERSION, "missing": missing}])
            yield
        finally:
            os.close(fd)

    def _compact(self):
        """Forget what is done; with nothing left, remove the journal and the folders made for it."""
        entries = {key: entry for key, entry in self._load().items() if not entry["done"] and entry["roles"]}
        missing = self._own_parents()
        if not entries:
            for name in os.listdir(self.copies):
                os.unlink(os.path.join(self.copies, name))
            os.rmdir(self.copies)
            os.unlink(self.path)
            os.unlink(os.path.join(self.undo, "lock"))
            journal_kinds.remove_empty([self.undo] + [path for path in missing if path != self.undo])
            return
        lines = [{"op": "begin", "schema_version": SCHEMA_VERSION, "missing": missing}]
        for entry in entries.values():
            first = entry["roles"][0]
            lines.append(_record_line(entry["id"], first, entry["at"], entry["item"], entry["prior"]))
            lines += [{"op": "share", "id": entry["id"], "role": name} for name in entry["roles"][1:]]
            if entry["sealed"]:
                lines.append({"op": "seal", "id": entry["id"], "sha256": entry["sealed"]})
        atomic.write(self.path, "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines), 0o600)
        used = {entry["prior"].get("copy") for entry in entries.values()}
        for name in os.listdir(self.copies):
            if name not in used:
                os.unlink(os.path.join(self.copies, name))


def normalise(item):
    """Check an item -> {"kind", its name, "purge" for directories}. JournalError."""
    kind = item.get("kind")
    if kind not in KINDS:
        raise JournalError("kind %r is unknown; known are %s" % (kind, ", ".join(sorted(KINDS))))
    key = KINDS[kind]
    name = item.get(key)
    if not isinstance(name, str) or not name:
        raise JournalError("an item of kind %s needs '%s'" % (kind, key))
    result = {"kind": kind, key: name}
    if key == "path":
        if not name.startswith("/"):
            raise JournalError("%s: the path of a %s is absolute" % (name, kind))
        result["path"] = os.path.normpath(name)
    if kind == "directory":
        result["purge"] = bool(item.get("purge"))
    return result


def describe(item):
    """Name of an item for people, and its id in the journal: "file /etc/x"."""
    return "%s %s" % (item["kind"], item[KINDS[item["kind"]]])


def _record_line(name, role, at, item, prior):
    return {"op": "record", "schema_version": SCHEMA_VERSION, "id": name, "role": role, "at": at, "item": item, "prior": prior}


def _of(entries, kind):
    return [entry for entry in entries if entry["item"]["kind"] == kind]


def _concerns_systemd(item):
    return item["kind"] == "unit" or (item["kind"] == "file" and item["path"].startswith(_SYSTEMD_FOLDERS))
