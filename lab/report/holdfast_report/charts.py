# SPDX-License-Identifier: MIT
"""The charts of docs/results.md: Vega-Lite draws them."""

from __future__ import annotations

import textwrap

import vl_convert

from .blocks import unique

WIDTH = 200  # px of a part's plot, without its labels
TITLE = 30  # characters per line of a case's title: they fit above the plot even in a wide font
INK, MUTED, GRID = "#1b1f24", "#59626d", "#dde1e6"
ROLES = {"ours": "#2f6fb3", "peer": "#a3abb5", "fail": "#bf2f24"}
AXIS = {f"{part}Color": GRID for part in ("grid", "domain", "tick")}
AXIS |= {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 11, "titleFontSize": 11}
CONFIG = {
    # The page's font may be wider than the one used here.
    "padding": {"left": 18, "right": 18, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": {**AXIS, "titleFontWeight": "normal", "labelLimit": 150},
    "header": {"labelColor": INK, "labelFontSize": 11.5, "labelFontWeight": "bold", "labelLimit": 260},
    "text": {"color": INK, "fontSize": 11},
}


def svg_file(panel: dict) -> str:
    """A chart -> an SVG file, on white."""
    return vl_convert.vegalite_to_svg({**panel, "background": "white", "config": CONFIG}) + "\n"


def title_lines(title: str) -> str:
    """Breaks a title into lines; '2 threads' stays together."""
    return textwrap.fill(title.replace(" thread", "\u00a0thread"), TITLE).replace("\u00a0", " ")


def bars(values: list[dict], unit: str) -> dict:
    """values: name, value, words, role, and case: each case has an axis of its own."""
    roles = unique([v["role"] for v in values])
    scale = {"type": "linear", "nice": False}
    x = {"field": "value", "type": "quantitative", "title": unit, "scale": scale, "axis": {"tickCount": 4}}
    y = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"ticks": False, "domain": False}}
    colour = {"domain": roles, "range": [ROLES[r] for r in roles]}
    layers = [
        {
            "mark": {"type": "bar", "height": 11},
            "encoding": {"color": {"field": "role", "scale": colour, "legend": None}},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5},
            "encoding": {"text": {"field": "words"}, "x": {**x, "field": "at"}},
        },
    ]
    values = [{**v, "at": v["value"] or 0, "case": title_lines(v["case"])} for v in values]
    header = {"labelOrient": "top", "labelAnchor": "start", "labelAngle": 0, "title": None, "labelPadding": 2}
    header["labelExpr"] = "split(datum.label, '\\n')"
    row = {"field": "case", "sort": unique([v["case"] for v in values]), "header": header}
    plot = {"width": WIDTH, "height": {"step": 17}, "layer": layers, "encoding": {"x": x, "y": y}}
    resolve = {"scale": {"x": "independent", "y": "independent"}}
    return {"data": {"values": values}, "facet": {"row": row}, "spec": plot, "resolve": resolve, "spacing": 14}
