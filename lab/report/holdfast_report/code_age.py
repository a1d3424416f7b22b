# SPDX-License-Identifier: MIT
"""Which tables were measured before their code last changed, comments apart: by git, where the commits are there."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

INSIDE = "include/holdfast/internal/"
ATOMICS = (INSIDE + "atomic",)
SPINS = (*ATOMICS, INSIDE + "wait.h", INSIDE + "arch/")
LOCKS = (*SPINS, INSIDE + "spinlock_queued.h", "include/holdfast/spinlock")
WAITS = (*SPINS, INSIDE + "parking.h", "include/holdfast/mutex.h", "src/mutex/", "src/parking/", "src/env/")
FAULTS = (*ATOMICS, INSIDE + "arch", INSIDE + "nofault/", "include/holdfast/nofault", "src/nofault/", "src/cpu/")
# The lab's table -> how the files that it measures begin; a table that is not here measures tmpfs, which uses everything.
CODE = {
    "refcount": (*ATOMICS, "include/holdfast/refcount.h"),
    "spinlock": LOCKS,
    "handoff": LOCKS,
    "lockref": (*WAITS, "include/holdfast/lockref.h"),
    "holder": (*WAITS, "include/holdfast/lockref.h"),
    "mutex": WAITS,
    "cond": (*WAITS, "include/holdfast/cond.h", "src/cond/"),
    "region": (*FAULTS, "include/holdfast/region.h", "src/region/"),
    **dict.fromkeys(("clear", "copy", "verbs", "loop", "fault", "guard"), FAULTS),
}
EVERYTHING = ("include/", "src/", "tmpfs/")
KINDS = (".h", ".c", ".hpp", ".cpp", ".S", ".inc")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)


def bare(text: str) -> str:
    """The code without comments and white space."""
    return re.sub(r"\s+", " ", COMMENT.sub(lambda m: m[1] or " ", text)).strip()


def code_at(root: Path, commit: str) -> dict[str, str] | None:
    """Path -> code at the commit; None if it is not in this repository, or there is none."""
    try:
        there = [p.rstrip("/") for p in EVERYTHING]
        done = subprocess.run(["git", "-C", str(root), "archive", commit, *there], capture_output=True, check=False)
    except OSError:
        return None
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        return {m.name: bare(tar.extractfile(m).read().decode("utf-8")) for m in tar if m.isfile() and m.name.endswith(KINDS)}


def code_here(root: Path) -> dict[str, str]:
    paths = [p for top in EVERYTHING for p in (root / top).rglob("*") if p.suffix in KINDS and p.is_file()]
    return {p.relative_to(root).as_posix(): bare(p.read_text(encoding="utf-8")) for p in paths}


def changed(then: dict[str, str], now: dict[str, str], table: str) -> bool:
    places = CODE.get(table, EVERYTHING)

    def of(code: dict[str, str]) -> dict[str, str]:
        return {path: text for path, text in code.items() if path.startswith(places) and "/tests/" not in path}

    return of(then) != of(now)


def older(root: Path, commits: dict[str, str], tables: list[str], known: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """(machine, table) of the stale ones; commits: machine -> commit. `known` counts where the commit is not there, and
    results that name no commit are stale."""
    now, out = code_here(root), set()
    for machine, commit in commits.items():
        named = re.fullmatch(r"[0-9a-f]{7,40}", commit)
        then = code_at(root, commit) if named else None
        for table in tables:
            if not named or ((machine, table) in known if then is None else changed(then, now, table)):
                out.add((machine, table))
    return out
