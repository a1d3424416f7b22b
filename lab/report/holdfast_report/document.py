# SPDX-License-Identifier: MIT
"""Results -> the list of blocks that both outputs show."""

from __future__ import annotations

from . import advice, aims, tables
from .blocks import Bullets, Download, Section, Text
from .instructions import INSTRUCTIONS, instruction_tables
from .rows import Published, Results
from .sources import Sources
from .verdict import gap_words, regret_table, verdict_lines, verdicts


def reading_items(results: Results) -> list[tuple[str, str, str]]:
    rounds = f"the {results.rounds} rounds" if results.rounds else "the rounds"
    words = [
        ("ratio", "time of an operation over that of the named baseline in the same case; below 1 is faster."),
        ("ns/op", f"median over {rounds} of wall time / operations of all threads."),
        ("spread", "inter-quartile range over the rounds / median."),
        ("fairness", "operations of the thread that had fewest / of the thread that had most; 1 is even."),
        (
            "count check",
            "after each run the counter is compared with the operations done. FAILED: it was wrong, so the row's"
            " figures are shown, but take part in no comparison.",
        ),
        ("ours, peer", "implementations of Holdfast; those of other libraries, measured in the same loop."),
    ]
    if any(r.gap is not None for r in results.rows):
        words.append(("gap", "by how much two measurements of the same variant differ, made in the same rounds."))
    if any(r.starved for r in results.rows):
        words.append(("starved", "a window had no operation at all, though it was measured again; it is left out."))
    for family in tables.of(results):
        words += family.reading
    if (results.cpus or 1) > 4:
        words.append(("charts", "of many numbers of threads they show some; the tables have all."))
    return [(name, text, "") for name, text in words]


def machine_items(results: Results) -> list[tuple[str, str, str]]:
    first = ["cpu", "cpus", "kernel", "compiler", "governor", "date"]
    names = [n for n in first if n in results.machine] + [n for n in results.machine if n not in first]
    items = [("CPUs" if n == "cpus" else "CPU" if n == "cpu" else n, str(results.machine[n]), "") for n in names]
    units = {"window_ms": ("window", "ms"), "ns_per_tick": ("clock tick", "ns")}
    for key, value in results.settings.items():
        label, unit = units.get(key, (key, ""))
        own = key in ("window_ms", "rounds") and value == 0
        items.append((label, "each table's own" if own else f"{value} {unit}".strip(), ""))
    return items


def measured(results: Results) -> list:
    blocks: list = [Section("Machine"), Bullets(machine_items(results))]
    for family in tables.of(results):
        blocks += [Section(family.name), *family.measured(results), *family.measured_again(results)]
    failed = advice.failed_items(results)
    return blocks + ([Section("Failed rows"), Bullets(failed)] if failed else [])


def opening(results: Results) -> list:
    use = advice.advice_items(results)
    blocks: list = [Section("What to use on this machine")]
    blocks += [Bullets(use)] if use else [Text("The tables measured here compare nothing that one would choose from.")]
    blocks += [Section("How sure that is", 2)]
    items = advice.certainty_items(results)
    blocks += [Bullets(items)]
    if not results.limits and not results.missing_peers:
        blocks += [Text("The lab named no limit.")]
    return blocks


def verdict(results: Results) -> list:
    blocks: list = [Section("Verdict")]
    failed = advice.failed_items(results)
    if failed:
        blocks += [
            Text(f"{len(failed)} of {len(results.rows)} rows FAILED the check of the count:", "fail"),
            Bullets(failed),
        ]
    judged = [(family, verdicts(results, family)) for family in tables.of(results)]
    blocks += [regret_table([(family.name, cases) for family, cases in judged])]
    for family, cases in judged:
        blocks += [Section(f"{family.name}: verdict", 2), Text(f"{gap_words(results, family)} {family.summary(results, cases)}".strip())]
        items = [(v.name, "\n".join(verdict_lines(v)), "") for v in cases]
        blocks += [Bullets(items + family.wait_words(results))]
    note = (
        "Peers are measured as they are. They do not all promise what ours do: a plain shared count, for one, checks"
        " for no overflow, and so does less work."
    )
    return [*blocks, Text(note, "note")]


def build(results: Results, published: list[Published]) -> list:
    blocks = opening(results)
    blocks += [Section("Aims"), *aims.blocks(results)]
    blocks += [Section("Machine"), Bullets(machine_items(results))]
    blocks += [Download("results.json", "application/json", results.raw, "The raw results, for programs")]
    blocks += [Section("How to read the figures", 2), Bullets(reading_items(results))]
    blocks += verdict(results)

    for family in tables.of(results):
        blocks += [Section(family.name)]
        if family.about_words(results):
            blocks += [Text(family.about_words(results), "note")]
        blocks += family.charts(results)
        blocks += family.measured(results) + family.measured_again(results)

    blocks += [
        Section("instructions"),
        Text(
            "What one call executes, its return included, without contention. Not measured here: counted by an emulator"
            " of each processor (make instructions), and the same on every machine. x86's string instructions count"
            " as one.",
            "note",
        ),
        *instruction_tables(INSTRUCTIONS),
    ]

    sources = Sources()
    beside = []
    for family in tables.known().values():
        beside += family.published(results, published, sources)
    if beside:
        blocks += [Section("Published figures beside these"), *beside, Section("Sources", 2), sources.bullets()]
    return blocks
