# SPDX-License-Identifier: MIT
"""All machines on one page: the archive, and this machine's own results over it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import tables
from .blocks import Bullets, Chart, Column, Section, Table, Text, fmt_time, unique
from .charts import bar_of, bars, lines
from .family import Family
from .input import ARCHIVED, load_results
from .results_page import ROOT, load_archive, machine
from .rows import InputError, Results, Row
from .sized import Sized, size_of, way_of

Machines = dict[str, Results]  # what stands in the legend -> its results


def name_of(results: Results) -> str:
    return f"{machine(results, 'cpu')}, {machine(results, 'cpus')} CPUs, {machine(results, 'date')}"


def machines_of(archive: list[tuple[str, Results]], own: list[Results]) -> Machines:
    out: Machines = {}
    for file, results in archive:
        name = name_of(results)
        out[f"{name} ({file})" if name in out else name] = results
    for n, results in enumerate(own):
        out[f"yours{f' ({n + 1})' if n else ''}: {name_of(results)}"] = results
    return out


def own_of(machines: Machines) -> set[str]:
    return {name for name in machines if name.startswith("yours")}


def judged_rows(family: Family, results: Results) -> list[Row]:
    """What a caller gets who chooses nothing; ours, where nothing has to be chosen."""
    rows = results.of(family.name, "default") or results.of(family.name, "ours")
    # Below a tenth of a nanosecond it is what the timestamps left over.
    return [r for r in rows if results.ratio(r) and r.ns >= 0.1 and not results.is_baseline(r)]


def sized_chart(family: Sized, machines: Machines) -> Chart | None:
    points: dict[str, list[dict]] = {}
    for name, results in machines.items():
        for r in sorted(judged_rows(family, results), key=size_of):
            points.setdefault(way_of(r.case), []).append({"name": name, "x": size_of(r), "y": results.ratio(r)})
    panels = [
        lines(some, "bytes", f"time over {family.libc}'s", own_of(machines), way, log=True, rules=(1,))
        for way, some in points.items()
    ]
    caption = f"Time of {family.verbs} over that of {family.libc} on the same machine; below the dashed line: faster."
    return Chart(f"{family.name}-machines", f"{family.name}: all machines", caption, panels) if panels else None


def time_chart(family: Family, machines: Machines) -> Chart | None:
    """A panel per machine, each with its own scale: ours beside the peers, alone and with as many threads as fit."""
    panels = []
    for name, results in machines.items():
        bars_here = []
        rows = [r for r in results.of(family.name, "default", "ours", "peer") if r.valid]
        default = any(r.kind == "default" for r in rows)
        rows = [r for r in rows if not default or r.kind != "ours" or results.is_baseline(r)]
        cases = [c for c in family.cases(results) if any((r.case, r.threads) == c for r in rows)]
        for case, threads in unique([cases[0], cases[-1]]) if cases else []:
            here = [r for r in rows if (r.case, r.threads) == (case, threads)]
            for r in here:
                bar = bar_of(r, lambda r: r.ns, lambda v: fmt_time(v) + " ns")
                role = "ours" if r.kind == "default" or not default and r.kind == "ours" else "peer"
                bars_here.append({**bar, "role": role, "case": family.case_words(case, threads)})
        if bars_here:
            values = [b["value"] for b in bars_here if b["value"]]
            wide = bool(values) and max(values) / min(values) > 50
            panels.append(bars(bars_here, "ns per operation" + (", log scale" if wide else ""), wide, title=name))
    caption = "Time of an operation; blue is Holdfast's default. Each machine has its own scale."
    return Chart(f"{family.name}-machines", f"{family.name}: all machines", caption, panels) if panels else None


def machines_table(machines: Machines) -> Table:
    names = ("class", "kernel", "compiler", "commit", "date")
    rows = [([name, *(machine(results, key) for key in names)], "") for name, results in machines.items()]
    return Table("Machines", [Column(n, "", False) for n in ("machine", *names)], rows)


def beside(family: Family, machines: Machines) -> list[Table]:
    """The tables of docs/results.md: a line per variant, with each machine's columns."""
    shares: dict[str, list[tuple[str, object]]] = {}
    for name, results in machines.items():
        for share in family.compared(results):
            shares.setdefault(share.title, []).append((name.split(",")[0], share))
    out = []
    for title, parts in shares.items():
        columns = [Column("", "", False)] + [Column(c, who) for who, share in parts for c in share.columns]
        lines = []
        for name in unique([name for _, share in parts for name in share.lines]):
            cells = [c for _, share in parts for c in share.lines.get(name) or ["-"] * len(share.columns)]
            lines.append(([name, *cells], ""))
        out.append(Table(title, columns, lines))
    return out


def build(machines: Machines) -> list:
    blocks: list = [
        Section("Machines"),
        machines_table(machines),
        Text(
            "Each machine was measured alone, at another time, with its own clock and memory. A ratio has both of its"
            " times from one run on one machine: compare ratios between machines, and times only where they differ by"
            " far.",
            "note",
        ),
        Bullets([("Send in yours", "docs/results/README.md says how.", "")]),
    ]
    families = [f for f in tables.known().values() if any(r.of(f.name) for r in machines.values())]
    for family in families:
        chart = sized_chart(family, machines) if isinstance(family, Sized) else time_chart(family, machines)
        blocks += [Section(family.name)] + ([Text(family.about, "note")] if family.about else [])
        blocks += [chart] if chart else []
        blocks += beside(family, machines)
    return blocks


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="machines.py", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="of the repository (default: this one)")
    parser.add_argument("--own", type=Path, nargs="*", default=[], help="this machine's results, if they are there")
    parser.add_argument("--html", type=Path, required=True, help="the page")
    args = parser.parse_args(argv)
    try:
        from .page import render_html

        own = [load_results(str(path), ARCHIVED) for path in args.own if path.exists()]
        machines = machines_of(load_archive(args.root / "docs" / "results"), own)
        lead = f"{len(machines)} machines' results, one over the other"
        page = render_html(build(machines), "Holdfast on all machines", lead)
        args.html.parent.mkdir(parents=True, exist_ok=True)
        args.html.write_text(page, encoding="utf-8")
    except (InputError, OSError) as e:
        print(f"machines.py: {e}", file=sys.stderr)
        return 2
    print(f"The page is {args.html}")
    return 0
