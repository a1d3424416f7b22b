# SPDX-License-Identifier: MIT
"""The archive -> docs/results.md (all machines side by side), its charts, and README's table."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from statistics import geometric_mean

from . import cards, code_age, tables
from .blocks import Column, Table, cell_of, text, unique
from .charts import svg_file
from .family import Family
from .input import load_results
from .noise import range_of
from .program import ROOT, write_file
from .rows import InputError, Results, Row

BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"
HEAD = """# Measured results

`make readme` generates this page from the raw results in [results/](results). [results/README.md](results/README.md) explains
the fields, and how to send in your own results.

Times are wall time / operations of all threads. Fairness, in parentheses, is the fewest operations of a thread / the most
operations of a thread: 1 is even, 0 means that a thread did nothing. The longest wait is that of the thread that waited longest
for the lock in a run; the median over the runs. Each machine was measured at another time, with its own clock and memory:
compare rows of one machine first, and machines only if they differ by far.
"""
OLDER = """
\\* in a table: Holdfast's figures there were measured before the code of that table last changed, comments apart, and may be
stale; those of its peers are not. `make readme` finds it by git. At a machine: in some table. `git log COMMIT..` lists the
changes.
"""
Stale = set[tuple[str, str]]  # file of results, the lab's table


def load_archive(folder: Path) -> list[tuple[str, Results]]:
    """name -> results, in the names' order."""
    paths = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")], key=lambda p: p.name)
    if not paths:
        raise InputError(f"{folder} holds no results (*.json, *.json.gz): put one there, see its README.md")
    return [(p.name, load_results(str(p))) for p in paths]


def machine(results: Results, key: str) -> str:
    return str(results.machine.get(key, "not known"))


def letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else f"M{n + 1}"


def short(results: Results) -> str:
    """'AMD EPYC, family 25 model 1' -> 'AMD EPYC 25/1'"""
    name = re.sub(r"\(R\)| Processor", "", machine(results, "cpu"))
    return re.sub(r", family (\d+) model (\d+)", r" \1/\2", name)


def side_by_side(family: Family, machines: list[tuple[str, Results]]) -> list[Table]:
    """A line per variant, with each machine's columns; machines: name and results."""
    shares: dict[str, list] = {}
    for who, results in machines:
        for share in family.compared(results):
            shares.setdefault(share.title, []).append((who, share))
    out = []
    for title, parts in shares.items():
        columns = [text("")] + [Column(c.name, who) for who, share in parts for c in share.columns[1:]]
        by_name = [({cells[0]: cells[1:] for cells, _ in share.rows}, share.columns[1:]) for _, share in parts]
        lines = []
        for name in unique([name for there, _ in by_name for name in there]):
            cells = [c for there, heads in by_name for c in there.get(name) or ["-"] * len(heads)]
            if set(cells) != {"-"}:
                lines.append(([name, *cells], ""))
        ratios = [(ratio, f"{who}, {where}") for who, share in parts for ratio, where in share.ratios]
        out.append(Table(title, columns, lines, ratios))
    return out


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    out = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (heads, *lines)]
    out.insert(1, "| --- |" + " ---: |" * (len(heads) - 1))
    return "\n".join(out)


def machines_table(archive: list[tuple[str, Results]], stale: Stale) -> str:
    lines = []
    for n, (name, results) in enumerate(archive):
        star = "*" if any(file == name for file, _ in stale) else ""
        cells = [f"{letter(n)}{star}: {machine(results, 'cpu')}"]
        cells += [machine(results, key) for key in ("cpus", "kernel", "compiler")]
        lines.append([*cells, machine(results, "commit"), machine(results, "date"), f"[raw](results/{name})"])
    table = markdown(["machine", "processors", "kernel", "compiler", "commit", "date", "raw results"], lines)
    return table + ("\n" + OLDER.rstrip() if "*:" in table else "")


SHORT = """## In short

Holdfast's time over that of the best peer that does not only spin, in each column of the tables below: less than 1 is faster. A
range is of two measurements of ours in the same run that differ by more than a tenth.
"""


def span(ends: list[float]) -> str:
    """'0.48', or '0.48 to 0.61' of two measurements that differ."""
    return " to ".join(unique([f"{end:.2f}" for end in ends]))


