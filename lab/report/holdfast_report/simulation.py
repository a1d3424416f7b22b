# SPDX-License-Identifier: MIT
"""The files of `hf-lab simulate --json` -> one page. All of it is simulated, and the page says so."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from .blocks import Chart, Column, Section, Table, Text, fmt, unique
from .charts import lines
from .rows import InputError

TITLE = "Holdfast: simulated, not measured"
BANNER = (
    "Simulated, not measured. The library's own headers ran on a model of many processors. Trust it for retries, for "
    "collapse or none, and for ratios between variants from 8 processors on, as a range over the classes a machine may "
    "have. Do not trust it for one or two threads, nor for whole system calls."
)
ALIKE = 1.02  # less is no lead
ROLES = {
    "calibration": "calibration: a parameter was fitted to it",
    "held out": "held out",
    "known miss": "known miss",
    "shown": "shown only",
}
FIELDS = {
    "rows": ("table", "variant", "class", "threads", "work_ns", "ns_per_op", "retries", "fairness"),
    "figures": ("group", "what", "unit", "role", "published", "simulated", "low", "high", "ok"),
}


def load(paths: list[str]) -> dict:
    """All files as one: machines, rows (each with its machine's title) and figures."""
    whole = {"machines": [], "rows": [], "figures": []}
    for path in paths:
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as e:
            raise InputError(f"cannot read {path} ({e.strerror})") from None
        except ValueError as e:
            raise InputError(f"{path} is no JSON: {e}") from None
        if not isinstance(data, dict) or data.get("simulated") is not True:
            raise InputError(f"{path} was not written by `hf-lab simulate --json`")
        for kind, fields in FIELDS.items():
            for one in data.get(kind, []):
                if missing := [f for f in fields if f not in one]:
                    raise InputError(f"{path}: one of its {kind} has no {missing[0]}")
        machines = data.get("machines", [])
        if data.get("rows") and not machines:
            raise InputError(f"{path}: its rows are of no machine")
        known = [m["title"] for m in whole["machines"]]
        whole["machines"] += [m for m in machines if m["title"] not in known]
        whole["rows"] += [{**row, "machine": machines[0]["title"]} for row in data.get("rows", [])]
        whole["figures"] += data.get("figures", [])
    return whole


# (1) Simulated against published


def percent(figure: dict) -> str:
    ratio = figure["simulated"] / figure["published"]
    return f"{ratio:.1f} times" if ratio >= 3 else f"{(ratio - 1) * 100:+.0f} %"


def figures_table(figures: list[dict]) -> Table:
    rows = []
    for f in figures:
        held = "" if f["role"] == "shown" else "ok" if f["ok"] else "OUTSIDE"
        cells = [f["group"], f["what"], f["unit"], ROLES[f["role"]], f"{f['published']:.4g}", f"{f['simulated']:.4g}"]
        style = "fail" if not f["ok"] else "peer" if f["role"] in ("known miss", "shown") else ""
        rows.append(([*cells, percent(f), held], style))
    columns = [Column(n, number=False) for n in ("machine", "figure", "unit", "role")]
    columns += [Column("published"), Column("simulated"), Column("error"), Column("tolerance", number=False)]
    return Table("Published against simulated", columns, rows)


def error_panel(figures: list[dict]) -> dict:
    """Simulated over published, a mark for each figure in the line of its group."""
    points = [{"name": ROLES[f["role"]], "x": f["group"], "y": f["simulated"] / f["published"]} for f in figures]
    return lines(points, "", "simulated / published", log=True, rules=(1 / 1.3, 1, 1.3), points=True)


def agreement(figures: list[dict]) -> list:
    held = [f for f in figures if f["role"] == "held out" and f["unit"] != "|log|"]
    drawn = [f for f in figures if f["unit"] != "|log|"]
    inside = sum(1 / 1.3 <= f["simulated"] / f["published"] <= 1.3 for f in held)
    error = math.exp(sum(abs(math.log(f["simulated"] / f["published"])) for f in held) / len(held)) - 1
    words = f"{inside} of {len(held)} held-out figures are within 30 %; their mean error is {error * 100:.0f} %."
    misses = unique([f["why"] for f in figures if f["role"] == "known miss"])
    chart = Chart("published", "Simulated against published", words, [error_panel(drawn)])
    return [
        Section("Is it right?"),
        Text(words + " Dashed lines: 1, and 30 % to either side."),
        chart,
        *(Text(f"Known miss: {why}.", "note") for why in misses),
        figures_table(figures),
    ]


# (2) Throughput over threads


def over_classes(rows: list[dict]) -> list[tuple[int, float, float, float]]:
    """threads, and operations a microsecond: least, middle and most over classes, seeds and guesses."""
    out = []
    for threads in sorted(unique([r["threads"] for r in rows])):
        ranges = [r["ns_per_op"] for r in rows if r["threads"] == threads and None not in r["ns_per_op"]]
        if ranges:
            middle = sorted(x[1] for x in ranges)[len(ranges) // 2]
            out.append((threads, 1000 / max(x[2] for x in ranges), 1000 / middle, 1000 / min(x[0] for x in ranges)))
    return out


def rate_panel(title: str, rows: list[dict]) -> dict:
    points = [
        {"name": variant, "x": threads, "y": middle, "low": low, "high": high}
        for variant in unique([r["variant"] for r in rows])
        for threads, low, middle, high in over_classes([r for r in rows if r["variant"] == variant])
    ]
    return lines(points, "threads", "operations a µs, all threads", title=title, log=True)


def throughput(rows: list[dict]) -> list:
    blocks: list = [Section("Throughput")]
    for machine in unique([r["machine"] for r in rows]):
        for table in unique([r["table"] for r in rows if r["machine"] == machine]):
            some = [r for r in rows if r["machine"] == machine and r["table"] == table]
            groups = [
                (f"{work:.0f} ns of other work", [r for r in some if r["work_ns"] == work])
                for work in unique([r["work_ns"] for r in some])
            ]
            classes = ", ".join(unique([r["class"] for r in some]))
            title = f"{table} on {machine}"
            words = f"Lines: the middle of the classes ({classes}). Bands: the least and the most of all of them."
            if any(r.get("cut") for r in some):
                words += f" Cut, because they had come to their limit of events: {sum(r['cut'] for r in some)} runs."
            blocks.append(Chart(f"rate-{len(blocks)}", title, words, [rate_panel(*g) for g in groups[:3]]))
    return blocks


# (3) Retries


def retries_panel(rows: list[dict]) -> dict:
    rows = sorted((r for r in rows if r["threads"] > 1), key=lambda r: r["threads"])
    points = []
    for r in rows:
        low, middle, high = (max(v, 0.05) for v in r["retries"])
        points.append({"name": r["class"], "x": r["threads"], "y": middle, "low": low, "high": high})
    for name, of in (("T-1", lambda t: t - 1), ("√T", math.sqrt)):
        points += [{"name": name, "x": t, "y": of(t)} for t in unique([r["threads"] for r in rows])]
    return lines(points, "threads", "retries a success", log=True)


def retries(rows: list[dict]) -> list:
    blocks: list = []
    for machine in unique([r["machine"] for r in rows]):
        some = [r for r in rows if r["machine"] == machine and not r["work_ns"]]
        names = [v for v in unique([r["variant"] for r in some]) if v.split()[0] == "unbounded"]
        some = [r for r in some if names and r["variant"] == names[-1]]
        if any(r["threads"] > 1 for r in some):
            words = "First come, first served: about T-1. Any order: about √T. A line that is held for a retry: below 1."
            title = f"Retries of {names[-1]} on {machine}, no other work"
            blocks.append(Chart(f"retries-{len(blocks)}", title, words, [retries_panel(some)]))
    return [Section("Retries"), *blocks] if blocks else []


# (4) Crossovers


def winners(rows: list[dict]) -> str:
    """The fastest variant by threads: `cas 1-2, mcs from 8`. Of those that are alike the default, or the last one."""
    runs: list = []
    for threads in sorted(unique([r["threads"] for r in rows])):
        here = [r for r in rows if r["threads"] == threads and r["ns_per_op"][1] is not None]
        if not here:
            continue
        least = min(r["ns_per_op"][1] for r in here)
        alike = [r for r in here if r["ns_per_op"][1] <= least * ALIKE]
        last = runs[-1][0] if runs else None
        best = min(alike, key=lambda r: (not r.get("default"), r["variant"] != last, r["ns_per_op"][1]))["variant"]
        if runs and runs[-1][0] == best:
            runs[-1][2] = threads
        else:
            runs.append([best, threads, threads])
    words = [f"{name} {a}" + (f" to {b}" if a != b else "") for name, a, b in runs[:-1]]
    return ", ".join([*words, f"{runs[-1][0]} from {runs[-1][1]}"]) if runs else "nothing"


def crossovers(rows: list[dict]) -> list:
    lines = []
    for machine in unique([r["machine"] for r in rows]):
        for table in unique([r["table"] for r in rows if r["machine"] == machine]):
            some = [r for r in rows if r["machine"] == machine and r["table"] == table]
            if len(unique([r["variant"] for r in some])) == 1:
                continue  # nothing to choose from
            for work in unique([r["work_ns"] for r in some]):
                classes: dict = {}
                for name in unique([r["class"] for r in some]):
                    cell = [r for r in some if r["work_ns"] == work and r["class"] == name]
                    classes.setdefault(winners(cell), []).append(name)
                lines += [([table, machine, f"{work:.0f}", ", ".join(c), w], "") for w, c in classes.items()]
    columns = [Column("table", number=False), Column("machine", number=False), Column("work", "ns")]
    columns += [Column("class", number=False), Column("fastest, by threads", number=False)]
    note = "By the middle of each range; a lead within the ranges of two variants is no lead."
    return [Section("From how many processors on which variant wins"), Table("Crossovers", columns, lines, note)]


# (5) Parameters


def parameters(machines: list[dict]) -> list:
    blocks: list = [Section("Parameters")]
    columns = [Column("parameter", number=False), Column("value"), Column("kind", number=False)]
    columns += [Column("source", number=False), Column("fitted to", number=False)]
    for machine in machines:
        rows = [
            (
                [p["name"], p["value"] if isinstance(p["value"], str) else fmt(p["value"]), p["kind"], p["source"]]
                + [p["fitted_to"]],
                "peer" if p["kind"] == "guess" else "",
            )
            for p in machine["parameters"]
        ]
        blocks.append(Table(machine["title"], columns, rows))
    return blocks


def build(data: dict) -> list:
    blocks: list = [Text(BANNER, "fail")]
    if data["figures"]:
        blocks += agreement(data["figures"])
    if data["rows"]:
        blocks += throughput(data["rows"]) + retries(data["rows"]) + crossovers(data["rows"])
    if data["machines"]:
        blocks += parameters(data["machines"])
    return blocks


def run(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="simulation.py", description="Show what the Holdfast lab simulated.")
    parser.add_argument("files", nargs="+", metavar="FILE.json", help="written by `hf-lab simulate --json`")
    parser.add_argument("--html", required=True, metavar="FILE", help="the page")
    args = parser.parse_args(argv)
    from .page import render_html

    data = load(args.files)
    lead = ", ".join(unique([r["machine"] for r in data["rows"]])) or "published figures"
    try:
        Path(args.html).write_text(render_html(build(data), TITLE, lead), encoding="utf-8")
    except OSError as e:
        raise InputError(f"cannot write {args.html} ({e.strerror})") from None
    print(f"The page is {args.html}")
    return 0


def main(argv: list[str] | None = None) -> int:
    try:
        return run(sys.argv[1:] if argv is None else argv)
    except InputError as e:
        print(f"simulation.py: {e}", file=sys.stderr)
        return 2
