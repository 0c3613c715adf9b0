#!/usr/bin/env python3
"""Keeps the house in order: who may include whom.

The rules are the headrace_module(NAME DEPENDS …) lines of CMakeLists.txt, the same that link the
libraries. A module may include itself and what it depends on, directly or through others:

    cli, python           everything
    engine   job          dataset and below; not each other
    dataset               io, format, codec, plan, base
    stream                format, base
    serve                 io, base
    io format codec plan  base; not each other
    include/headrace      public headers alone

A public header belongs to the lowest module that may use it; OWNERS says which.
usage: include_rules.py [ROOT]      exit 1 and file:line for each include that breaks a rule
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Public headers and the module whose nouns they are. A module that may not include the owner may
# not include the header either.
OWNERS = {
    "bytes": "base",
    "notes": "base",
    "result": "base",
    "version": "base",
    "network": "io",
    "store": "io",
    "cache_counters": "io",
    "field": "codec",
    "image_ops": "codec",
    "order": "plan",
    "packing": "plan",
    "dataset": "dataset",
    "selection": "dataset",
    "batch": "engine",
    "loader": "engine",
    "mix_rows": "engine",
    "audit": "engine",
}
FACES = ("cli", "python/src")
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
MODULE = re.compile(r"^headrace_module\((\w+)\s+DEPENDS([^)]*)\)", re.MULTILINE)


def read_modules(cmake: str) -> dict[str, set[str]]:
    """Module -> itself and every module below it."""
    direct = {name: depends.split() for name, depends in MODULE.findall(cmake)}

    def below(name: str) -> set[str]:
        return {name}.union(*(below(other) for other in direct[name]))

    return {name: below(name) for name in direct}


def includes(folder: Path) -> Iterator[tuple[Path, int, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := INCLUDE.match(line):
                yield path, number, match[1]


def owner(target: str) -> str | None:
    """The module that an include path belongs to; None for a public header without an owner."""
    first, _, rest = target.partition("/")
    return OWNERS.get(rest.removesuffix(".h")) if first == "headrace" else first


def violations(root: Path) -> Iterator[str]:
    modules = read_modules((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not modules:
        yield "CMakeLists.txt:1: no headrace_module(…) lines: nothing to check against"

    for path, line, target in includes(root / "include"):
        if not target.startswith("headrace/"):
            yield f"{path.relative_to(root)}:{line}: a public header includes {target}"

    for name, allowed in modules.items():
        for path, line, target in includes(root / "src" / name):
            place = f"{path.relative_to(root)}:{line}"
            if "/" not in target:
                yield f"{place}: write the module's folder too: {name}/{target}"
            elif (module := owner(target)) is None:
                yield f"{place}: {target} has no owner; name one in {Path(__file__).name}"
            elif module not in allowed:
                yield f"{place}: {name} may not include {target} (of {module})"

    for face in FACES:
        for path, line, target in includes(root / face):
            module = target.partition("/")[0]
            if "/" in target and module not in {*modules, "headrace", face.partition("/")[0]}:
                yield f"{path.relative_to(root)}:{line}: {target} is in no module"

    known = {root / "src" / name for name in modules}
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and folder not in known:
            yield f"{folder.relative_to(root)}:1: CMakeLists.txt has no such module"


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
