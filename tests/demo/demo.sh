#!/usr/bin/env bash
# make demo, make demo-down: the collection takes over a badly served machine, with the numbers before and after.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec tests/tools/in-env.sh python tests/demo/demo.py "${1:?up or down}"
