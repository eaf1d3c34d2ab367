"""Compare two snapshots of a server and print every difference that is not documented.

    compare.py BEFORE.json AFTER.json ALLOWED.txt

ALLOWED.txt holds one exact key a line, then two spaces, `#` and the reason; no patterns, so that an allowance can never cover more
than was thought of. A key of a snapshot is volatile, not allowed, when it changes on an idle server too: those are in VOLATILE.
Exit status: 0 nothing undocumented, 1 differences (printed), 2 an input cannot be read.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

VOLATILE = pathlib.Path(__file__).with_name("volatile.txt")


class AllowanceError(ValueError):
    """A line of an allowance file that has no key or no reason."""


def read_allowances(text, source):
    """{key: reason} of an allowance file's text."""
    allowed = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, separator, reason = line.partition("  # ")
        if not separator or not reason.strip() or not key.strip():
            raise AllowanceError(f"{source}:{number}: wanted 'kind:name  # reason', found {line!r}")
        allowed[key.strip()] = reason.strip()
    return allowed


def volatile_patterns(text):
    """Compiled patterns of the keys that change on an idle server."""
    return [re.compile(key) for key in read_allowances(text, VOLATILE.name)]


def differences(before, after):
    """Sorted [(key, value before or None, value after or None)] of everything that is not equal."""
    keys = sorted(before.keys() | after.keys())
    return [(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def judge(before, after, allowed, volatile):
    """Split the differences into (undocumented, documented, allowances that nothing used)."""
    found = [item for item in differences(before, after) if not any(pattern.fullmatch(item[0]) for pattern in volatile)]
    undocumented = [item for item in found if item[0] not in allowed]
    documented = [item for item in found if item[0] in allowed]
    unused = sorted(set(allowed) - {item[0] for item in documented})
    return undocumented, documented, unused


def line_of(item):
    key, before, after = item
    if before is None:
        return f"left over   {key} = {after}"
    if after is None:
        return f"missing     {key} (was {before})"
    return f"changed     {key}: {before} -> {after}"


def main(argv):
    try:
        before, after = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in argv[:2])
        allowed = read_allowances(pathlib.Path(argv[2]).read_text(encoding="utf-8"), argv[2])
        volatile = volatile_patterns(VOLATILE.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"snapshot comparison: {error}", file=sys.stderr)
        return 2
    undocumented, documented, unused = judge(before, after, allowed, volatile)
    for item in undocumented:
        print(line_of(item))
    print(f"{len(undocumented)} undocumented differences, {len(documented)} documented ones, {len(unused)} allowances not needed")
    for key in unused:
        print(f"not needed  {key}")
    return 1 if undocumented else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
