# SPDX-License-Identifier: MIT
"""Results -> the list of blocks that the page shows."""

from __future__ import annotations

from . import tables
from .blocks import Bullets, Section, Text, unique
from .rows import Results
from .summary import aim_blocks, certainty_items, failed_items, same_code_tables


def reading_items(results: Results) -> list[tuple[str, str, str]]:
    rounds = f"the {results.rounds} rounds" if results.rounds else "the rounds"
    words = [
        ("ratio", "time of an operation over that of the named baseline in the same case; below 1 is faster."),
        ("ns/op", f"median over {rounds} of wall time / operations of all threads."),
        ("spread", "inter-quartile range over the rounds / median."),
        ("fairness", "fewest operations of a thread / most operations of a thread; 1 is even."),
        (
            "count check",
            "after each run the counter is compared with the number of operations. FAILED: it was wrong, so the row is"
            " shown but not compared.",
        ),
        ("ours, peer", "implementations of Holdfast; those of other libraries, measured in the same loop."),
    ]
    if any(r.gap is not None for r in results.rows):
        words.append(("gap", "difference from a second measurement (again) in the same rounds."))
    if any(r.levels for r in results.rows):
        words.append(("a or b", "the runs alternate between two levels; in parentheses the share of each."))
    if any(r.starved for r in results.rows):
        words.append(("starved", "a window had no operation even when repeated, and is left out."))
    return [(name, text, "") for name, text in words]


def machine_items(results: Results) -> list[tuple[str, str, str]]:
    first = [n for n in ("cpu", "cpus", "kernel", "compiler", "governor", "date") if n in results.machine]
    names = {"cpu": "CPU", "cpus": "CPUs"}
    items = [(names.get(n, n), str(results.machine[n])) for n in unique([*first, *results.machine])]
    units = {"window_ms": ("window", "ms"), "ns_per_tick": ("clock tick", "ns")}
    for key, value in results.settings.items():
        label, unit = units.get(key, (key, ""))
        own = key in ("window_ms", "rounds") and value == 0
        items.append((label, "each table's own" if own else f"{value} {unit}".strip()))
    return [(label, value, "") for label, value in items]


def checks(results: Results) -> list:
    """What failed, and that peers may promise less."""
    failed = failed_items(results)
    words = f"{len(failed)} of {len(results.rows)} rows FAILED the check of the count:"
    note = (
        "Peers are measured unchanged. Some guarantee less: a plain shared count, for example, does not check for overflow,"
        " and so does less work."
    )
    blocks: list = [Text(words, "fail"), Bullets(failed)] if failed else [Text("Every row passed the check of its count.")]
    return [*blocks, Text(note, "note")]


def build(results: Results) -> list:
    """Of a busy machine first that, and no verdicts."""
    blocks: list = [Text(results.busy, "fail")] if results.busy else []
    blocks += [Section("How sure that is"), *checks(results), Bullets(certainty_items(results)), *same_code_tables(results)]
    if not results.busy:
        blocks += [Section("Aims"), *aim_blocks(results)]
    blocks += [Section("Machine"), Bullets(machine_items(results))]
    blocks += [Section("How to read the figures", 2), Bullets(reading_items(results))]
    for family in tables.of(results):
        blocks += [Section(family.name)] + ([Text(family.about, "note")] if family.about else [])
        blocks += family.measured(results)
    return blocks
