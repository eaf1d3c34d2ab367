# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The undo journal on a temporary root: what is recorded comes back, also after a kill at any moment."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import container, journal, journal_kinds, paths, system


class FalseSystem:
    """Units, containers, accounts and packages in memory; notes every change in calls."""

    def __init__(self):
        self.units, self.containers, self.users, self.groups, self.packages = {}, {}, set(), set(), {}
        self.calls = []
        self.broken = set()
        self.on_call = lambda call: None

    def _call(self, *call):
        self.on_call(call)
        if call in self.broken:
            raise system.SystemFailure("%s: refused" % " ".join(call))
        self.calls.append(" ".join(call))

    def unit(self, name):
        return dict(self.units.get(name, {"exists": False, "active": "inactive", "enabled": ""}))

    def systemctl(self, *arguments):
        self._call("systemctl", *arguments)
        unit = self.units.get(arguments[-1], {})
        if arguments[0] in ("start", "stop"):
            unit["active"] = {"start": "active", "stop": "inactive"}[arguments[0]]
        elif arguments[0] in ("enable", "disable", "mask", "unmask"):
            unit["enabled"] = {"enable": "enabled", "disable": "disabled", "mask": "masked", "unmask": "disabled"}[arguments[0]]

    def container(self, name):
        return self.containers.get(name)

    def container_action(self, action, *arguments):
        self._call("docker", action, arguments[0])
        for found in self.containers.values():
            if found["Id"] == arguments[0] and action in ("start", "stop"):
                found["State"]["Running"] = action == "start"
            if found["Id"] == arguments[0] and action == "update":
                found["HostConfig"].update(arguments[1])
        if action == "remove":
            self.containers = {name: c for name, c in self.containers.items() if c["Id"] != arguments[0]}

    def has_user(self, name):
        return name in self.users

    def has_group(self, name):
        return name in self.groups

    def remove_user(self, name):
        self._call("userdel", name)
        self.users.remove(name)

    def remove_group(self, name):
        self._call("groupdel", name)
        self.groups.remove(name)

    def package_version(self, name):
        return self.packages.get(name)

    def package_held(self, name):
        return False if name in self.packages else None


class Host:
    """A root folder, its journal, and shortcuts."""

    def __init__(self, root):
        self.root = str(root)
        self.system = FalseSystem()
        os.makedirs(self.root + "/etc")
        os.makedirs(self.root + "/var/lib")

    @property
    def journal(self):
        return journal.Journal(root=self.root, system=self.system)

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        with open(self.root + path, "w", encoding="utf-8") as handle:
            handle.write(text)
        os.chmod(self.root + path, mode)

    def read(self, path):
        with open(self.root + path, encoding="utf-8") as handle:
            return handle.read()

    def mode(self, path):
        return stat.S_IMODE(os.lstat(self.root + path).st_mode)

    def exists(self, path):
        return os.path.lexists(self.root + path)

    def tree(self):
        """Every path with its kind, mode and content."""
        found = {}
        for folder, unused, names in os.walk(self.root):
            found[folder] = oct(os.lstat(folder).st_mode)
            for name in names:
                path = os.path.join(folder, name)
                content = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
                found[path] = (oct(os.lstat(path).st_mode), content)
        return found


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "root")


def items(*pairs):
    return [{"kind": kind, journal.KINDS[kind]: name} for kind, name in pairs]


def test_files_come_back_with_content_and_mode(host):
    host.write("/etc/a", "old", 0o600)
    before = host.tree()
    host.journal.record("r", items(("file", "/etc/a"), ("file", "/etc/new/deep/b")))
    host.write("/etc/a", "ours", 0o644)
    host.write("/etc/new/deep/b", "ours")
    result = host.journal.restore("r")
    assert result["restored"] == ["file /etc/new/deep/b", "file /etc/a"] and not result["kept"] and not result["failed"]
    assert host.tree() == before, "also the folders of new files and the journal itself are gone"


def test_symbolic_links_are_links_again(host):
    os.symlink("target", host.root + "/etc/link")
    host.journal.record("r", items(("file", "/etc/link")))
    os.unlink(host.root + "/etc/link")
    host.write("/etc/link", "ours")
    host.journal.restore("r")
    assert os.readlink(host.root + "/etc/link") == "target"


