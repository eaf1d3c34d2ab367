#!/usr/bin/env bash
# install.sh: run inside a container of the base image, without a network; puts vLLM into /opt/vllm
# from the wheels in /wheels that /tmp/constraints.txt names.
set -euo pipefail

say() { printf '  %s\n' "$*" >&2; }

say "unpacking $(find /wheels -name '*.whl' | wc -l) wheels"
python3 -m venv /opt/vllm
/opt/vllm/bin/pip install --quiet --no-deps --no-index --find-links /wheels --no-cache-dir --no-compile --disable-pip-version-check \
  --requirement /tmp/constraints.txt

say "removing what only a compiler or a developer needs"
cd /opt/vllm/lib/python3.11/site-packages
rm -rf torch/include torch/test pip pip-*.dist-info /opt/vllm/bin/pip*

# Start-up is mostly imports: everything is compiled here, and its age is not asked again. Packages carry a few files that are
# no valid Python (templates), hence the failure that is let pass; what matters is checked below.
say "compiling to bytecode"
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash . >/dev/null || true

# vLLM imports a model's class in a process of its own to learn what it can do, and keeps the answer in this folder.
say "recording what vLLM learns about the model's class"
/opt/vllm/bin/python3 - <<'PYTHON' >/dev/null 2>&1
from vllm.model_executor.models.registry import ModelRegistry

ModelRegistry.models["LlamaForCausalLM"].inspect_model_cls()
PYTHON
test -s vllm/__pycache__/envs.cpython-311.pyc
test -s "$VLLM_CACHE_ROOT"/modelinfos/*LlamaForCausalLM.json
rm -rf /tmp/*
