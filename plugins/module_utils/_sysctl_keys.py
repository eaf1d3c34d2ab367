# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel settings of an inference host, as data: one row a key, in groups that can be switched one by one.

A row says what is wanted, how it is wanted, and why:

- ``exact``            the value itself
- ``at_least``         a ceiling: raised to the value, a higher one that is there already stays
- ``at_least_fields``  the same for each of several numbers
- ``ports``            a set of ports: added to those that are there

scope tells whom the value reaches: ``global`` the whole machine; ``inherited`` copied into a network namespace when it is
made; ``namespace`` this network namespace only, so containers on bridge networks keep the kernel's default;
``follows`` visible in containers, always the host's value.

article: the value comes from the project's source article; the others are additions.
This file is private to the collection.
"""

from __future__ import annotations

import collections

Key = collections.namedtuple("Key", "name value mode scope module article reason")


def _row(name, value, mode, scope, reason, module=None, article=False):
    return Key(name, value, mode, scope, module, article, reason)


NETWORK = (
    _row("net.core.default_qdisc", "fq", "exact", "global",
         "paces BBR; only new interfaces take it", module="sch_fq", article=True),
    _row("net.ipv4.tcp_congestion_control", "bbr", "exact", "inherited",
         "keeps throughput to clients on lossy lines; a listener takes it when it is restarted", module="tcp_bbr", article=True),
    _row("net.core.rmem_max", "16777216", "at_least", "follows", "room for large uploads", article=True),
    _row("net.core.wmem_max", "16777216", "at_least", "follows", "room for large answers", article=True),
    _row("net.ipv4.tcp_rmem", "4096 1048576 16777216", "at_least_fields", "inherited",
         "a larger first window for long prompts", article=True),
    _row("net.ipv4.tcp_wmem", "4096 1048576 16777216", "at_least_fields", "inherited",
         "throughput; tcp_notsent_lowat keeps tokens from queueing in it", article=True),
    _row("net.ipv4.tcp_fastopen", "3", "exact", "namespace",
         "saves a round trip where the server's socket asks for it", article=True),
    _row("net.ipv4.tcp_slow_start_after_idle", "0", "exact", "namespace",
         "kept-open API connections keep their window between requests", article=True),
    _row("net.ipv4.tcp_keepalive_time", "300", "exact", "namespace",
         "finds dead clients and keeps NAT entries alive", article=True),
    _row("net.ipv4.tcp_keepalive_intvl", "30", "exact", "namespace", "with five probes a dead peer is known after 450 s"),
    _row("net.ipv4.tcp_keepalive_probes", "5", "exact", "namespace", "see tcp_keepalive_intvl"),
    _row("net.ipv4.tcp_notsent_lowat", "131072", "exact", "namespace",
         "bounds what waits in the kernel, so that streamed tokens leave when they are made"),
    _row("net.ipv4.tcp_mtu_probing", "1", "exact", "namespace", "survives paths that swallow large packets (VPNs)"),
    _row("net.ipv4.tcp_max_syn_backlog", "8192", "at_least", "namespace", "bursts of new connections"),
    _row("net.core.somaxconn", "8192", "at_least", "namespace", "bursts of new connections, accept queue"),
    _row("net.core.netdev_max_backlog", "10000", "at_least", "global", "bursts of packets"),
    _row("net.core.rps_sock_flow_entries", "32768", "at_least", "global",
         "table for receive flow steering; does nothing until a queue uses it"),
    _row("net.ipv4.ip_local_port_range", "10240 65535", "exact", "namespace",
         "more connections from the proxy to its backends"),
    _row("net.netfilter.nf_conntrack_max", "1048576", "at_least", "global",
         "Docker's NAT table must not run full", module="nf_conntrack"),
)

GROUPS = {"network": NETWORK}

# Derived from the plan, not one of the keys above: ports that the widened range must not hand out.
RESERVED_PORTS = "net.ipv4.ip_local_reserved_ports"
RESERVED_PORTS_REASON = "ports of the engines and of others, kept out of ip_local_port_range"

# Never written, with the reason a user gets who asks for it.
REFUSED = {
    "net.ipv4.ip_forward": "Docker owns it: set before Docker does, the host becomes an open router",
    "net.ipv4.conf.all.forwarding": "Docker owns it: set before Docker does, the host becomes an open router",
    "net.ipv6.conf.all.forwarding": "Docker owns it: set before Docker does, the host becomes an open router",
    "vm.drop_caches": "it is an action, not a setting",
    "kernel.randomize_va_space": "address space randomisation is a protection, not a tuning value",
}