def test_an_unreadable_kind_of_file_stays(host):
    os.mkfifo(host.root + "/etc/fifo")
    host.journal.record("r", items(("file", "/etc/fifo")))
    assert host.journal.restore("r")["kept"] == [{"item": "file /etc/fifo", "reason": "was no regular file before; nothing was saved"}]


def test_the_first_record_wins_and_a_second_run_records_nothing(host):
    host.write("/etc/a", "old")
    assert len(host.journal.record("r", items(("file", "/etc/a")))) == 1
    host.write("/etc/a", "ours")
    assert host.journal.record("r", items(("file", "/etc/a"))) == []
    host.journal.restore("r")
    assert host.read("/etc/a") == "old"


def test_what_two_roles_use_goes_with_the_last(host):
    host.journal.record("one", items(("file", "/etc/a")))
    host.write("/etc/a", "ours")
    assert len(host.journal.record("two", items(("file", "/etc/a")))) == 1
    assert host.journal.restore("one")["kept"] == [{"item": "file /etc/a", "reason": "still used by two"}]
    assert host.read("/etc/a") == "ours"
    assert host.journal.restore("one") == {"restored": [], "kept": [], "failed": [], "warnings": []}
    assert host.journal.restore("two")["restored"] == ["file /etc/a"]
    assert not host.exists("/etc/a")


def test_all_undoes_every_role(host):
    host.journal.record("one", items(("file", "/etc/a")))
    host.journal.record("two", items(("file", "/etc/a"), ("file", "/etc/b")))
    host.write("/etc/a", "x")
    host.write("/etc/b", "x")
    assert host.journal.restore("all")["restored"] == ["file /etc/b", "file /etc/a"]
    assert not host.exists("/etc/a") and not host.exists(paths.UNDO)


def test_saved_copies_are_for_root_only(host):
    host.write("/etc/a", "secret")
    host.journal.record("r", items(("file", "/etc/a")))
    assert host.mode(paths.UNDO) == 0o700
    assert host.mode(paths.UNDO + "/journal.jsonl") == 0o600
    (copy,) = os.listdir(host.root + paths.UNDO + "/files")
    assert host.mode(paths.UNDO + "/files/" + copy) == 0o600


def test_check_mode_tells_and_writes_nothing(host):
    host.write("/etc/a", "old")
    before = host.tree()
    assert len(host.journal.record("r", items(("file", "/etc/a"), ("directory", paths.STATE)), dry=True)) == 2
    assert host.tree() == before
    host.journal.record("r", items(("file", "/etc/a")))
    host.write("/etc/a", "ours")
    before = host.tree()
    assert host.journal.restore("r", dry=True)["restored"] == ["file /etc/a"]
    assert host.tree() == before


def test_directories(host):
    os.mkdir(host.root + "/etc/there", 0o750)
    host.journal.record("r", items(("directory", "/etc/there"), ("directory", "/etc/full"), ("directory", "/etc/empty")))
    host.journal.record("r", [{"kind": "directory", "path": "/etc/purged", "purge": True}])
    os.chmod(host.root + "/etc/there", 0o700)
    host.write("/etc/full/user", "x")
    host.write("/etc/purged/sub/x", "x")
    os.symlink("/etc", host.root + "/etc/purged/link")
    os.mkdir(host.root + "/etc/empty")
    result = host.journal.restore("r")
    assert result["kept"] == [{"item": "directory /etc/full", "reason": "not empty: user"}]
    assert not host.exists("/etc/purged") and not host.exists("/etc/empty")
    assert host.mode("/etc/there") == 0o750 and host.exists("/etc/full/user")


def test_a_folder_that_one_of_its_roles_fills_goes_with_its_content(host):
    folder = {"kind": "directory", "path": "/var/lib/ours"}
    host.journal.record("first", [dict(folder)])
    host.journal.record("filler", [dict(folder, purge=True)])
    host.write("/var/lib/ours/data.db", "rows")
    host.journal.restore("filler")
    assert host.exists("/var/lib/ours/data.db")
    host.journal.restore("first")
    assert not host.exists("/var/lib/ours")


def test_a_directory_recorded_after_its_files_goes_too(host):
    host.journal.record("r", items(("file", "/etc/d/x"), ("directory", "/etc/d")))
    host.write("/etc/d/x", "x")
    result = host.journal.restore("r")
    assert not result["kept"] and not host.exists("/etc/d")


