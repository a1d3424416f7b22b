# SPDX-License-Identifier: MIT
"""The archive -> docs/results.md, all machines side by side, and README's one small table."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from . import tables
from .charts import svg_file
from .family import Comparison
from .input import ARCHIVED, load_results
from .rows import InputError, Results, Row

ROOT = Path(__file__).resolve().parents[3]
BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"
HEAD = """# Measured results

Made by `make readme` from the raw results in [results/](results); not written by hand. What the fields mean, and how to
send in those of your machine: [results/README.md](results/README.md).

Times are wall time over all threads' operations. Fairness, in parentheses, is the operations of the thread that had
fewest over those of the thread that had most. Each machine was measured alone, at another time, with its own clock and
memory: compare the lines within a machine first, and machines only where they differ by far.
"""


def load_archive(folder: Path) -> list[tuple[str, Results]]:
    """name -> results, in the names' order."""
    paths = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")], key=lambda p: p.name)
    if not paths:
        raise InputError(f"{folder} holds no results (*.json, *.json.gz): put one there, see its README.md")
    return [(p.name, load_results(str(p), ARCHIVED)) for p in paths]


def machine(results: Results, key: str) -> str:
    return str(results.machine.get(key, "not known"))


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def columns(first: str, others: list[str]) -> list[str]:
    return [line([first, *others]), "| --- |" + " ---: |" * len(others)]


def machines_table(archive: list[tuple[str, Results]]) -> list[str]:
    out = columns("machine", ["processors", "kernel", "compiler", "Holdfast", "date", "raw results"])
    for n, (name, results) in enumerate(archive):
        cells = [f"{letter(n)}: {machine(results, 'cpu')}"]
        cells += [machine(results, key) for key in ("cpus", "kernel", "compiler")]
        out.append(line([*cells, results.version, machine(results, "date"), f"[raw](results/{name})"]))
    return out


def letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else f"M{n + 1}"


def side_by_side(shares: list[tuple[str, Comparison]]) -> list[str]:
    """shares: each machine's letter, and its share of one table."""
    heads = [f"{who}: {column}" for who, share in shares for column in share.columns]
    out = columns("", heads)
    names = list(dict.fromkeys(name for _, share in shares for name in share.lines))
    for name in names:
        cells = []
        for _, share in shares:
            cells += share.lines.get(name) or ["-"] * len(share.columns)
        if any(cell != "-" for cell in cells):
            out.append(line([name, *cells]))
    return out


def charts_of(archive: list[tuple[str, Results]]) -> dict:
    """The charts of the newest machine's cards: table -> card."""
    from .cards import cards  # which takes its rows by measured_row()

    return {card.table: card for card in cards(newest(archive))}


def newest_name(archive: list[tuple[str, Results]]) -> str:
    return f"machine {next(letter(n) for n, (_, r) in enumerate(archive) if r is newest(archive))}"


def results_page(archive: list[tuple[str, Results]]) -> str:
    parts = [HEAD, "\n".join(machines_table(archive)), ""]
    pictures = charts_of(archive)
    for family in tables.known().values():
        shares: dict[str, list[tuple[str, Comparison]]] = {}
        for n, (_, results) in enumerate(archive):
            for share in family.compared(results):
                shares.setdefault(share.title, []).append((letter(n), share))
        for title, beside in shares.items():
            picture = pictures.pop(family.name, None)  # one a primitive
            parts += [f"## {title}", ""]
            parts += [f"![{picture.title}, {newest_name(archive)}](charts/{family.name}.svg)", ""] if picture else []
            parts += ["\n".join(side_by_side(beside)), ""]
    return "\n".join(parts)


def newest(archive: list[tuple[str, Results]]) -> Results:
    """README shows one machine: the one that was measured last."""
    latest = max(machine(results, "date") for _, results in archive)
    return next(results for _, results in archive if machine(results, "date") == latest)


