# SPDX-License-Identifier: MIT
"""All machines on one page: the archive, and this machine's own results over it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import tables
from .blocks import Bullets, Chart, Column, Section, Table, Text, fmt_threads, unique
from .charts import MARKERS, NARROW, SHAPES, WIDE, few, plain_log, row_of_panels, shared_legend
from .family import Family
from .input import ARCHIVED, load_results
from .results_page import ROOT, load_archive, machine
from .rows import InputError, Results, Row
from .sized import Sized, size_of, size_words, way_of

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


def judged_rows(family: Family, results: Results) -> list[Row]:
    """What a caller gets who chooses nothing; ours, where nothing has to be chosen."""
    rows = results.of(family.name, "default") or results.of(family.name, "ours")
    # Below a tenth of a nanosecond it is what the timestamps left over.
    return [r for r in rows if results.ratio(r) and r.ns >= 0.1 and not results.is_baseline(r)]


def styles_of(machines: Machines) -> dict[str, dict]:
    return {
        name: {"color": MARKERS[f"s{n % 8}"], "marker": SHAPES[n % len(SHAPES)], "markersize": 4.5}
        for n, name in enumerate(machines)
    }


def legend_room(machines: Machines) -> float:
    return 0.2 * len(machines) + 0.1


def sized_chart(family: Sized, machines: Machines) -> Chart | None:
    rows = {name: judged_rows(family, results) for name, results in machines.items()}
    ways = unique([way_of(r.case) for mine in rows.values() for r in mine])
    styles = styles_of(machines)

    def draw(plt, narrow):
        figure, axes = row_of_panels(plt, len(ways), 3.3, legend_room(machines), narrow, sharey=True)
        values = [machines[name].ratio(r) for name, mine in rows.items() for r in mine]
        for axis, way in zip(axes, ways):
            for name, mine in rows.items():
                points = sorted((size_of(r), machines[name].ratio(r)) for r in mine if way_of(r.case) == way)
                if points:
                    style = {**styles[name], "markersize": 3}
                    axis.plot(*zip(*points), label=name, linewidth=1.3, **style)
            axis.axhline(1, color=MARKERS["ink"], linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            plain_log(axis.yaxis, min(values), max(values))
            sizes = sorted(unique([size_of(r) for mine in rows.values() for r in mine if way_of(r.case) == way]))
            ticks = [s for s in sizes if s in (1, 16, 256, 4096, 65536, 1 << 20, 64 << 20)] or few(sizes, 3)
            axis.set_xticks(ticks, [size_words(s) for s in ticks], fontsize=8)
            axis.minorticks_off()
            axis.set_title(way)
            axis.set_xlabel("size")
            axis.grid(True)
        for axis in axes if narrow else axes[:1]:
            axis.set_ylabel(f"time over {family.libc}'s")
        shared_legend(figure, axes, 1)
        return figure

    if not ways:
        return None
    caption = f"Time of {family.verbs} over that of {family.libc} on the same machine; below the dashed line: faster."
    return Chart(f"{family.name}-machines", f"{family.name}: all machines", caption, draw, legend=False)


def dots_chart(family: Family, machines: Machines) -> Chart | None:
    """A line per case, a mark per machine."""
    rows = {name: judged_rows(family, results) for name, results in machines.items()}
    lines: dict[tuple, None] = {}
    for mine in rows.values():
        several = len(unique([r.variant for r in mine])) > 1
        lines |= {(r.variant if several else "", r.case, r.threads): None for r in mine}
    order = list(lines)
    if not order:
        return None
    bases = unique([r.baseline for mine in rows.values() for r in mine])
    base = bases[0] if len(bases) == 1 else "the baseline"
    styles = styles_of(machines)

    def words(line: tuple) -> str:
        return ", ".join(part for part in (line[0], line[1], fmt_threads(line[2])) if part)

    def draw(plt, narrow):
        height = 0.75 + 0.2 * len(order) + legend_room(machines)
        size = (NARROW if narrow else WIDE, height)
        figure, axis = plt.subplots(figsize=size, layout="constrained")
        values = []
        for name, mine in rows.items():
            several = any(line[0] for line in order)
            points = [
                (machines[name].ratio(r), order.index((r.variant if several else "", r.case, r.threads))) for r in mine
            ]
            values += [v for v, _ in points]
            if points:
                axis.plot(*zip(*points), linestyle="", label=name, **styles[name])
        axis.axvline(1, color=MARKERS["ink"], linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
        axis.set_yticks(range(len(order)), [words(line) for line in order])
        axis.set_ylim(len(order) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.grid(axis="both")
        if max(values) / min(values) > 5:
            axis.set_xscale("log")
            plain_log(axis.xaxis, min(values), max(values))
        else:
            axis.set_xlim(0, max(*values, 1) * 1.1)
        axis.set_xlabel(f"time over that of {base}")
        shared_legend(figure, [axis], 1)
        return figure

    caption = f"Time of an operation over that of {base}, each on its own machine; left of the dashed line: faster."
    return Chart(f"{family.name}-machines", f"{family.name}: all machines", caption, draw, legend=False)


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
        chart = sized_chart(family, machines) if isinstance(family, Sized) else dots_chart(family, machines)
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
