#!/usr/bin/env bash
# Runs the gateway's tests in an environment of their own, kept in the cache folder and keyed by what it is made of.
# Arguments go to pytest (files relative to this folder). Needs a Python 3.11 (the version in the gateway's image); PYTHON names another.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gateway=$(cd "$here/../../roles/api_gateway/files/gateway" && pwd)
python=${PYTHON:-$(command -v python3.11 || command -v python3)}
# A version manager's shim is not the interpreter itself.
python=$("$python" -c 'import sys; print(sys.executable)')

key=$(cat "$gateway/requirements.lock" "$here/requirements.txt" <("$python" -VV) | sha256sum | cut -c1-16)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/indiaai-inference/gateway-tests-$key
if [ ! -e "$venv/.complete" ]; then
  rm -rf "$venv"
  mkdir -p "$(dirname "$venv")"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$gateway/requirements.lock"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  touch "$venv/.complete"
fi

export PYTHONPATH=$gateway:$here PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$venv/hypothesis
cd "$here"
exec "$venv/bin/python" -m pytest -p no:cacheprovider "$@"
