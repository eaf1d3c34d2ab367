#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: llm_benchmark
short_description: Measure what a user of an LLM server gets
version_added: 1.0.0
description:
  - Sends the same fixed workload to an LLM server at several numbers of users, each of whom waits for an answer before
    asking again, and returns one benchmark record with the percentiles of time to first token, time per output token
    and whole answer, the throughput, and errors by kind.
  - Speaks the chat completions of OpenAI (vLLM, SGLang and others) and the native protocol of Ollama, streamed.
  - Tokens are counted by the server's own usage report. Where a server sends none, chunks are counted and the record
    says so.
  - Records can be kept in a folder of the measured host, under rules that protect the one record of the state before
    a change. A run that measures nothing returns the stored records just the same.
  - A server that fails some requests is a result. Only a server that does not answer at all is a failure.
author:
  - IndiaAI Inference contributors (@indiaai)
options:
  url:
    description:
      - Address of the server, for example V(http://127.0.0.1:30000). A path V(/v1) at its end is accepted.
    type: str
    required: true
  api:
    description: Protocol of the server.
    type: str
    choices: [openai, ollama]
    default: openai
  model:
    description:
      - Name of the model to ask for. May be left out where the server lists exactly one.
    type: str
    default: ""
  api_key_file:
    description: File on the measured host that holds the API key; its first line is used.
    type: path
  ca_file:
    description: File with the certificates to trust for an C(https) address.
    type: path
  validate_certs:
    description: Whether to verify the certificate of an C(https) address.
    type: bool
    default: true
  connect_to:
    description:
      - Host, or host and port as V(127.0.0.1:443), to connect to instead of the host in O(url), whose name stays in
        use for the certificate and the request. For a host that cannot resolve its own public name.
    type: str
    default: ""
  via:
    description: How O(url) reaches the engine; only recorded.
    type: str
    choices: [direct, gateway]
    default: direct
  label:
    description:
      - Name of the record. V(before) is written once in a folder and never overwritten.
    type: str
    default: after
  workload:
    description: Name of the workload; only recorded, and compared between records.
    type: str
    default: chat
  levels:
    description: Numbers of users to measure with, in ascending order.
    type: list
    elements: int
    default: [1, 4, 16]
  requests:
    description:
      - Requests for each level. A level sends at least two for each of its users.
    type: int
    default: 16
  prompt_tokens:
    description: Wanted length of a prompt. The tokens that the server counted are in the record.
    type: int
    default: 128
  max_tokens:
    description: Length of an answer in tokens.
    type: int
    default: 128
  seed:
    description: Seed of the prompts. The same seed gives the same workload everywhere.
    type: int
    default: 7
  ignore_eos:
    description:
      - Ask for answers of exactly O(max_tokens), an extension of vLLM and SGLang. A server that refuses it is asked
        again without, and the record says so. Ollama has no such option.
    type: bool
    default: true
  warmup_requests:
    description: Requests sent one after the other before anything is counted.
    type: int
    default: 2
  request_seconds:
    description: Longest time for one answer; after that it counts as an error of kind C(timeout).
    type: float
    default: 60
  max_seconds:
    description: Longest time for the whole load. What is open then is cut and counted apart.
    type: float
    default: 120
  probe_seconds:
    description: Longest time for each of the questions asked before the load.
    type: float
    default: 10
  slo_ttft_ms:
    description: Time to first token that a user accepts, in milliseconds; decides how many users count as served.
    type: float
    default: 5000
  metrics_url:
    description:
      - Page with the metrics of the engine, used to see whether somebody else is being served. Defaults to C(/metrics)
        at O(url).
    type: str
    default: ""
  force:
    description: Measure even if the server is working for somebody else.
    type: bool
    default: false
  policy:
    description:
      - When to measure, with O(records_dir). V(always), V(missing) when the folder has no record of this label,
        V(changed) when it has none or O(stack_changed) is true, V(never).
    type: str
    choices: [always, changed, missing, never]
    default: always
  stack_changed:
    description: Whether something changed that may change the figures.
    type: bool
    default: false
  required:
    description:
      - Fail when the folder has no record of this label and none could be made because the server is busy.
    type: bool
    default: false
  records_dir:
    description:
      - Folder on the measured host that keeps the records. Without it nothing is written.
    type: path
  undo_role:
    description:
      - Role under whose name the undo journal notes O(records_dir) before it is made, see
        M(indiaai.inference.undo_journal). Nothing is noted where it is empty.
    type: str
    default: ""
  container:
    description: Docker container of the engine; its image and command line are recorded, secrets masked.
    type: str
    default: ""
  engine:
    description: What is known of the engine; found values fill what is missing.
    type: dict
    default: {}
    suboptions:
      name:
        description: Name of the engine.
        type: str
      version:
        description: Version of the engine.
        type: str
      image:
        description: Image of the engine.
        type: str
      flags:
        description: Its flags, without the leading dashes. Values of secrets are masked.
        type: dict
  caption:
    description: What must stand beside the figures, for example on which hardware and model they were measured.
    type: str
    default: ""
  host:
    description: Name of the host in the record. Defaults to the host's own name.
    type: str
    default: ""
  gpu_facts:
    description: The facts C(indiaai_gpu) of the module M(indiaai.inference.gpu_facts).
    type: dict
    default: {}
  tuning_keys:
    description: Kernel settings to record. Defaults to those that the collection tunes.
    type: list
    elements: str
  gateway:
    description:
      - A second way to the same model, to measure what a gateway adds to the time to first token. Requests alternate
        between O(url) and this address.
    type: dict
    suboptions:
      url:
        description: Address of the gateway.
        type: str
        required: true
      model:
        description: Name of the model there. Defaults to O(model).
        type: str
        default: ""
      api_key_file:
        description: File on the measured host that holds a key of the gateway.
        type: path
      ca_file:
        description: File with the certificates to trust.
        type: path
      validate_certs:
        description: Whether to verify its certificate.
        type: bool
        default: true
      connect_to:
        description: As O(connect_to), for this address.
        type: str
        default: ""
      requests:
        description: Pairs of requests.
        type: int
        default: 20
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Validates the options and asks the server for its models, sends no load and writes nothing. A server that does
        not answer is reported in RV(reason) and is no failure, since on a new host there is none yet.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: none
    details:
      - Measuring changes nothing; RV(ignore:changed) is always V(false).
notes:
  - Needs nothing but Python's standard library on the measured host.
  - Percentiles are interpolated linearly between the closest ranks.
seealso:
  - name: How to read the figures
    description: Definitions, method and limits of the measurement.
    link: https://github.com/indiaai/inference/blob/main/docs/benchmarks.md
"""

EXAMPLES = r"""
- name: Record the state before anything is changed
  indiaai.inference.llm_benchmark:
    url: http://127.0.0.1:11434
    api: ollama
    model: qwen3.5:35b
    label: before
    policy: missing
    records_dir: /var/lib/indiaai-inference/benchmarks

- name: Measure the new engine, and what the gateway adds
  indiaai.inference.llm_benchmark:
    url: http://127.0.0.1:30000
    model: qwen3.5-35b
    api_key_file: /etc/indiaai-inference/engines/qwen3.5-35b.key
    container: inference-qwen3.5-35b
    levels: [1, 16, 48]
    label: after
    records_dir: /var/lib/indiaai-inference/benchmarks
    gateway:
      url: https://llm.example.in
      connect_to: 127.0.0.1
      api_key_file: /root/benchmark.key
      ca_file: /etc/ssl/certs/llm.example.in.pem
  register: benchmark
"""

RETURN = r"""
measured:
  description: Whether load was sent and a record was made.
  returned: always
  type: bool
  sample: true
reason:
  description: Why it was measured, or why not.
  returned: always
  type: str
  sample: no record 'before' yet
record:
  description: The benchmark record; its schema is C(docs/contracts/benchmark_record.schema.json).
  returned: when measured
  type: dict
  contains:
    schema_version:
      description: Version of the record's schema.
      type: int
      sample: 1
    label:
      description: Name of the record.
      type: str
      sample: after
    stub:
      description: Whether the server was a stub, whose figures mean nothing.
      type: bool
      sample: false
    levels:
      description: One entry for each number of users.
      type: list
      elements: dict
stored:
  description: The records C(before), C(after) and O(label) of O(records_dir); null where there is none.
  returned: always
  type: dict
  sample: {"before": null, "after": null}
paths:
  description: Files written.
  returned: always
  type: list
  elements: str
  sample: []
summary:
  description: The levels as lines of a plain table.
  returned: always
  type: list
  elements: str
  sample: []
"""

import asyncio
import datetime
import os
import resource
import socket
import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import (
    _bench,
    _bench_host,
    _bench_load,
    _bench_probe,
    _bench_record,
    _bench_store,
)
from ansible_collections.indiaai.inference.plugins.module_utils._bench_http import Target
from ansible_collections.indiaai.inference.plugins.module_utils._bench_prompts import PromptMaker
from ansible_collections.indiaai.inference.plugins.module_utils._bench_stream import APIS
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api, journal

LIMITS = {
    "requests": (1, 100000), "prompt_tokens": (8, 1000000), "max_tokens": (1, 1000000),
    "warmup_requests": (0, 1000), "request_seconds": (1, 86400), "max_seconds": (1, 86400),
    "probe_seconds": (1, 600), "slo_ttft_ms": (1, 3600000),
}


class Unusable(Exception):
    """The measurement cannot be made; the text says found, wanted and what to change."""


def validate(params: dict) -> None:
    """Check what the argument spec cannot; raises Unusable naming every problem."""
    problems = []
    if not _bench_store.LABEL.match(params["label"]):
        problems.append("found label %r, wanted lower-case letters, digits, dot, dash or underscore" % params["label"])
    if not params["levels"] or any(not 1 <= level <= 1024 for level in params["levels"]):
        problems.append("found levels %s, wanted at least one number of users from 1 to 1024" % params["levels"])
    for name, (lowest, highest) in sorted(LIMITS.items()):
        if not lowest <= params[name] <= highest:
            problems.append("found %s %s, wanted %s to %s" % (name, params[name], lowest, highest))
    if problems:
        raise Unusable("; ".join(problems))


def make_target(options: dict) -> Target:
    """The server of ``options`` (the module's own, or those of the gateway)."""
    key = ""
    if options.get("api_key_file"):
        try:
            with open(options["api_key_file"], encoding="utf-8") as handle:
                key = handle.readline().strip()
        except OSError as exc:
            raise Unusable("found no readable API key file (%s), wanted one: change api_key_file" % exc)
    if options.get("ca_file") and not os.access(options["ca_file"], os.R_OK):
        raise Unusable("found no readable CA file %s, wanted one: change ca_file" % options["ca_file"])
    try:
        return Target(options["url"], key, options.get("ca_file") or "", options["validate_certs"], options["connect_to"])
    except (ValueError, OSError) as exc:
        raise Unusable(str(exc))


class Measurement:
    """One run of the module's load; ``run()`` returns the record."""

    def __init__(self, params: dict, container: dict) -> None:
        self.params = params
        self.container = container
        self.target = make_target(params)
        self.gateway_target = make_target(params["gateway"]) if params["gateway"] else None
        self.api = APIS[params["api"]]
        self.ignore_eos = params["ignore_eos"] and params["api"] == "openai"
        self.refused = False
        self.found = {}
        self.traffic = None

    async def ask(self) -> dict:
        """Who is there, and is somebody being served; raises ProbeError."""
        seconds = self.params["probe_seconds"]
        self.found = await _bench_probe.probe(self.target, self.api, self.params["model"], seconds)
        metrics, path = self.target, "/metrics"
        if self.params["metrics_url"]:
            metrics, path = Target(self.params["metrics_url"]), ""
        self.traffic = await _bench_probe.traffic(metrics, path, seconds)
        return self.found

    async def run(self) -> dict:
        """Warm up, run the levels, compare with the gateway, put the record together."""
        params = self.params
        live = _bench_host.read_gpu_memory(params["nvidia_smi"])
        host_facts = _bench_host.read_host()
        created = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        prompts = PromptMaker(params["seed"], params["prompt_tokens"], "%s/%d" % (created, os.getpid()))
        deadline = time.perf_counter() + params["max_seconds"]
        shape = self._shape(self.api, self.found["model"], prompts)
        await self._warm_up(shape, deadline)

        levels, failures = [], {}
        cpu_before, wall_before = _cpu_seconds(), time.perf_counter()
        ladder = sorted(set(params["levels"]))
        parts = len(ladder) + (1 if self.gateway_target else 0)
        for number, concurrency in enumerate(ladder):
            # Time that a level does not need goes to those after it.
            now = time.perf_counter()
            until = now + (deadline - now) / (parts - number)
            outcomes, started, ended = await _bench_load.run_level(
                self.target, shape, concurrency, _bench.requests_for_level(params["requests"], concurrency), until)
            levels.append(_bench.summarise_level(concurrency, outcomes, started, ended))
            for outcome in outcomes:
                if outcome.error is not None:
                    failures.setdefault(outcome.error, outcome.detail)
        client = _bench_record.client_share(_cpu_seconds() - cpu_before, time.perf_counter() - wall_before)
        errors = _bench_record.all_failed(levels)
        if errors:
            raise Unusable("found no request answered by %s (%s), wanted at least one: %s" % (
                self.target.url, ", ".join("%s x %d" % item for item in sorted(errors.items())),
                "; ".join("%s: %s" % item for item in sorted(failures.items())) or "raise max_seconds"))
        overhead, overhead_notes = await self._overhead(shape, prompts, deadline)
        remarks = _bench_record.notes(levels, client, self.refused, self.traffic, params["force"])
        for kind in sorted(failures):
            remarks.append("First failure of kind %s: %s" % (kind, failures[kind]))
        return _bench_record.make_record(
            label=params["label"], caption=params["caption"], created_at=created, host=params["host"] or socket.gethostname(),
            endpoint={"url": self.target.url, "api": params["api"], "model": self.found["model"], "via": params["via"]},
            engine=self._engine(), stub=self.found["stub"], gpu=_bench_host.gpu_subset(params["gpu_facts"], live),
            host_facts=host_facts,
            tuning=_bench_host.read_tuning(params["tuning_keys"] or _bench_host.TUNING_KEYS),
            load=_bench_record.workload(params, self.ignore_eos), levels=levels, client=client,
            remarks=remarks + overhead_notes, gateway_overhead=overhead)

    def _shape(self, api, model: str, prompts: PromptMaker):
        params = self.params
        return _bench_load.Shape(api, model, params["max_tokens"], params["seed"], self.ignore_eos, prompts,
                                 params["request_seconds"])

    async def _warm_up(self, shape, deadline: float) -> None:
        user = _bench_load.User(self.target, shape)
        for number in range(self.params["warmup_requests"]):
            outcome = await user.ask(deadline)
            if number == 0 and shape.ignore_eos and outcome.error in ("http_400", "http_422"):
                shape.ignore_eos = False
                if (await user.ask(deadline)).succeeded:
                    self.ignore_eos, self.refused = False, True
                else:
                    shape.ignore_eos = True
        user.close()

    async def _overhead(self, shape, prompts: PromptMaker, deadline: float) -> tuple:
        if not self.gateway_target:
            return None, []
        options = self.params["gateway"]
        through = self._shape(APIS["openai"], options["model"] or self.found["model"], prompts)
        through.ignore_eos = shape.ignore_eos
        direct, gateway = await _bench_load.run_pairs(
            _bench_load.User(self.target, shape), _bench_load.User(self.gateway_target, through),
            options["requests"], deadline)
        overhead = _bench.summarise_overhead(direct, gateway)
        if overhead["requests"]:
            return overhead, []
        details = [outcome.detail for outcome in gateway + direct if outcome.error is not None]
        return None, ["The gateway at %s could not be measured: %s"
                      % (self.gateway_target.url, details[0] if details else "no time was left")]

    def _engine(self) -> dict:
        given = {name: value for name, value in self.params["engine"].items() if value is not None}
        engine = {"name": self.found["engine"], "version": self.found["version"], "flags": None, "image": None}
        engine.update(self.container)
        engine.update(given)
        if engine["flags"] is not None:
            engine["flags"] = _bench_host.mask_flags(engine["flags"])
        return engine


def describe_container(name: str) -> dict:
    """Image and flags of a Docker container; empty where that cannot be found out."""
    if not name:
        return {}
    try:
        document = docker_api.DockerApi().inspect(name)
    except (docker_api.DockerError, docker_api.DockerUnavailable):
        return {}
    return _bench_host.describe_inspect(document) if document else {}


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def argument_spec() -> dict:
    target = {
        "url": {"type": "str", "required": True},
        "model": {"type": "str", "default": ""},
        "api_key_file": {"type": "path", "no_log": False},
        "ca_file": {"type": "path"},
        "validate_certs": {"type": "bool", "default": True},
        "connect_to": {"type": "str", "default": ""},
    }
    spec = dict(target)
    spec.update({
        "api": {"type": "str", "choices": ["openai", "ollama"], "default": "openai"},
        "via": {"type": "str", "choices": ["direct", "gateway"], "default": "direct"},
        "label": {"type": "str", "default": "after"},
        "workload": {"type": "str", "default": "chat"},
        "levels": {"type": "list", "elements": "int", "default": [1, 4, 16]},
        "requests": {"type": "int", "default": 16},
        "prompt_tokens": {"type": "int", "default": 128, "no_log": False},
        "max_tokens": {"type": "int", "default": 128, "no_log": False},
        "seed": {"type": "int", "default": 7},
        "ignore_eos": {"type": "bool", "default": True},
        "warmup_requests": {"type": "int", "default": 2},
        "request_seconds": {"type": "float", "default": 60},
        "max_seconds": {"type": "float", "default": 120},
        "probe_seconds": {"type": "float", "default": 10},
        "slo_ttft_ms": {"type": "float", "default": 5000},
        "metrics_url": {"type": "str", "default": ""},
        "force": {"type": "bool", "default": False},
        "policy": {"type": "str", "choices": ["always", "changed", "missing", "never"], "default": "always"},
        "stack_changed": {"type": "bool", "default": False},
        "required": {"type": "bool", "default": False},
        "records_dir": {"type": "path"},
        "undo_role": {"type": "str", "default": ""},
        "container": {"type": "str", "default": ""},
        "engine": {"type": "dict", "default": {}, "options": {
            "name": {"type": "str"}, "version": {"type": "str"}, "image": {"type": "str"}, "flags": {"type": "dict"},
        }},
        "caption": {"type": "str", "default": ""},
        "host": {"type": "str", "default": ""},
        "gpu_facts": {"type": "dict", "default": {}},
        "tuning_keys": {"type": "list", "elements": "str", "no_log": False},
        "gateway": {"type": "dict", "options": dict(target, requests={"type": "int", "default": 20})},
    })
    return spec


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    result = {"changed": False, "measured": False, "reason": "", "stored": {"before": None, "after": None},
              "paths": [], "summary": []}
    folder = params["records_dir"]
    try:
        validate(params)
        if folder:
            for label in ("before", "after", params["label"]):
                result["stored"][label] = _bench_store.load(folder, label)
    except (Unusable, ValueError) as exc:
        module.fail_json(msg=str(exc), **result)
    wanted, result["reason"] = _bench_store.decide(
        params["label"], params["policy"], result["stored"].get(params["label"]) is not None, params["stack_changed"])
    if not wanted:
        module.exit_json(**result)

    params["nvidia_smi"] = module.get_bin_path("nvidia-smi")
    try:
        measurement = Measurement(params, describe_container(params["container"]))
        asyncio.run(measurement.ask())
        if module.check_mode:
            result["reason"] = "check mode: the server answers, no load was sent"
            module.exit_json(**result)
        if measurement.traffic and not params["force"]:
            result["reason"] = ("the server is working on %d requests of somebody else; "
                                "measure when it is idle, or force it" % measurement.traffic)
            if params["required"] and result["stored"].get(params["label"]) is None:
                raise Unusable(result["reason"])
            module.exit_json(**result)
        record = asyncio.run(measurement.run())
    except (Unusable, _bench_probe.ProbeError) as exc:
        if module.check_mode:
            result["reason"] = "check mode: %s" % exc
            module.exit_json(**result)
        module.fail_json(msg=str(exc), **result)

    if folder:
        try:
            if params["undo_role"] and not os.path.isdir(folder):
                journal.Journal().record(params["undo_role"], [{"kind": "directory", "path": folder}])
            result["paths"] = _bench_store.save(folder, record)
        except (OSError, journal.JournalError) as exc:
            module.fail_json(msg="The record could not be written to %s: %s" % (folder, exc), record=record, **result)
        result["stored"][record["label"]] = record
    result.update(measured=True, record=record, summary=_bench.summary_lines(record))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
