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

article: the value that the project's source article gives the key, None for our additions. Where it is not the wanted value,
the reason says why.
This file is private to the collection.
"""

from __future__ import annotations

import collections

from ansible_collections.indiaai.inference.plugins.module_utils._host import journal_kinds

Key = collections.namedtuple("Key", "name value mode scope module article reason")


def _row(name, value, mode, scope, reason, module=None, article=None):
    return Key(name, value, mode, scope, module, article, reason)


def min_free_kbytes(memory_kib):
    """Half a percent of the memory, 4 GiB at most: the kernel's own advice is that too much kills the machine at once."""
    return min(memory_kib // 200, 4 * 1024 * 1024)


# Keys whose value depends on the machine: what their row's text stands for, from the memory in KiB.
COMPUTED = {"vm.min_free_kbytes": min_free_kbytes}

# Ceilings that the kernel raises by itself after our file was read, here when the policy of huge pages is written.
RAISED_BY_KERNEL = frozenset(["vm.min_free_kbytes"])

MEMORY = (
    _row("vm.overcommit_memory", "0", "exact", "global",
         "with 1 an allocation never fails and the kernel kills a process instead; 0 lets the engine see the error", article="1"),
    _row("vm.swappiness", "10", "exact", "global", "keeps weights and their page cache in memory", article="10"),
    _row("vm.max_map_count", "1048576", "at_least", "global", "many mapped files of weights and the GPU's own mappings",
         article="1048576"),
    _row("vm.nr_hugepages", "0", "exact", "global",
         "reserved pages are lost to everybody who does not ask for them, and engines then believe that memory is short",
         article="1024"),
    _row("vm.dirty_background_bytes", "268435456", "exact", "global",
         "a share of a large memory would be hundreds of GiB unwritten before writing begins"),
    _row("vm.dirty_bytes", "1073741824", "exact", "global", "bounds the stall when a model is downloaded"),
    _row("vm.min_free_kbytes", "0.5 % of memory, 4194304 at most", "at_least", "global",
         "network and disk drivers find memory at once"),
    _row("vm.watermark_scale_factor", "50", "exact", "global", "memory is freed in the background before a request has to wait for it"),
    _row("vm.vfs_cache_pressure", "50", "exact", "global", "keeps the names of model files cached"),
)

NETWORK = (
    _row("net.core.default_qdisc", "fq", "exact", "global",
         "paces BBR; only new interfaces take it", module="sch_fq", article="fq"),
    _row("net.ipv4.tcp_congestion_control", "bbr", "exact", "inherited",
         "keeps throughput to clients on lossy lines; a listener takes it when it is restarted", module="tcp_bbr", article="bbr"),
    _row("net.core.rmem_max", "16777216", "at_least", "follows", "room for large uploads", article="16777216"),
    _row("net.core.wmem_max", "16777216", "at_least", "follows", "room for large answers", article="16777216"),
    _row("net.ipv4.tcp_rmem", "4096 1048576 16777216", "at_least_fields", "inherited",
         "a larger first window for long prompts", article="4096 1048576 16777216"),
    _row("net.ipv4.tcp_wmem", "4096 1048576 16777216", "at_least_fields", "inherited",
         "throughput; tcp_notsent_lowat keeps tokens from queueing in it", article="4096 1048576 16777216"),
    _row("net.ipv4.tcp_fastopen", "3", "exact", "namespace",
         "saves a round trip where the server's socket asks for it", article="3"),
    _row("net.ipv4.tcp_slow_start_after_idle", "0", "exact", "namespace",
         "kept-open API connections keep their window between requests", article="0"),
    _row("net.ipv4.tcp_keepalive_time", "300", "exact", "namespace",
         "finds dead clients and keeps NAT entries alive", article="300"),
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

LATENCY = (
    _row("vm.zone_reclaim_mode", "0", "exact", "global", "memory of the other socket is better than waiting for one's own"),
    _row("vm.compaction_proactiveness", "0", "exact", "global",
         "no compaction in the background; set 20 where an engine lives on huge pages that it asks for"),
    _row("vm.stat_interval", "10", "exact", "global", "the kernel's counters interrupt each CPU less often"),
    _row("kernel.numa_balancing", "0", "exact", "global",
         "moving pages between sockets stops GPU servers for milliseconds; bind engines to their socket instead"),
)

LIMITS = (
    _row("kernel.pid_max", "4194304", "at_least", "global", "threads of many containers"),
    _row("kernel.panic", "10", "exact", "global", "restarts unattended after a panic; set 0 where crash dumps are taken"),
    _row("fs.aio-max-nr", "1048576", "at_least", "global", "asynchronous reads of model loaders and of databases beside them"),
    _row("fs.inotify.max_user_watches", "1048576", "at_least", "global", "watchers of all containers share one account's limit"),
    _row("fs.inotify.max_user_instances", "8192", "at_least", "global", "watchers of all containers share one account's limit, instances"),
)

# In the order in which they stand in the file.
GROUPS = {"memory": MEMORY, "network": NETWORK, "latency": LATENCY, "limits": LIMITS}

# Of two keys of a pair the kernel sets one to 0 when the other is written; the journal needs to know it too.
PAIRS = journal_kinds.SYSCTL_PAIRS

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
