# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line: vLLM's arguments, as far as a stub can obey them; all others are accepted and ignored.

``--config FILE.yaml`` is read as vLLM reads it: its keys count as arguments, the command line wins.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Dict, List, Mapping, Sequence


@dataclasses.dataclass
class Options:
    """What the stub was started with."""

    host: str
    port: int
    models: List[str]  # names that requests may use; the first one is "the" name
    keys: List[str]  # empty: no key wanted
    max_num_seqs: int  # requests that run at once; more wait
    max_model_len: int  # tokens of prompt and answer together
    shutdown_timeout: float  # seconds that running requests get after SIGTERM; 0 cuts them off, as vLLM does
    script: Dict  # start-up script, see script.py


def read_config(text: str) -> List[str]:
    """The flat ``key: value`` lines of a YAML text as arguments: ``api-key: X`` gives ``--api-key X``.

    ``true`` gives the bare flag, ``false`` and nested values nothing. Quotes around a value are taken off.
    """
    arguments = []
    for line in text.splitlines():
        if not line.strip() or line[0] in " \t#-":
            continue
        key, separator, value = line.partition(":")
        value = value.split(" #")[0].strip()
        if not separator or not value or value == "false":
            continue
        arguments.append("--" + key.strip().replace("_", "-"))
        if value != "true":
            arguments.append(value[1:-1] if value[0] == value[-1] and value[0] in "\"'" and len(value) > 1 else value)
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stub_engine", allow_abbrev=False, description="An engine that is none.")
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", "--model-path", default="stub")
    parser.add_argument("--served-model-name", nargs="+", default=[])
    parser.add_argument("--config")
    parser.add_argument("--api-key", nargs="*", default=[])
    parser.add_argument("--max-num-seqs", type=int, default=256)
    parser.add_argument("--max-model-len", type=int, default=65536)
    parser.add_argument("--shutdown-timeout", type=float, default=0)
    parser.add_argument("--stub-script", metavar="FILE", help="start-up script (JSON); the variable STUB_SCRIPT holds one as text")
    return parser


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Options from the command line and the environment (VLLM_API_KEY, STUB_SCRIPT)."""
    parser = _parser()
    config = parser.parse_known_args(arguments)[0].config
    if config:
        with open(config, encoding="utf-8") as file:
            arguments = read_config(file.read()) + list(arguments)
    found = parser.parse_known_args(arguments)[0]
    script = json.loads(environment.get("STUB_SCRIPT") or "{}")
    if found.stub_script:
        with open(found.stub_script, encoding="utf-8") as file:
            script.update(json.load(file))
    keys = [key for key in found.api_key or [environment.get("VLLM_API_KEY", "")] if key]
    return Options(host=found.host, port=found.port, models=found.served_model_name or [found.model], keys=keys,
                   max_num_seqs=found.max_num_seqs, max_model_len=found.max_model_len,
                   shutdown_timeout=found.shutdown_timeout, script=script)
