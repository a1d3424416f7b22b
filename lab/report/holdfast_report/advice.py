# SPDX-License-Identifier: MIT
"""The recommendations for this machine, their certainty, and the aims as judged by hf-lab."""

from __future__ import annotations

from . import tables
from .blocks import NOTHING, Bullets, Column, Text, fmt, fmt_percent, fmt_threads, table_of, text, texts, unique
from .family import Advice
from .rows import Aim, Results
from .verdict import gap


def advice(results: Results) -> list[Advice]:
    return [a for a in (family.advice(results) for family in tables.of(results)) if a is not None]


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


def certainty_items(results: Results) -> list[tuple[str, str, str]]:
    items = []
    twins = [f"{name} {fmt_percent(most).lstrip('+')} ({where})" for name, most, where in same_code(results)]
    if twins:
        words = "two measurements of the default, or of its own implementation, differ by at most: "
        words += "; ".join(twins) + ". Differences below this are noise."
        items.append(("the same code under two names", words))
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
    for lead, rows, words in (
        ("not measured", [r for r in results.rows if r.checked and r.ns is None], ""),
        ("two levels", [r for r in results.rows if r.levels], " Their runs alternate between two times: chance decides the median."),
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


def status(aim: Aim) -> str:
    if aim.met is not None:
        return "met" if aim.met else "missed"
    return "not measured" if aim.bound or aim.value is None else NOTHING


def figure(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else ''}{fmt(abs(value))} {unit}".strip()


def bound(aim: Aim) -> str:
    return f"{aim.bound} {figure(aim.aim, aim.unit)}" if aim.bound else NOTHING


def more(aim: Aim) -> str:
    return "; ".join(x for x in (aim.detail, aim.why) if x)


def aim_words(aim: Aim) -> str:
    """'xyz, 2 threads: throughput, of the best peer: 0.48 (aim: at least 0.90), peer:abc'"""
    lead = ", ".join(x for x in (aim.table, aim.group) if x)
    words = f"{lead}: {aim.what}: {figure(aim.value, aim.unit)}" + (f" (aim: {bound(aim)})" if aim.bound else "")
    return words + (f", {more(aim)}" if more(aim) else "")


def count_words(results: Results) -> str:
    judged = [status(a) for a in results.aims if a.bound]
    if not judged:
        return "The results state no aims."
    total = f"{len(judged)} aim{'' if len(judged) == 1 else 's'}"
    return f"{total}: " + ", ".join(f"{judged.count(s)} {s}" for s in ("met", "missed", "not measured")) + "."


def aim_blocks(results: Results) -> list:
    out: list = []
    for family in tables.named(a.table for a in results.aims):
        aims = [a for a in results.aims if a.table == family.name]
        first = {a.group: a for a in reversed(aims)}
        columns = [
            (text("of"), lambda a, first=first: a.group if first[a.group] is a else ""),
            *zip(texts("what", "verdict"), (lambda a: a.what, status)),
            (Column("here"), lambda a: figure(a.value, a.unit)),
            (Column("aim"), bound),
            (text("detail"), lambda a: more(a) or NOTHING),
        ]
        out.append(table_of(f"{family.name}: aims", aims, columns, lambda a: "missed" if status(a) == "missed" else ""))
    return [*out, Text(count_words(results))]


def closing(results: Results) -> list:
    """The end of the terminal output: recommendations, aims, failures."""
    if results.busy:
        return [Bullets([("", results.busy, "fail")])]
    items = [(f"{a.use} {a.job}", a.because, "") for a in advice(results)]
    items.append(("", count_words(results), ""))
    for wanted, style in (("missed", "fail"), ("not measured", "")):
        items += [(wanted, aim_words(a), style) for a in results.aims if a.bound and status(a) == wanted]
    failed = failed_items(results)
    if failed:
        items.append((f"{len(failed)} of {len(results.rows)} rows FAILED", "see the list under Verdict.", "fail"))
    return [Bullets(items)]