def in_short(shown: list[Table]) -> str:
    """A line for each table: the ratios to the best peers."""
    lines = []
    for table in [t for t in shown if t.ratios]:
        (least, where), (most, worst) = min(table.ratios), max(table.ratios, key=lambda one: one[0][-1])
        low, high = (geometric_mean([ends[n] for ends, _ in table.ratios]) for n in (0, -1))
        words = re.sub(r"( \([^()]*\)$|, ns.*)", "", table.title)
        lines.append([words, span([low, high]), f"{span(least)}: {where}", f"{span(most)}: {worst}"])
    return SHORT + "\n" + markdown(["table", "mean", "least", "most"], lines) + "\n" if lines else ""


def newest(archive: list[tuple[str, Results]]) -> int:
    """The machine in README and the charts: the one that was measured last."""
    dates = [machine(results, "date") for _, results in archive]
    return max(range(len(dates)), key=lambda n: (dates[n], n))


def pages(archive: list[tuple[str, Results]], stale: Stale) -> tuple[str, dict[str, dict]]:
    """docs/results.md, and its charts: the newest machine's cards."""
    latest = newest(archive)
    pictures = {card.table: card for card in cards.cards(archive[latest][1])}
    parts, shown, compared = [], {}, []
    for family in tables.FAMILIES:
        stars = ["*" if (name, family.name) in stale else "" for name, _ in archive]
        named = [(letter(n) + stars[n], results) for n, (_, results) in enumerate(archive)]
        for table in side_by_side(family, named):
            parts += [f"## {table.title}", ""]
            compared.append(table)
            here = {c.unit for c in table.columns}
            words = "; ".join(f"{name}: {short(results)}" for name, results in named if name in here) + "."
            if picture := pictures.pop(family.name, None):
                shown[family.name] = picture.panel
                parts += [f"![{picture.title}, machine {letter(latest)}](charts/{family.name}.svg)", ""]
                words += f" The chart is of {letter(latest)}.{cards.MORE.get(family.name, '')}"
            parts += [words, ""]
            heads = [f"{c.unit}: {c.name}" if c.unit else c.name for c in table.columns]
            parts += [markdown(heads, [cells for cells, _ in table.rows]), ""]
    head = [HEAD, machines_table(archive, stale), "", in_short(compared)]
    return "\n".join([*head, *parts]), shown


# README's two tables: words, the lab's table, case and threads (as in cards.py).
LOCKS = (
    ("lock, add, unlock", "mutex", "alone", 1),
    ("2 threads, empty sections", "mutex", "contended", 0),
    ("16 threads, 0.2 µs inside, 0.2 µs outside", "mutex", "oversubscribed, 0.2/0.2 µs", -8),
    ("16 threads, 2 µs inside, 2 µs outside", "mutex", "oversubscribed, 2/2 µs", -8),
    ("broadcast to 8 waiters", "cond", "broadcast to 8", None),
    ("queue, 4 producers, 4 consumers", "cond", "queue 4+4", None),
    ("2 threads, read locks", "rwlock", "contended, no write", 0),
    ("2 threads, a write lock in 100", "rwlock", "contended, a write in 100", 0),
)
OURS = ("hf_rwlock", "hf_mutex", "hf_cond")
STANDARD = ("pthread_rwlock", "pthread_mutex", "pthread_cond")
BESIDE = ("plain atomic, libc", "`shared_ptr`")
OTHERS = (
    ("take and drop a reference, 1 thread", "refcount", "inc+dec_and_test", 1, "unchecked", "shared_ptr"),
    ("take and drop a reference, 2 threads", "refcount", "inc+dec_and_test", 0, "unchecked", "shared_ptr"),
    ("`hf_clear_nofault()`, 64 B", "clear", "64 B", None, "libc", ""),
    ("`hf_clear_nofault()`, 16 KiB", "clear", "16 KiB", None, "libc", ""),
    ("`hf_copy_nofault()`, 64 B", "copy", "64 B", None, "libc", ""),
    ("`hf_copy_nofault()`, 16 KiB", "copy", "16 KiB", None, "libc", ""),
)
JUDGED = {"mutex": ("mutex",), "condition variable": ("cond",), "reader-writer": ("rwlock",), "clear, copy": ("clear", "copy")}


