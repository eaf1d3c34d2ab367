#!/usr/bin/env bash
# run.sh STAGE...: finds a Python for the control environment, then hands over to run.py. `make help` lists the stages.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Prints the real path of the first interpreter that is new enough. Version managers put shims on PATH, which exist for
# versions that are not installed and break Ansible's interpreter discovery, so the interpreter is asked for its own path.
find_python() {
  local candidate answer
  local candidates=(python3 python3.13 python3.12 python3.11 /usr/bin/python3)
  if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
  for candidate in "${candidates[@]}"; do
    answer=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null) || continue
    found+=("Python ${answer%% *} (${answer#* })")
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
      python=${answer#* }
      return 0
    fi
  done
  return 1
}

found=()
if ! find_python && ! { [ ${#found[@]} = 0 ] && install python3 python3-venv && find_python; }; then
  echo "Found: ${found[*]:-no Python}. Wanted: Python 3.11 or newer. Set PYTHON=/path/to/python3 to name one." >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ! { install "python$version-venv" && "$python" -c 'import ensurepip, venv' 2>/dev/null; }; then
    echo "Found: $python without the modules venv and ensurepip. Wanted: both (Debian: apt-get install python$version-venv)." >&2
    exit 1
  fi
fi
exec "$python" "$root/tests/tools/run.py" "$@"
