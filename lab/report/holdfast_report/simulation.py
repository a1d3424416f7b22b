# SPDX-License-Identifier: MIT
"""The files of `hf-lab simulate --json` -> one page, which says that everything is simulated."""

from __future__ import annotations

import argparse
import math

import msgspec

from .blocks import Chart, Column, Section, Table, Text, fmt, table_of, text, unique
from .charts import lines
from .page import render_html
from .program import read_bytes, write_file
from .rows import InputError

BANNER = (
    "Simulated, not measured. The library's own headers ran on a model of many processors. Trust it for retries, for "
    "whether there is a collapse, and for ratios between variants from 8 processors on, as a range over the classes that a "
    "machine may have. Do not trust it for one or two threads, nor for whole system calls."
)
WHAT_NEXT = "write it with `hf-lab simulate --json`"
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
    """All files merged: machines, rows (each with its machine's title) and figures."""
    whole = {"machines": [], "rows": [], "figures": []}
    for path in paths:
        try:
            data = msgspec.json.decode(read_bytes(path, WHAT_NEXT))
        except msgspec.DecodeError as e:
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


def groups(rows: list[dict], *keys: str) -> list[tuple]:
    """(values of the keys, their rows), in the file's order."""
    found: dict[tuple, list[dict]] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return [(*values, some) for values, some in found.items()]


def error_words(figure: dict) -> str:
    ratio = figure["simulated"] / figure["published"]
    return f"{ratio:.1f} times" if ratio >= 3 else f"{(ratio - 1) * 100:+.0f} %"


def figures_table(figures: list[dict]) -> Table:
    named = (("machine", "group"), ("figure", "what"), ("unit", "unit"))
    columns = [(text(name), lambda f, key=key: f[key]) for name, key in named]
    columns += [(text("role"), lambda f: ROLES[f["role"]])]
    columns += [(Column(key), lambda f, key=key: f"{f[key]:.4g}") for key in ("published", "simulated")]
    columns += [(Column("error"), error_words)]
    columns += [(text("tolerance"), lambda f: "" if f["role"] == "shown" else "ok" if f["ok"] else "OUTSIDE")]
    style = lambda f: "fail" if not f["ok"] else "peer" if f["role"] in ("known miss", "shown") else ""  # noqa: E731
    return table_of("Published against simulated", figures, columns, style)


def error_panel(figures: list[dict]) -> dict:
    """Simulated / published, a mark for each figure in the line of its group."""
    points = [{"name": ROLES[f["role"]], "x": f["group"], "y": f["simulated"] / f["published"]} for f in figures]
    return lines(points, "", "simulated / published", log=True, rules=(1 / 1.3, 1, 1.3), points=True)


def agreement(figures: list[dict]) -> list:
    drawn = [f for f in figures if f["unit"] != "|log|"]
    ratios = [f["simulated"] / f["published"] for f in drawn if f["role"] == "held out"]
    inside = sum(1 / 1.3 <= ratio <= 1.3 for ratio in ratios)
    error = math.exp(sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios)) - 1
    words = f"{inside} of {len(ratios)} held-out figures are within 30 %; their mean error is {error * 100:.0f} %."
    misses = unique([f["why"] for f in figures if f["role"] == "known miss"])
    return [
        Section("Is it right?"),
        Text(words + " Dashed lines: 1, and 30 % to either side."),
        Chart("Simulated against published", words, [error_panel(drawn)]),
        *(Text(f"Known miss: {why}.", "note") for why in misses),
        figures_table(figures),
    ]


def over_classes(rows: list[dict]) -> list[tuple[int, float, float, float]]:
    """(threads, and operations per µs: least, middle and most over classes, seeds and guesses)."""
    out = []
    for threads, some in sorted(groups(rows, "threads"), key=lambda g: g[0]):
        ranges = [r["ns_per_op"] for r in some if None not in r["ns_per_op"]]
        if ranges:
            middle = sorted(x[1] for x in ranges)[len(ranges) // 2]
            out.append((threads, 1000 / max(x[2] for x in ranges), 1000 / middle, 1000 / min(x[0] for x in ranges)))
    return out


def rate_panel(title: str, rows: list[dict]) -> dict:
    points = [
        {"name": variant, "x": threads, "y": middle, "low": low, "high": high}
        for variant, some in groups(rows, "variant")
        for threads, low, middle, high in over_classes(some)
    ]
    return lines(points, "threads", "operations per µs, all threads", title=title, log=True)


def throughput(rows: list[dict]) -> list:
    blocks: list = [Section("Throughput")]
    for machine, table, some in groups(rows, "machine", "table"):
        panels = [rate_panel(f"{work:.0f} ns of other work", here) for work, here in groups(some, "work_ns")[:3]]
        classes = ", ".join(unique([r["class"] for r in some]))
        words = f"Lines: the middle of the classes ({classes}). Bands: the least and the most of all of them."
        if cut := sum(r.get("cut") or 0 for r in some):
            words += f" Cut at their limit of events: {cut} runs."
        blocks.append(Chart(f"{table} on {machine}", words, panels))
    return blocks


def parameters(machines: list[dict]) -> list:
    columns = [
        (text("parameter"), lambda p: p["name"]),
        (Column("value"), lambda p: p["value"] if isinstance(p["value"], str) else fmt(p["value"])),
        *((text(key.replace("_", " ")), lambda p, key=key: p[key]) for key in ("kind", "source", "fitted_to")),
    ]
    style = lambda p: "peer" if p["kind"] == "guess" else ""  # noqa: E731
    return [Section("Parameters")] + [table_of(m["title"], m["parameters"], columns, style) for m in machines]


def build(data: dict) -> list:
    blocks: list = [Text(BANNER, "fail")]
    blocks += agreement(data["figures"]) if data["figures"] else []
    blocks += throughput(data["rows"]) if data["rows"] else []
    return blocks + (parameters(data["machines"]) if data["machines"] else [])


def run(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Show what the Holdfast lab simulated.")
    parser.add_argument("files", nargs="+", metavar="FILE.json", help="written by `hf-lab simulate --json`")
    parser.add_argument("--html", required=True, metavar="FILE", help="the page")
    args = parser.parse_args(argv)
    data = load(args.files)
    lead = ", ".join(unique([r["machine"] for r in data["rows"]])) or "published figures"
    write_file(args.html, render_html(build(data), "Holdfast: simulated, not measured", lead))
    print(f"The page is {args.html}")
