# SPDX-License-Identifier: MIT
"""All machines on one page: the archive and your own results."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from . import tables
from .blocks import Bullets, Chart, Section, Table, Text, fmt_time, texts, unique
from .charts import bar_of, bars
from .family import Family
from .input import load_results
from .page import render_html
from .program import ROOT, write_file
from .results_page import load_archive, machine, side_by_side
from .rows import Results
from .sized import Sized, ratio_panels

Machines = dict[str, Results]  # name in the legend -> results


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


def sized_chart(family: Sized, machines: Machines) -> Chart:
    """A line per machine: the default's time over libc's."""
    machines = {textwrap.fill(name, 40): results for name, results in machines.items()}  # for the legend
    # Below a tenth of a nanosecond a time is only measurement error.
    named = [
        (name, r, results.ratio(r))
        for name, results in machines.items()
        for r in results.of(family.name, "default")
        if r.ns and r.ns >= 0.1
    ]
    own = {name for name in machines if name.startswith("yours")}
    panels = ratio_panels(named, own, f"time over {family.libc}'s", (1,))
    caption = f"Time of {family.names} over that of {family.libc} on the same machine; below the dashed line: faster."
    return Chart(f"{family.name}: all machines", caption, panels)


def time_chart(family: Family, machines: Machines) -> Chart:
    """A panel per machine with its own scale: ours and the peers, in the first and the last important case."""
    panels = []
    for name, results in machines.items():
        here = []
        rows = [r for r in results.compared(family.name) if r.valid]
        default = any(r.kind == "default" for r in rows)
        rows = [r for r in rows if not default or r.kind != "ours" or results.is_baseline(r)]
        cases = [c for c in family.cases(results) if any(r.place == c for r in rows)]
        for place in unique([cases[0], cases[-1]]) if cases else []:
            for r in [r for r in rows if r.place == place]:
                bar = bar_of(r, lambda r: r.ns, lambda v: fmt_time(v) + " ns")
                role = "ours" if r.kind == "default" or not default and r.kind == "ours" else "peer"
                here.append({**bar, "role": role, "case": family.case_words(*place)})
        values = [b["value"] for b in here if b["value"]]
        wide = bool(values) and max(values) / min(values) > 50
        panels.append(bars(here, "ns per operation" + (", log scale" if wide else ""), wide, title=name))
    caption = "Time of an operation; blue is Holdfast's default. Each machine has its own scale."
    return Chart(f"{family.name}: all machines", caption, panels)


def build(machines: Machines) -> list:
    names = ("class", "kernel", "compiler", "commit", "date")
    rows = [([name, *(machine(results, key) for key in names)], "") for name, results in machines.items()]
    blocks: list = [
        Section("Machines"),
        Table("Machines", texts("machine", *names), rows),
        Text(
            "Each machine was measured at another time, with its own clock and memory. Both times of a ratio are from one"
            " run: compare ratios between machines, and times only if they differ by far.",
            "note",
        ),
        Bullets([("Send in yours", "docs/results/README.md says how.", "")]),
    ]
    short = [(name.split(",")[0], results) for name, results in machines.items()]
    for family in [f for f in tables.FAMILIES if any(r.of(f.name) for r in machines.values())]:
        chart = sized_chart(family, machines) if isinstance(family, Sized) else time_chart(family, machines)
        shown = ([chart] if chart.panels else []) + side_by_side(family, short)
        about = [Text(family.about, "note")] if family.about else []
        blocks += [Section(family.name), *about, *shown] if shown else []
    return blocks


def run(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", type=Path, nargs="*", default=[], help="this machine's results; missing files are ignored")
    parser.add_argument("--html", type=Path, required=True, help="the page")
    args = parser.parse_args(argv)
    own = [load_results(str(path)) for path in args.own if path.exists()]
    machines = machines_of(load_archive(ROOT / "docs" / "results"), own)
    lead = f"The results of {len(machines)} machines"
    write_file(args.html, render_html(build(machines), "Holdfast on all machines", lead))
    print(f"The page is {args.html}")
