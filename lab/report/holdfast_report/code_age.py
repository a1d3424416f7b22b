# SPDX-License-Identifier: MIT
"""Which tables were measured before their code last changed, comments apart, by git."""

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
    "rwlock": (*WAITS, "include/holdfast/rwlock", "src/rwlock/"),
    "region": (*FAULTS, "include/holdfast/region.h", "src/region/"),
    **dict.fromkeys(("clear", "copy", "verbs", "loop", "fault", "guard"), FAULTS),
}
EVERYTHING = ("include", "src", "tmpfs")
KINDS = (".h", ".c", ".hpp", ".cpp", ".S", ".inc")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)


def bare(text: str) -> str:
    """The code without comments and white space."""
    return re.sub(r"\s+", " ", COMMENT.sub(lambda m: m[1] or " ", text)).strip()


def code_at(root: Path, commit: str) -> dict[str, str]:
    """Path -> code at the commit; nothing if this repository does not have it."""
    done = subprocess.run(["git", "-C", str(root), "archive", commit, *EVERYTHING], capture_output=True, check=False)
    if done.returncode:
        return {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        files = [m for m in tar if m.isfile() and m.name.endswith(KINDS) and "/tests/" not in m.name]
        return {m.name: bare(tar.extractfile(m).read().decode("utf-8")) for m in files}


def older(root: Path, commits: dict[str, str], tables: list[str]) -> set[tuple[str, str]]:
    """(machine, table) of the stale ones; commits: machine -> commit. What no commit of this repository measured is stale."""

    def of(code: dict[str, str], table: str) -> dict[str, str]:
        return {path: text for path, text in code.items() if path.startswith(CODE.get(table, EVERYTHING))}

    now = code_at(root, "HEAD")
    then = {machine: code_at(root, commit) for machine, commit in commits.items()}
    return {
        (machine, table)
        for machine, code in then.items()
        for table in tables
        if not code or of(code, table) != of(now, table)
    }
