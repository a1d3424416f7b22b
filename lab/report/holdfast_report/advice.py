# SPDX-License-Identifier: MIT
"""What to use on this machine, in plain words, and how sure that is."""

from __future__ import annotations

from . import aims, tables
from .blocks import Bullets, fmt_percent, fmt_threads
from .family import Advice
from .rows import Results
from .verdict import gap


def advice(results: Results) -> list[Advice]:
    return [a for a in (family.advice(results) for family in tables.of(results)) if a is not None]


def advice_items(results: Results) -> list[tuple[str, str, str]]:
    return [(f"{a.use} {a.job}", "\n".join([a.because, *a.figures]), "use") for a in advice(results)]


def same_code(results: Results) -> list[tuple[str, float, str]]:
    """For each table: by how much two measurements of the same code differ at most, and where."""
    out = []
    for family in tables.of(results):
        rows = results.of(family.name)
        gaps = []
        for default in [r for r in rows if r.kind == "default" and r.valid and r.ns]:
            for other in rows:
                twin = family.is_implementation(other, default.implements)
                here = (other.case, other.threads) == (default.case, default.threads)
                if here and twin and other.valid and other.ns:
                    gaps.append((gap(default, other), f"{other.name}, {family.case_words(other.case, other.threads)}"))
        gaps += [(r.gap, f"{r.name}, {family.case_words(r.case, r.threads)}") for r in rows if r.gap is not None]
        if gaps:
            out.append((family.name, *max(gaps)))
    return out


def certainty_items(results: Results) -> list[tuple[str, str, str]]:
    words = []
    twins = same_code(results)
    if twins:
        parts = [f"{name} {fmt_percent(most).lstrip('+')} ({where})" for name, most, where in twins]
        words.append(
            (
                "the same code under two names",
                "where the default was measured twice, or beside its own implementation, the two differ by at most: "
                + "; ".join(parts)
                + ". Differences below this are noise.",
            )
        )
    spreads = sorted(r.spread for r in results.rows if r.spread is not None and r.valid)
    if spreads:
        half, most = spreads[len(spreads) // 2], spreads[len(spreads) * 9 // 10]
        words.append(
            (
                "spread",
                f"half of the rows have at most {fmt_percent(half).lstrip('+')} (inter-quartile range over median),"
                f" nine in ten at most {fmt_percent(most).lstrip('+')}.",
            )
        )
    few = sum(1 for r in results.rows if r.valid and r.rounds is not None and r.rounds < 3)
    if few:
        words.append(("few rounds", f"{few} of {len(results.rows)} rows were measured less than 3 times: no spread."))
    words.append(("", aims.count_words(results)))
    none = [r for r in results.rows if r.checked and r.ns is None]
    if none:
        names = [f"{r.table} / {r.variant} / {r.case}, {fmt_threads(r.threads)}" for r in none]
        words.append(("no figure", f"{len(none)} of {len(results.rows)} rows: " + "; ".join(names) + "."))
    items = [(lead, text, "") for lead, text in words]
    items += [("", limit, "") for limit in results.limits]
    for peer in results.missing_peers:
        package = peer.get("package")
        text = "not found when the lab was built, so not in the tables"
        items.append((peer["peer"], text + (f"; its package is {package}." if package else "."), ""))
    return items


def failed_items(results: Results) -> list[tuple[str, str, str]]:
    return [
        (f"{r.table} / {r.variant}", f"{r.case}, {fmt_threads(r.threads)}: {r.why or 'the count was wrong'}.", "fail")
        for r in results.rows
        if r.failed
    ]


def closing(results: Results) -> list:
    """The last words of the terminal: what to use, the aims, what failed."""
    items = [(f"{a.use} {a.job}", a.because, "") for a in advice(results)]
    items.append(("", aims.count_words(results), ""))
    items += [("missed", aims.words(a), "fail") for a in aims.with_status(results, "missed")]
    items += [("not measured", aims.words(a), "") for a in aims.with_status(results, "not measured")]
    failed = failed_items(results)
    if failed:
        items.append((f"{len(failed)} of {len(results.rows)} rows FAILED", "see the list under Verdict.", "fail"))
    return [Bullets(items)]