def time_words(row: Row) -> str:
    return f"{row.ns:,.0f} ns" if row.ns >= 100 else f"{row.ns:.1f} ns"


def plain_words(row: Row) -> str:
    bytes_of = re.fullmatch(r"(\d+) (B|KiB)", row.case)
    if not bytes_of:
        return f"{row.ns:.1f} ns"
    return f"{int(bytes_of[1]) * (1024 if bytes_of[2] == 'KiB' else 1) / row.ns:.0f} GB/s"


def worst(archive: list[Results], names: tuple[str, ...]) -> str:
    """The case in which ours takes most time beside the best peer that parks; a range if two measurements of ours differ."""
    found = []
    for results, row in [(results, row) for results in archive for name in names for row in results.of(name, "default", "ours")]:
        rows = [r for r in results.of(row.table, "peer") if r.place == row.place and r.parks and r.valid and r.ns]
        if tables.family(row.table).is_default(row) and row.valid and row.ns and rows:
            best = min(rows, key=lambda r: r.cost)
            ratios = range_of(results, row, lambda r, best=best: r.cost / best.cost)
            found.append((ratios, row, best.name, re.sub(r"\(R\)| Processor", "", machine(results, "cpu"))))
    if not found:
        return "-"
    ratios, row, best, cpu = max(found, key=lambda one: one[0])
    where = row.case + (f", {row.threads} threads" if row.threads > 1 and "4+4" not in row.case else "")
    more = ("" if ratios[0] > 1 else "nowhere: ") + " to ".join(f"{(ratio - 1) * 100:+.0f}" for ratio in ratios) + " %"
    return f"{more} ({row.table if len(names) > 1 else ''} {where}; {best}; {cpu})".replace("( ", "(")


def where_it_loses(archive: list[tuple[str, Results]]) -> str:
    """The worst case of all machines; of several results of a machine the newest counts."""
    latest = {(machine(r, "cpu"), machine(r, "cpus")): r for _, r in sorted(archive, key=lambda one: machine(one[1], "date"))}
    cases = [f"{name} {worst(list(latest.values()), tables_of)}" for name, tables_of in JUDGED.items()]
    return "Where Holdfast takes most beside the best peer that parks, or libc ([why](docs/design/0014-mutex.md)):\n" + ";\n".join(
        cases) + "."


def readme_table(archive: list[tuple[str, Results]]) -> str:
    results = archive[newest(archive)][1]

    def cell(words, table: str, case: str, threads: int | None, *names: str) -> str:
        return cell_of(cards.measured_row(results, table, case, threads, names), words)

    locks, others = [], []
    for words, *where in LOCKS:
        best = cards.best_peer(cards.rows_of(results, *where))
        beside = [time_words(best[1]), best[0]] if best else ["-", "-"]
        locks.append([words, cell(time_words, *where, *OURS), cell(time_words, *where, *STANDARD), *beside])
    for words, *where, first, second in OTHERS:
        others.append([words, *(cell(plain_words, *where, name) if name else "" for name in ("default", first, second))])
    last = (
        f"{machine(results, 'cpu')}, {machine(results, 'cpus')} processors, {machine(results, 'compiler')},"
        f" {machine(results, 'date')}. Fairness, longest waits, all variants, peers and machines:"
        " [docs/results.md](docs/results.md)."
    )
    first = markdown(["", "Holdfast", "pthread", "best peer that parks", "which"], locks)
    second = markdown(["", "Holdfast", *BESIDE], others)
    return "\n".join([first, "", second, "", last, "", where_it_loses(archive)])


def spliced(text: str, table: str, where: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{where} has no {BEGIN} and {END}: put the two lines where its table belongs")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def run(argv: list[str] | None, root: Path = ROOT) -> None:
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    archive = load_archive(root / "docs" / "results")
    readme = root / "README.md"
    changed = spliced(readme.read_text(encoding="utf-8"), readme_table(archive), str(readme))
    commits = {name: machine(results, "commit") for name, results in archive}
    page, charts = pages(archive, code_age.older(root, commits, [f.name for f in tables.FAMILIES]))
    for name, panel in charts.items():
        write_file(root / "docs" / "charts" / f"{name}.svg", svg_file(panel))
    write_file(root / "docs" / "results.md", page)
    write_file(readme, changed)
