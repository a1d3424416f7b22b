# SPDX-License-Identifier: MIT
"""How certain the results are, the aims, and what the terminal shows."""

from __future__ import annotations

import textwrap

from . import cards, tables
from .blocks import NOTHING, Column, Table, Text, fmt, fmt_percent, fmt_threads, table_of, text, unique
from .judge import aims_of
from .noise import gap
from .rows import Aim, Results


def withheld_items(results: Results) -> list[tuple[str, str, str]]:
    tables_of = unique([r.table for r in results.rows])
    return [(name, f"no verdict: {results.withheld(name)}.", "fail") for name in tables_of if results.withheld(name)]


def same_code(results: Results) -> list[tuple[str, float, str]]:
    """For each table the largest difference between two measurements of the same code, and its place."""
    out = []
    for family in tables.of(results):
        rows = results.of(family.name)
        gaps = [(r.gap, r) for r in rows if r.gap is not None]
        for default in [r for r in rows if r.kind == "default" and r.valid and r.ns]:
            twins = [r for r in rows if r.place == default.place and r.valid and r.ns]
            gaps += [(gap(default, r), r) for r in twins if family.is_implementation(r, default.implements)]
        if gaps:
            most, row = max(gaps, key=lambda g: g[0])
            out.append((family.name, most, f"{row.name}, {family.case_words(*row.place)}"))
    return out


def same_code_tables(results: Results) -> list[Table]:
    found = same_code(results)
    columns = [
        (text("table"), lambda one: one[0]),
        (Column("differ by", "at most"), lambda one: fmt_percent(one[1]).lstrip("+")),
        (text("in"), lambda one: one[2]),
    ]
    title = "Two measurements of the same code: smaller differences are noise"
    return [table_of(title, found, columns)] if found else []


def certainty_items(results: Results) -> list[tuple[str, str, str]]:
    items = []
    spreads = sorted(r.spread for r in results.rows if r.spread is not None and r.valid)
    if spreads:
        half, most = (fmt_percent(spreads[len(spreads) * n // 10]).lstrip("+") for n in (5, 9))
        words = f"half of the rows have at most {half} (inter-quartile range over median), nine in ten at most {most}."
        items.append(("spread", words))
    few = sum(1 for r in results.rows if r.valid and r.rounds is not None and r.rounds < 3)
    if few:
        items.append(("few rounds", f"{few} of {len(results.rows)} rows were measured less than 3 times: no spread."))
    if not results.busy:
        items.append(("", count_words(results)))
        items += [(lead, words) for lead, words, _ in withheld_items(results)]
    for lead, rows, words in (
        ("not measured", [r for r in results.rows if r.checked and r.ns is None], ""),
        ("two levels", [r for r in results.rows if r.levels], " Their runs alternate: chance decides the median."),
    ):
        of = [r.table for r in rows]
        counts = ", ".join(f"{of.count(name)} of {name}" for name in unique(of))
        if rows:
            items.append((lead, f"{len(rows)} of {len(results.rows)} rows: {counts}.{words}"))
    items += [("", limit) for limit in results.limits]
    for peer in results.missing_peers:
        package = f"; its package is {peer['package']}." if peer.get("package") else "."
        items.append((peer["peer"], f"not found when the lab was built, so not in the tables{package}"))
    return [(lead, words, "") for lead, words in items]


def failed_items(results: Results) -> list[tuple[str, str, str]]:
    return [
        (f"{r.table} / {r.variant}", f"{r.case}, {fmt_threads(r.threads)}: {r.why or 'the count was wrong'}.", "fail")
        for r in results.rows
        if r.failed
    ]


def figure(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else ''}{fmt(abs(value))} {unit}".strip()


def here(aim: Aim) -> str:
    """The figure, with so many digits that a missed one does not look like its bound."""
    words = figure(aim.value, aim.unit)
    if aim.met is False and words == figure(aim.aim, aim.unit):
        return f"{aim.value:.6g} {aim.unit}".strip()
    return words


def bound(aim: Aim) -> str:
    return f"{aim.bound} {figure(aim.aim, aim.unit)}" if aim.bound else NOTHING


def more(aim: Aim) -> str:
    return "; ".join(x for x in (aim.detail, aim.why) if x)


def count_words(results: Results) -> str:
    judged = [a.status for a in aims_of(results) if a.bound]
    if not judged:
        return "The results state no aims."
    total = f"{len(judged)} aim{'' if len(judged) == 1 else 's'}"
    return f"{total}: " + ", ".join(f"{judged.count(s)} {s}" for s in ("met", "level", "missed", "not measured")) + "."


def aim_blocks(results: Results) -> list:
    out: list = []
    every = aims_of(results)
    for family in tables.named(a.table for a in every):
        aims = [a for a in every if a.table == family.name]
        first = {a.group: a for a in reversed(aims)}
        columns = [
            (text("of"), lambda a, first=first: a.group if first[a.group] is a else ""),
            (text("what"), lambda a: a.what),
            (text("verdict"), lambda a: a.status),
            (Column("here"), here),
            (Column("aim"), bound),
            (text("because"), lambda a: a.reason or NOTHING),
            (text("detail"), lambda a: more(a) or NOTHING),
        ]
        out.append(table_of(f"{family.name}: aims", aims, columns, lambda a: "missed" if a.status == "missed" else ""))
    return [*out, Text(count_words(results))]


def aim_lines(results: Results) -> list[str]:
    *tables_of, count = aim_blocks(results)
    return [line for table in tables_of for line in ("", table.title, *table.lines())] + [count.text]


def closing(results: Results) -> list[str]:
    """What the terminal shows, in 25 lines of 100 columns: what Holdfast costs beside what there is."""
    if results.busy:
        return textwrap.wrap(results.busy, 100)
    found = cards.lines(results)
    heads = ("ns", "Holdfast", "what you use now", "best peer (mutex: one that parks)", "noise")
    table = [heads, *((one.table, one.ours, one.now, one.best, f"{one.noise * 100:.0f} %") for one in found)]
    widths = [max(len(cells[n]) for cells in table) for n in range(len(heads))]
    first, *rows = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in table]
    out = ["", first]
    for one, row in zip(found, rows):
        out += [row, *textwrap.wrap(f"{one.case}: {one.means}", 100, initial_indent="  ", subsequent_indent="  ")]
    judged = [a.status for a in aims_of(results) if a.bound]
    disturbed = sum(r.disturbed for r in results.rows)
    words = f"{disturbed} of {len(results.rows)} rows were disturbed"
    if withheld := [name for name, _, _ in withheld_items(results)]:
        words += f"; no verdict on {', '.join(withheld)}"
    out.append(words + ".")
    if judged:
        out.append(f"{judged.count('missed')} of {len(judged)} aims missed: `make aims`, or the page.")
    if failed := failed_items(results):
        out.append(f"{len(failed)} of {len(results.rows)} rows FAILED the check of their count: see the page.")
    return out
