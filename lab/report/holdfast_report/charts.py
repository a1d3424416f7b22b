# SPDX-License-Identifier: MIT
"""Charts: Vega-Lite lays them out; marker colours are replaced by the page's CSS variables.

A chart is a list of panels, each narrow enough for a phone. The page puts as many in a row as fit.
"""

from __future__ import annotations

import re
import textwrap

import vl_convert

from .blocks import Chart, fmt, fmt_threads, group_threads, unique
from .rows import Results, Row

WIDTH = 200  # px of a panel's plot, without its labels
TITLE = 30  # characters per line of a case's title: they fit above the plot even in a wide font
SIZE = "datum.value >= 1048576 ? datum.value / 1048576 + ' Mi' : datum.value >= 1024 ? datum.value / 1024 + ' Ki' : datum.value"
SERIES = 7
MARKERS = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "ours": "#040404",
    "peer": "#070707",
    "fail": "#080808",
    **{f"s{n}": f"#0a0a{n:02x}" for n in range(SERIES)},
}
RULE = {"type": "rule", "strokeDash": [3, 2], "color": MARKERS["ink"]}
AXIS = {f"{part}Color": MARKERS["grid"] for part in ("grid", "domain", "tick")}
AXIS |= {"labelColor": MARKERS["ink"], "titleColor": MARKERS["muted"], "labelFontSize": 11, "titleFontSize": 11}
HEADER = {"labelColor": MARKERS["ink"], "labelFontSize": 11.5, "labelFontWeight": "bold", "labelLimit": 260}
LEGEND = {"labelColor": MARKERS["ink"], "orient": "bottom", "title": None, "labelFontSize": 11, "labelLimit": 300}
CONFIG = {
    "background": None,
    # The page's font may be wider than the one used here.
    "padding": {"left": 18, "right": 18, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": {**AXIS, "titleFontWeight": "normal", "labelLimit": 150},
    "header": HEADER,
    "legend": LEGEND,
    "text": {"color": MARKERS["ink"], "fontSize": 11},
}


def drawn(panel: dict) -> str:
    return vl_convert.vegalite_to_svg({**panel, "config": CONFIG})


def svg_file(panel: dict) -> str:
    """A panel -> an SVG file of its own, on white, in the page's light colours."""
    svg = drawn({**panel, "background": "white"})
    for name, colour in (("ink", "#1b1f24"), ("muted", "#59626d"), ("grid", "#dde1e6"), ("ours", "#2f6fb3")):
        svg = svg.replace(MARKERS[name], colour)
    return svg.replace(MARKERS["peer"], "#a3abb5").replace(MARKERS["fail"], "#bf2f24") + "\n"


def svg_of(panel: dict, title: str) -> str:
    """A panel -> an inline SVG element without URLs, with the page's colours and font; the page shows the title."""
    svg = drawn({key: value for key, value in panel.items() if key != "title"})
    svg = re.sub(r'\s(xmlns(:\w+)?|aria-\w+|role|class|pointer-events|font-family)="[^"]*"', "", svg)
    svg = re.sub(r'<path d="[^"]*" display="none"/>|<path d="M0,0h[^"]*Z"/>', "", svg)
    svg = re.sub(r'="[^"]*"', lambda m: re.sub(r"(\d\.\d)\d+", r"\1", m[0]), svg)  # coordinates
    for name, marker in MARKERS.items():
        svg = svg.replace(marker, f"var(--{name})")
    label = re.sub(r"[<>&\"]", "", title)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def colours(names: list[str], mine: set[str]) -> dict:
    """One colour for ours, those of the series for the others."""
    others = [n for n in names if n not in mine]
    named = [MARKERS["ours"] if n in mine else MARKERS[f"s{others.index(n) % SERIES}"] for n in names]
    return {"domain": names, "range": named}


def title_lines(title: str) -> str:
    """Breaks a title into lines; '2 threads' stays together."""
    return textwrap.fill(title.replace(" thread", "\u00a0thread"), TITLE).replace("\u00a0", " ")


def bars(values: list[dict], unit: str, log=False, rule: float | None = None, title="") -> dict:
    """values: name, value, words, role (a marker's name), and case if there are several."""
    known = [v for v in values if v["value"] is not None]
    several = any("case" in v for v in values)  # each with an axis of its own
    top = max((v["value"] for v in known), default=1) or 1
    low = min((v["value"] for v in known if v["value"] > 0), default=top)
    scale = {"domain": [low / 1.6, top * (top / low) ** 0.5 * 2]} if log else {"domain": [0, top * 1.3]}
    scale = {"type": "log" if log else "linear", "nice": False} | ({} if several else scale)
    roles = unique([v["role"] for v in values])
    x = {"field": "value", "type": "quantitative", "title": unit, "scale": scale, "axis": {"tickCount": 4}}
    if log:
        x["axis"]["format"] = "~s"
    y = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"ticks": False, "domain": False}}
    colour = {"domain": roles, "range": [MARKERS[r] for r in roles]}
    layers = [
        {
            "mark": {"type": "point", "filled": True, "size": 60} if log else {"type": "bar", "height": 11},
            "encoding": {"color": {"field": "role", "scale": colour, "legend": None}},
        },
        {"mark": {"type": "text", "align": "left", "dx": 5}, "encoding": {"text": {"field": "words"}}},
    ]
    if not log:
        layers[1]["encoding"]["x"] = {**x, "field": "at"}
    if rule is not None:
        layers.append({"mark": RULE, "encoding": {"x": {"datum": rule}, "y": None}})
    values = [{**v, "at": v["value"] or 0} for v in values]
    plot = {"width": WIDTH, "height": {"step": 17}, "layer": layers, "encoding": {"x": x, "y": y}}
    if several:
        values = [{**v, "case": title_lines(v["case"])} for v in values]
        header = {"labelOrient": "top", "labelAnchor": "start", "labelAngle": 0, "title": None, "labelPadding": 2}
        header["labelExpr"] = "split(datum.label, '\\n')"
        row = {"field": "case", "sort": unique([v["case"] for v in values]), "header": header}
        plot = {"facet": {"row": row}, "spec": plot, "resolve": {"scale": {"x": "independent", "y": "independent"}}, "spacing": 14}
    return {"data": {"values": values}, **plot, **({"title": title} if title else {})}


