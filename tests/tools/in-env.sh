#!/usr/bin/env bash
# in-env.sh COMMAND...: runs one command in the control environment of this checkout, e.g. `tests/tools/in-env.sh ansible-doc -l`.
exec "$(dirname "$0")/run.sh" --exec "$@"
