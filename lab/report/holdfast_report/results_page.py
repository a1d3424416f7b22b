# SPDX-License-Identifier: MIT
"""The archive -> docs/results.md, all machines side by side, and README's one small table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import tables
from .family import Comparison
from .input import ARCHIVED, load_results
from .rows import InputError, Results

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
        out.append(line([*cells, results.version, machine(results, "date"), f"[{name}](results/{name})"]))
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


def results_page(archive: list[tuple[str, Results]]) -> str:
    parts = [HEAD, "\n".join(machines_table(archive)), ""]
    for family in tables.known().values():
        shares: dict[str, list[tuple[str, Comparison]]] = {}
        for n, (_, results) in enumerate(archive):
            for share in family.compared(results):
                shares.setdefault(share.title, []).append((letter(n), share))
        for title, beside in shares.items():
            parts += [f"## {title}", "", "\n".join(side_by_side(beside)), ""]
    return "\n".join(parts)


def newest(archive: list[tuple[str, Results]]) -> Results:
    """README shows one machine: the one that was measured last."""
    latest = max(machine(results, "date") for _, results in archive)
    return next(results for _, results in archive if machine(results, "date") == latest)


def readme_table(archive: list[tuple[str, Results]]) -> str:
    results = newest(archive)
    out = columns("one operation (fairness)", ["Holdfast", "the fastest peer"])
    for family in tables.known().values():
        out += [line(list(cells)) for cells in family.headline(results)]
    out += [
        "",
        f"{machine(results, 'cpu')}, {machine(results, 'cpus')} processors, {machine(results, 'compiler')},"
        f" {machine(results, 'date')}; all variants and machines: [docs/results.md](docs/results.md).",
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
    (root / "docs" / "results.md").write_text(results_page(archive), encoding="utf-8")
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
