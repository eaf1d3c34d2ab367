"""What a disposable server may do beyond an ordinary container, each with its reason. Never ``--privileged``.

Limits (open files, locked memory) are not raised: a control machine may itself lack the right to, and a server that
starts only there where it has the right is no test of a role. Systemd inside takes what it can get.
"""
from __future__ import annotations

CAPABILITIES = {
    "SYS_ADMIN": "systemd and dockerd mount file systems and make namespaces; server-init remounts /proc/sys/net",
    "NET_ADMIN": "dockerd makes bridges and rules; roles set network keys and nftables in the server's own namespace",
    "SYS_PTRACE": "ss -p and the audit read /proc/PID of processes in the server's own containers",
}

SECURITY_OPTIONS = {
    "seccomp=unconfined": "Docker's default filter forbids mount, pivot_root and keyctl, which a nested runtime needs",
    "apparmor=unconfined": "Docker's default profile forbids mount; on machines without AppArmor it has no effect",
}


def run_arguments() -> list[str]:
    """The arguments of ``docker run`` that grant all of the above."""
    arguments = []
    for flag, table in (("--cap-add", CAPABILITIES), ("--security-opt", SECURITY_OPTIONS)):
        for value in table:
            arguments += [flag, value]
    return arguments