def test_the_state_folder_with_the_journal_in_it_is_removed_in_the_end(host):
    host.journal.record("one", [{"kind": "directory", "path": paths.STATE, "purge": True}])
    host.journal.record("two", items(("file", "/etc/b")))
    host.write(paths.STATE + "/data/x", "x")
    assert host.journal.restore("one")["restored"] == ["directory " + paths.STATE]
    assert host.exists(paths.UNDO) and not host.exists(paths.STATE + "/data")
    host.journal.restore("two")
    assert not host.exists(paths.STATE)


def test_a_state_folder_that_was_there_before_stays(host):
    os.mkdir(host.root + paths.STATE)
    host.write(paths.STATE + "/other", "x")
    host.journal.record("r", items(("directory", paths.STATE), ("file", "/etc/a")))
    host.journal.restore("r")
    assert host.exists(paths.STATE + "/other") and not host.exists(paths.UNDO)


def test_a_system_directory_is_never_purged(host):
    kinds = host.journal.kinds
    with pytest.raises(journal_kinds.Kept, match="system directory"):
        kinds.restore({"kind": "directory", "path": "/etc", "purge": True}, {"type": "absent", "missing_parents": []})


def sysctl(host, key, value):
    host.write("/proc/sys/" + key.replace(".", "/"), value + "\n")


def test_sysctl_values_come_back(host):
    sysctl(host, "net.ipv4.tcp_rmem", "4096\t131072\t6291456")
    host.journal.record("r", items(("sysctl", "net.ipv4.tcp_rmem"), ("sysctl", "net.gone")))
    sysctl(host, "net.ipv4.tcp_rmem", "1 2 3")
    host.journal.restore("r")
    assert host.read("/proc/sys/net/ipv4/tcp_rmem") == "4096 131072 6291456\n"


def test_an_empty_sysctl_value_is_written_too(host):
    sysctl(host, "net.ipv4.ip_local_reserved_ports", "")
    host.journal.record("r", items(("sysctl", "net.ipv4.ip_local_reserved_ports")))
    sysctl(host, "net.ipv4.ip_local_reserved_ports", "30000-30001")
    assert host.journal.restore("r")["restored"] == ["sysctl net.ipv4.ip_local_reserved_ports"]
    assert host.read("/proc/sys/net/ipv4/ip_local_reserved_ports") == "\n", "the kernel takes an empty line, not an empty write"


def test_a_zero_is_put_back_through_its_pair(host):
    sysctl(host, "vm.dirty_bytes", "0")
    sysctl(host, "vm.dirty_ratio", "20")
    host.journal.record("r", items(("sysctl", "vm.dirty_bytes")))
    sysctl(host, "vm.dirty_bytes", "1000000")
    sysctl(host, "vm.dirty_ratio", "0")
    host.journal.restore("r")
    assert host.read("/proc/sys/vm/dirty_ratio") == "20\n"
    assert host.read("/proc/sys/vm/dirty_bytes") == "1000000\n", "the kernel itself sets this one to 0"


def test_a_sysctl_that_appeared_later_stays(host):
    host.journal.record("r", items(("sysctl", "net.netfilter.nf_conntrack_max")))
    sysctl(host, "net.netfilter.nf_conntrack_max", "5")
    assert "did not exist before" in host.journal.restore("r")["kept"][0]["reason"]


@pytest.mark.parametrize("error,outcome", [("EROFS", "kept"), ("EACCES", "kept"), ("EINVAL", "failed")])
def test_a_sysctl_that_cannot_be_written(host, monkeypatch, error, outcome):
    sysctl(host, "vm.swappiness", "60")
    host.journal.record("r", items(("sysctl", "vm.swappiness")))
    sysctl(host, "vm.swappiness", "10")
    real = open

    def guarded(path, mode="r", **more):
        if "w" in mode and "/proc/sys/" in str(path):
            raise OSError(getattr(__import__("errno"), error), "no")
        return real(path, mode, **more)

    monkeypatch.setattr("builtins.open", guarded)
    result = host.journal.restore("r")
    assert [entry["item"] for entry in result[outcome]] == ["sysctl vm.swappiness"]
    monkeypatch.undo()
    # a failure may be tried again, a kept thing is settled
    assert bool(host.journal.restore("r")["restored"]) == (outcome == "failed")