# README's two tables: what, the lab's table, case and threads (0: as many as there are processors; -8: eight times that).
LOCKS = (
    ("lock, add, unlock", "mutex", "alone", 1),
    ("2 threads, empty sections", "mutex", "contended", 0),
    ("2 threads, 0.2 µs inside, 0.2 µs outside", "mutex", "contended, 0.2/0.2 µs", 0),
    ("16 threads, 0.2 µs inside, 0.2 µs outside", "mutex", "oversubscribed, 0.2/0.2 µs", -8),
    ("16 threads, 2 µs inside, 2 µs outside", "mutex", "oversubscribed, 2/2 µs", -8),
    ("broadcast to 8 waiters", "cond", "broadcast to 8", None),
    ("queue, 4 producers, 4 consumers", "cond", "queue 4+4", None),
)
LOCK_PEERS = {
    "Holdfast": ("hf_mutex", "hf_cond"),
    "pthread": ("pthread_mutex", "pthread_cond"),
    "parking_lot": ("parking_lot", "parking_lot_condvar"),
    "absl": ("absl_mutex", "absl_cond_var"),
}
OTHERS = (
    ("take and drop a reference, 1 thread", "refcount", "inc+dec_and_test", 1, ("unchecked", "shared_ptr")),
    ("take and drop a reference, 2 threads", "refcount", "inc+dec_and_test", 0, ("unchecked", "shared_ptr")),
    ("`hf_clear_nofault()`, 64 B", "clear", "64 B", None, ("libc",)),
    ("`hf_clear_nofault()`, 16 KiB", "clear", "16 KiB", None, ("libc",)),
    ("`hf_copy_nofault()`, 64 B", "copy", "64 B", None, ("libc",)),
    ("`hf_copy_nofault()`, 16 KiB", "copy", "16 KiB", None, ("libc",)),
)
PLAIN = {"unchecked": "plain atomic", "shared_ptr": "`shared_ptr`"}


def measured_row(results: Results, table: str, case: str, threads: int | None, names: tuple[str, ...]) -> Row | None:
    """The row of one of these names; threads as in LOCKS, None: whatever the case has."""
    cpus = results.cpus or 1
    count = cpus if threads == 0 else -threads * cpus if threads and threads < 0 else threads
    rows = [r for r in results.of(table, "ours", "default", "peer") if r.case == case]
    rows = [r for r in rows if count is None or r.threads == count]
    return next((r for r in rows if r.kind == "default" and "default" in names or r.name in names), None)


def lock_cell(row: Row | None) -> str:
    """Time; fairness in slices of 100 ms; the longest wait."""
    if row is None or not row.valid:
        return "-" if row is None else row.status
    fairness = row.more.get("fairness_100ms", row.fairness) if row.threads > 1 else None
    longest = row.more.get("wait_max_ns") if row.threads > 1 else None
    words = [f"{row.ns:,.0f} ns" if row.ns >= 100 else f"{row.ns:.1f} ns"]
    words += [f"{fairness:.2f}"] if fairness is not None else []
    words += [f"{longest / 1e6:.{1 if longest >= 1e5 else 2}f} ms"] if longest else []
    return ", ".join(words)


def plain_cell(row: Row | None) -> str:
    if row is None or not row.valid:
        return "-" if row is None else row.status
    bytes_of = re.fullmatch(r"(\d+) (B|KiB)", row.case)
    if not bytes_of:
        return f"{row.ns:.1f} ns"
    return f"{int(bytes_of[1]) * (1024 if bytes_of[2] == 'KiB' else 1) / row.ns:.0f} GB/s"


def readme_table(archive: list[tuple[str, Results]]) -> str:
    results = newest(archive)
    out = columns("time, fairness (1 is even), longest wait", list(LOCK_PEERS))
    for words, table, case, threads in LOCKS:
        cells = [lock_cell(measured_row(results, table, case, threads, names)) for names in LOCK_PEERS.values()]
        out.append(line([words, *cells]))
    out += ["", *columns("", ["Holdfast", "beside"])]
    for words, table, case, threads, peers in OTHERS:
        beside = [(PLAIN.get(p, "libc"), measured_row(results, table, case, threads, (p,))) for p in peers]
        cells = [f"{name}: {plain_cell(row)}" for name, row in beside]
        out.append(line([words, plain_cell(measured_row(results, table, case, threads, ("default",))), "; ".join(cells)]))
    out += [
        "",
        f"{machine(results, 'cpu')}, {machine(results, 'cpus')} processors, {machine(results, 'compiler')},"
        f" {machine(results, 'date')}. All variants, peers and machines: [docs/results.md](docs/results.md).",
    ]
    return "\n".join(out)


def spliced(text: str, table: str, where: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{where} has no {BEGIN} and {END}: put the two lines where its table belongs")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write(root: Path) -> None:
    archive = load_archive(root / "docs" / "results")
    readme = root / "README.md"
    text = spliced(readme.read_text(encoding="utf-8"), readme_table(archive), str(readme))
    folder = root / "docs" / "charts"
    folder.mkdir(exist_ok=True)
    page = results_page(archive)
    for name, card in charts_of(archive).items():
        if f"(charts/{name}.svg)" not in page:
            continue
        (folder / f"{name}.svg").write_text(svg_file(card.panel), encoding="utf-8")
    (root / "docs" / "results.md").write_text(page, encoding="utf-8")
    readme.write_text(text, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="results_page.py", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="of the repository (default: this one)")
    args = parser.parse_args(argv)
    try:
        write(args.root)
    except (InputError, OSError) as e:
        print(f"results_page.py: {e}", file=sys.stderr)
        return 2
    return 0
