"""What cannot be meant stops the role before anything is written; an active tuned is respected."""
from __future__ import annotations

import json
import os
import subprocess

FILE = "/etc/sysctl.d/99-zz-indiaai-inference.conf"


def converge(*arguments):
    """-> (exit code, what was said on one line)."""
    done = subprocess.run(
        ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], *arguments,
         os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "converge.yml")],
        capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def with_settings(settings):
    return ["--extra-vars", json.dumps({"kernel_tuning_settings": settings})]


def test_a_boolean_where_a_number_belongs_is_refused_before_anything_is_written(host):
    before = host.file(FILE).content_string
    code, said = converge(*with_settings([{"name": "net.ipv4.tcp_fin_timeout", "value": 31}, {"name": "net.ipv4.tcp_ecn", "value": True}]))
    assert code != 0 and "net.ipv4.tcp_ecn: found True" in said and "write 1 or 0" in said and "Nothing was changed" in said
    assert "changed=0" in said and host.file(FILE).content_string == before
    assert host.file("/proc/sys/net/ipv4/tcp_fin_timeout").content_string.strip() == "30"


def test_a_missing_setting_fails_by_name_where_strict_is_wanted(host):
    code, said = converge("--extra-vars", json.dumps({"kernel_tuning_strict": True, "kernel_tuning_groups": []}), *with_settings(
        [{"name": "net.ipv4.tcp_fin_timeout", "value": 30}, {"name": "net.ipv4.tcp_tw_recycle", "value": 1}]), "--check")
    assert code != 0 and "missing: net.ipv4.tcp_tw_recycle" in said and "kernel_tuning_strict" in said


def test_an_active_tuned_is_refused_or_keeps_what_it_sets(host):
    """A stand-in with tuned's files and unit name: the real one would tune the machine below."""
    host.run_expect([0], """mkdir -p /etc/tuned/somebodys
        echo 'daemon = 1' > /etc/tuned/tuned-main.conf
        echo somebodys > /etc/tuned/active_profile
        printf '[sysctl]\\nnet.ipv4.tcp_fin_timeout=77\\nnet.core.somaxconn=>2048\\n' > /etc/tuned/somebodys/tuned.conf
        systemd-run --quiet --unit tuned.service sleep 600""")
    try:
        code, refused = converge("--extra-vars", "kernel_tuning_tuned=refuse")
        assert code != 0 and "tuned is active with profile somebodys" in refused and "net.ipv4.tcp_fin_timeout (tuned sets it to 77)" in refused
        assert "somaxconn" not in refused.partition("at every boot")[2].partition("Switch it off")[0] and "changed=0" in refused
        code, handed = converge("--check")
        assert code == 0 and "left to tuned" in handed
    finally:
        host.run("systemctl stop tuned.service; rm -r /etc/tuned")