def lines(values: list[dict], x: str, y: str, mine=frozenset(), title="", rules=()) -> dict:
    """values: name, x, y; logarithmic, unless a value is 0."""
    names = unique([v["name"] for v in values])
    of_x = {"field": "x", "type": "quantitative", "title": x, "sort": None}
    if values and max(v["x"] for v in values) / max(1, min(v["x"] for v in values)) > 8:
        of_x |= {"scale": {"type": "log", "base": 2}, "axis": {"tickCount": 5, "labelExpr": SIZE}}
    of_y = {"field": "y", "type": "quantitative", "title": y, "axis": {"format": "~g", "tickCount": 5}}
    of_y["scale"] = {"type": "log", "nice": False} if all(v["y"] > 0 for v in values) else {"zero": True}
    legend = {"columns": 1 if max(map(len, names), default=0) > 24 else 2, "labelExpr": "split(datum.label, '\\n')"}
    colour = {"field": "name", "type": "nominal", "scale": colours(names, mine), "legend": legend}
    mark = {"type": "line", "point": {"size": 18}}
    layers = [{"mark": mark, "encoding": {"x": of_x, "y": of_y, "color": colour}}]
    layers += [{"mark": RULE, "encoding": {"y": {"datum": value}}} for value in rules]
    panel = {"data": {"values": values}, "width": WIDTH, "height": 190, "layer": layers}
    return {**panel, **({"title": title} if title else {})}


def few(values: list, most: int) -> list:
    """The first, the last and some in between, denser at the beginning."""
    if len(values) <= most:
        return values
    last = len(values) - 1
    chosen = {0, last} | {round((last + 1) ** (n / (most - 1))) - 1 for n in range(most)}
    return [values[n] for n in sorted(chosen)]


def mine_of(rows: list[Row]) -> set[str]:
    """The labels with our colour in line charts: the default, or ours if there is no default."""
    return {r.label for r in rows if r.kind == "default"} or {r.label for r in rows if r.kind == "ours"}


def bar_of(row: Row, value, words) -> dict:
    """R1: a failed row has no bar."""
    figure = None if row.failed else value(row)
    role = "fail" if row.failed else "ours" if row.kind in ("ours", "default") else "peer"
    shown = "FAILED" if row.failed else "not measured" if figure is None else words(figure)
    return {"name": row.label.removeprefix("peer:"), "value": figure, "words": shown, "role": role}


def places_of(rows: list[Row], cases: int, threads: int) -> list[tuple[str, int]]:
    """At most `cases` cases, each with at most `threads` numbers of threads."""
    chosen = few(unique([r.case for r in rows]), cases)
    return [(c, t) for c in chosen for t in few(group_threads([r for r in rows if r.case == c]), threads)]


def ratio_chart(results: Results, table: str, rows: list[Row]) -> Chart:
    """The time of each variant over that of the baseline, a panel per case and number of threads; logarithmic if one bar
    would dwarf the others."""
    bases = unique([r.baseline for r in rows if r.baseline])
    base = bases[0] if len(bases) == 1 else "the baseline"
    unit, rank, panels = f"ratio to {base}", {"default": 0, "ours": 1, "peer": 2}, []
    for case, threads in places_of(rows, 12, 4):
        here = [r for r in rows if r.place == (case, threads)]
        values = [bar_of(r, results.ratio, fmt) for r in sorted(here, key=lambda r: rank[r.kind])]
        good = [v["value"] for v in values if v["value"]]
        log = bool(good) and max(good) / min(good) > 20
        panels.append(bars(values, unit + (", log scale" if log else ""), log, 1.0, f"{case}, {fmt_threads(threads)}"))
    caption = f"Time of an operation over that of {base} in the same case (dashed line: 1); shorter is faster."
    return Chart(f"{table}: ratio to {base}", caption, panels)
