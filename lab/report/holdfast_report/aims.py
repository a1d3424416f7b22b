# SPDX-License-Identifier: MIT
"""The aims, as the results state them. hf-lab judged them; nothing here compares a figure with its aim."""

from __future__ import annotations

from . import tables
from .blocks import NOTHING, Column, Table, Text, fmt
from .rows import Aim, Results


def status(aim: Aim) -> str:
    if aim.met is not None:
        return "met" if aim.met else "missed"
    return "not measured" if aim.bound or aim.value is None else NOTHING


def figure(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else ''}{fmt(abs(value))} {unit}".strip()


def bound(aim: Aim) -> str:
    return f"{aim.bound} {figure(aim.aim, aim.unit)}" if aim.bound else NOTHING


def words(aim: Aim) -> str:
    """'xyz, 2 threads: throughput, of the best peer: 0.48 (aim: at least 0.90), peer:abc'"""
    lead = ", ".join(x for x in (aim.table, aim.group) if x)
    text = f"{lead}: {aim.what}: {figure(aim.value, aim.unit)}"
    if aim.bound:
        text += f" (aim: {bound(aim)})"
    more = "; ".join(x for x in (aim.detail, aim.why) if x)
    return text + (f", {more}" if more else "")


def count_words(results: Results) -> str:
    judged = [status(a) for a in results.aims if a.bound]
    if not judged:
        return "The results state no aims."
    total = f"{len(judged)} aim{'' if len(judged) == 1 else 's'}"
    return f"{total}: " + ", ".join(f"{judged.count(s)} {s}" for s in ("met", "missed", "not measured")) + "."


def with_status(results: Results, wanted: str) -> list[Aim]:
    return [a for a in results.aims if a.bound and status(a) == wanted]


def blocks(results: Results) -> list:
    out: list = []
    columns = [
        Column("of", "", False),
        Column("what", "", False),
        Column("verdict", "", False),
        Column("here"),
        Column("aim"),
        Column("detail", "", False),
    ]
    names = [n for n in results.table_names() if any(a.table == n for a in results.aims)]
    for name in sorted(names, key=lambda n: (tables.family(n).order, names.index(n))):
        rows = []
        group = None
        for aim in [a for a in results.aims if a.table == name]:
            cells = [aim.group if aim.group != group else "", aim.what, status(aim)]
            group = aim.group
            more = "; ".join(x for x in (aim.detail, aim.why) if x)
            cells += [figure(aim.value, aim.unit), bound(aim), more or NOTHING]
            rows.append((cells, "missed" if status(aim) == "missed" else ""))
        out.append(Table(f"{name}: aims", columns, rows))
    return [*out, Text(count_words(results))]