def test_a_key_with_a_dot_in_an_interface_name(host):
    host.write("/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "1\n")
    host.journal.record("r", items(("sysctl", "net/ipv4/conf/eth0.100/rp_filter")))
    assert host.journal.entries("r")[0]["prior"] == {"value": "1"}


def test_our_unit_is_stopped_while_its_file_is_there(host):
    host.journal.record("r", items(("file", "/etc/systemd/system/x.service"), ("unit", "x")))
    host.write("/etc/systemd/system/x.service", "ours")
    host.system.units["x.service"] = {"exists": True, "active": "active", "enabled": "enabled"}
    there = []
    host.system.on_call = lambda call: there.append((call[1], host.exists("/etc/systemd/system/x.service")))
    host.journal.restore("r")
    assert there == [("stop", True), ("disable", True), ("daemon-reload", False)]


def test_all_instances_of_our_template_are_stopped(host):
    host.journal.record("r", items(("unit", "x@.service")))
    host.system.units["x@.service"] = {"exists": True, "active": "", "enabled": "disabled"}
    host.journal.restore("r")
    assert host.system.calls == ["systemctl stop x@*.service", "systemctl disable x@.service", "systemctl daemon-reload"]


@pytest.mark.parametrize("prior,now,calls", [
    (("active", "enabled"), ("inactive", "disabled"), ["daemon-reload", "enable", "start"]),
    (("active", "enabled"), ("active", "enabled"), ["daemon-reload"]),
    (("inactive", "disabled"), ("active", "enabled"), ["stop", "disable", "daemon-reload"]),
    (("inactive", "masked"), ("inactive", "enabled"), ["disable", "daemon-reload", "mask"]),
    (("active", "enabled"), ("inactive", "masked"), ["unmask", "daemon-reload", "enable", "start"]),
    (("inactive", "disabled"), ("failed", "disabled"), ["reset-failed", "daemon-reload"]),
    (("active", "static"), ("failed", "static"), ["reset-failed", "daemon-reload", "start"]),
])
def test_units_that_were_there_before(host, prior, now, calls):
    host.system.units["x.service"] = {"exists": True, "active": prior[0], "enabled": prior[1]}
    host.journal.record("r", items(("unit", "x.service")))
    host.system.units["x.service"] = {"exists": True, "active": now[0], "enabled": now[1]}
    result = host.journal.restore("r")
    assert [call.split()[1] for call in host.system.calls] == calls
    assert result["restored"] == ["unit x.service"]


def test_a_unit_that_vanished_is_told(host):
    host.system.units["x.service"] = {"exists": True, "active": "active", "enabled": "enabled"}
    host.journal.record("r", items(("unit", "x.service")))
    del host.system.units["x.service"]
    assert "does not exist any more (was active, enabled)" in host.journal.restore("r")["kept"][0]["reason"]


def false_container(running, policy, number="1", labels=None):
    return {"Id": number, "State": {"Running": running}, "HostConfig": {"RestartPolicy": policy}, "Config": {"Labels": labels or {}}}


def test_a_container_runs_again_with_its_old_policy(host):
    always = {"Name": "always", "MaximumRetryCount": 0}
    host.system.containers["old"] = false_container(True, always)
    host.journal.record("r", items(("container", "old")))
    host.system.containers["old"] = false_container(False, {"Name": "no", "MaximumRetryCount": 0})
    host.journal.restore("r")
    assert host.system.calls == ["docker update 1", "docker start 1"]
    assert host.system.containers["old"]["HostConfig"]["RestartPolicy"] == always


def test_containers_that_are_others_now(host):
    host.system.containers["replaced"] = false_container(True, {"Name": "no"})
    host.system.containers["gone"] = false_container(True, {"Name": "no"})
    host.journal.record("r", items(("container", "replaced"), ("container", "gone"), ("container", "foreign"), ("container", "ours")))
    host.system.containers["replaced"] = false_container(False, {"Name": "no"}, "2")
    del host.system.containers["gone"]
    host.system.containers["foreign"] = false_container(True, {"Name": "no"}, "3")
    host.system.containers["ours"] = false_container(True, {"Name": "no"}, "4", {container.MANAGED: "true"})
    result = host.journal.restore("r")
    assert [entry["item"] for entry in result["kept"]] == ["container foreign", "container gone", "container replaced"]
    assert host.system.calls == ["docker remove 4"]


def test_accounts_and_packages(host):
    host.system.users.add("there")
    host.journal.record("r", items(("group", "g"), ("user", "u"), ("user", "there"), ("package", "p")))
    host.system.users.add("u")
    host.system.groups.add("g")
    host.system.packages["p"] = "1.0"
    result = host.journal.restore("r")
    assert host.system.calls == ["userdel u", "groupdel g"]
    assert result["kept"] == [{"item": "package p", "reason": "packages stay: is 1.0, was not installed"}]


def test_a_failure_stays_in_the_journal_and_the_rest_goes_on(host):
    host.journal.record("r", items(("file", "/etc/a"), ("user", "u")))
    host.write("/etc/a", "x")
    host.system.users.add("u")
    host.system.broken.add(("userdel", "u"))
    result = host.journal.restore("r")
    assert result["failed"] == [{"item": "user u", "reason": "userdel u: refused"}] and result["restored"] == ["file /etc/a"]
    host.system.broken.clear()
    assert host.journal.restore("r")["restored"] == ["user u"]
    assert not host.exists(paths.UNDO)


class Killed(BaseException):
    """Stands for kill -9."""


class Countdown:
    """Lets so many steps pass, then kills."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        if not self.left:
            raise Killed
        self.left -= 1


def test_a_restore_killed_anywhere_can_be_repeated(host, tmp_path):
    """Kill before each single step in turn; the second call must always reach the same end."""
    step = 0
    while True:
        here = Host(tmp_path / ("k%d" % step))
        here.write("/etc/a", "old")
        before = here.tree()
        here.journal.record("r", items(
            ("directory", "/etc/d"), ("file", "/etc/a"), ("file", "/etc/d/b"), ("file", "/etc/systemd/system/x.service"), ("unit", "x"), ("user", "u")
        ))
        here.write("/etc/a", "ours")
        here.write("/etc/d/b", "ours")
        here.write("/etc/systemd/system/x.service", "ours")
        here.system.units["x.service"] = {"exists": True, "active": "active", "enabled": "enabled"}
        here.system.users.add("u")
        book = here.journal
        tick = Countdown(step)
        real_append, real_restore = book._append, book.kinds.restore
        book._append = lambda lines, tick=tick, real=real_append: (tick(), real(lines))
        book.kinds.restore = lambda item, prior, tick=tick, real=real_restore: (tick(), real(item, prior))
        here.system.on_call = lambda call, tick=tick: tick()
        try:
            book.restore("r")
            finished = True
        except Killed:
            finished = False
        here.system.on_call = lambda call: None
        if not finished:
            here.journal.restore("r")
        assert here.tree() == before, "killed at step %d" % step
        assert here.system.units["x.service"] == {"exists": True, "active": "inactive", "enabled": "disabled"} and not here.system.users
        if here.system.calls.count("systemctl daemon-reload") == 0:
            pytest.fail("systemd was not told, killed at step %d" % step)
        if finished:
            assert step > 15
            return
        step += 1


def test_a_line_cut_short_belongs_to_no_change(host):
    host.journal.record("r", items(("file", "/etc/a")))
    with open(host.journal.path, "ab") as handle:
        handle.write(b'{"op": "record", "id": "file /et')
    assert [entry["id"] for entry in host.journal.entries()] == ["file /etc/a"]
    host.journal.record("r", items(("file", "/etc/b")))
    assert [entry["id"] for entry in host.journal.entries()] == ["file /etc/a", "file /etc/b"]


def test_a_damaged_line_stops_everything(host):
    host.journal.record("r", items(("file", "/etc/a")))
    with open(host.journal.path, "ab") as handle:
        handle.write(b"garbage\n")
    with pytest.raises(journal.JournalError, match="line 3 is damaged"):
        host.journal.record("r", items(("file", "/etc/b")))


def test_nothing_is_recorded_when_something_cannot_be_read(host):
    def refuse(name):
        raise system.SystemFailure("no systemd")

    host.system.unit = refuse
    with pytest.raises(journal.JournalError, match="no systemd"):
        host.journal.record("r", items(("file", "/etc/a"), ("unit", "x")))
    assert host.journal.entries() == []


def test_a_thing_undone_before_a_crash_is_recorded_anew(host):
    host.journal.record("r", items(("file", "/etc/a"), ("file", "/etc/b")))
    book = host.journal
    book._compact = lambda: None
    book.restore("r")
    host.write("/etc/a", "users own")
    assert len(host.journal.record("r", items(("file", "/etc/a")))) == 1
    host.write("/etc/a", "ours")
    host.journal.restore("r")
    assert host.read("/etc/a") == "users own"


def test_a_foreign_edit_is_reported(host):
    host.journal.record("r", items(("file", "/etc/a"), ("file", "/etc/b")))
    host.write("/etc/a", "ours")
    host.write("/etc/b", "ours")
    host.journal.seal("r", ["/etc/a", "/etc/b"])
    host.write("/etc/a", "edited")
    result = host.journal.restore("r")
    assert result["warnings"] == ["file /etc/a was changed by somebody else after this collection wrote it; the change is gone"]


@pytest.mark.parametrize("item,words", [
    ({"kind": "files", "path": "/x"}, "kind 'files' is unknown"),
    ({"kind": "file"}, "needs 'path'"),
    ({"kind": "file", "path": "x"}, "absolute"),
    ({"kind": "unit", "path": "/x"}, "needs 'name'"),
])
def test_wrong_items(host, item, words):
    with pytest.raises(journal.JournalError, match=words):
        host.journal.record("r", [item])


def test_every_entry_obeys_the_contract(host):
    jsonschema = pytest.importorskip("jsonschema")
    folder = os.path.realpath(__file__)
    while not os.path.isdir(os.path.join(folder, "docs", "contracts")):
        folder = os.path.dirname(folder)
        if folder == "/":
            pytest.skip("the contracts are not part of this copy")
    with open(os.path.join(folder, "docs/contracts/undo_entry.schema.json"), encoding="utf-8") as handle:
        schema = json.load(handle)
    host.write("/etc/a", "x")
    os.symlink("a", host.root + "/etc/l")
    sysctl(host, "vm.dirty_bytes", "0")
    host.write("/sys/kernel/mm/x", "always [madvise] never")
    host.system.containers["c"] = false_container(True, {"Name": "no"})
    host.journal.record("r", items(
        ("file", "/etc/a"), ("file", "/etc/l"), ("file", "/etc/n/n"), ("directory", "/etc"), ("directory", "/new"), ("sysctl", "vm.dirty_bytes"),
        ("sysctl", "no.such"), ("unit", "x"), ("container", "c"), ("container", "d"), ("package", "p"), ("hold", "p"), ("user", "u"), ("group", "g"),
        ("sysfs", "/sys/kernel/mm/x"), ("sysfs", "/sys/none")
    ))
    lines = [json.loads(line) for line in open(host.journal.path, encoding="utf-8")]
    records = [line for line in lines if line["op"] == "record"]
    assert len(records) == 16
    for line in records:
        jsonschema.Draft202012Validator(schema).validate(line)


def test_values_under_sys_come_back_and_those_of_a_device_that_went_are_kept(host):
    thp, mask, gone = "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/class/net/eth0/queues/rx-0/rps_cpus", "/sys/class/net/eth1/x"
    for path, text in ((thp, "[always] madvise never\n"), (mask, "00\n"), (gone, "7\n")):
        host.write(path, text)
    host.journal.record("r", items(("sysfs", thp), ("sysfs", mask), ("sysfs", gone), ("sysfs", "/sys/never")))
    host.write(thp, "always [madvise] never\n")
    host.write(mask, "ff\n")
    os.unlink(host.root + gone)
    result = host.journal.restore("r")
    assert sorted(result["restored"]) == ["sysfs " + mask, "sysfs " + thp, "sysfs /sys/never"]
    assert [entry["item"] for entry in result["kept"]] == ["sysfs " + gone] and "was 7" in result["kept"][0]["reason"]
    assert host.read(thp) == "always\n" and host.read(mask) == "00\n"


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_value_under_sys_that_cannot_be_written_is_kept(host, monkeypatch, error):
    host.write("/sys/x", "1\n")
    host.journal.record("r", items(("sysfs", "/sys/x")))
    host.write("/sys/x", "2\n")

    def refuse(path, value):
        raise OSError(error, "no")
    monkeypatch.setattr(journal_kinds.sysfs, "write", refuse)
    assert "read-only" in host.journal.restore("r")["kept"][0]["reason"]


def test_several_lines_for_an_empty_role(host):
    assert host.journal.restore("nobody") == {"restored": [], "kept": [], "failed": [], "warnings": []}
    assert not host.exists(paths.UNDO)
