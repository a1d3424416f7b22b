# SPDX-License-Identifier: MIT
"""The reviewed table of instruction counts; it is of emulated processors, not of this machine."""

from __future__ import annotations

from pathlib import Path

from . import tables
from .blocks import Column, Table, unique
from .input import read_text
from .rows import InputError

INSTRUCTIONS = Path(__file__).resolve().parents[3] / "tests" / "codegen" / "expected.txt"


def instruction_tables(path: Path) -> list:
    """By family."""
    lines = [line.split() for line in read_text(str(path), "restore it").splitlines() if line[:1] not in ("#", "")]
    if not lines or lines[0][:3] != ["family", "operation", "variant"]:
        raise InputError(f"{path}: the first line must begin with family, operation, variant: restore it")
    names = lines[0]
    bad = [line for line in lines if line[0] != "compiler" and len(line) != len(names)]
    if bad:
        raise InputError(f"{path}: '{' '.join(bad[0])[:60]}' has not {len(names)} fields: restore it")
    columns = [Column("operation", "", False), Column("variant", "", False)]
    columns += [Column(name, "instructions") for name in names[3:]]
    out = []
    for family in unique([line[0] for line in lines[1:] if line[0] != "compiler"]):
        rows = [(line[1:], "default" if line[2] == "default" else "") for line in lines[1:] if line[0] == family]
        what = tables.family(family).instruction_words
        out.append(Table(f"instructions: {family}{what}", columns, rows))
    return out
