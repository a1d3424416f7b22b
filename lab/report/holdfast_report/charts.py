# SPDX-License-Identifier: MIT
"""Charts: matplotlib draws with marker colours, which become the page's CSS variables.

Each chart can be drawn wide, and narrow: for a telephone, with its panels one below the other.
"""

from __future__ import annotations

import html
import io
import math
import re

from .blocks import (
    WAITS,
    Chart,
    fmt,
    fmt_fairness,
    fmt_threads,
    group_threads,
    unique,
    wait_order,
)
from .rows import FAIR, Results, Row

WIDE, NARROW = 10.6, 3.75  # inches; 1 in is 96 px of the page

MARKERS = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "ours": "#040404",
    "default": "#050505",
    "base": "#060606",
    "peer": "#070707",
    "fail": "#080808",
    "paper": "#090909",
    **{f"s{n}": f"#0a0a{n:02x}" for n in range(8)},
}
SMALL = {"font.size": 8, "axes.titlesize": 8.5, "ytick.labelsize": 7.5, "xtick.labelsize": 7.5}  # where it is narrow
SHAPES = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")


def pyplot():
    import logging

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    m = MARKERS
    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "holdfast",
            "text.parse_math": False,
            "font.size": 9,
            "axes.titlesize": 9.5,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlecolor": m["ink"],
            "axes.labelcolor": m["muted"],
            "axes.edgecolor": m["muted"],
            "axes.linewidth": 0.7,
            "axes.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "text.color": m["ink"],
            "xtick.color": m["muted"],
            "ytick.color": m["ink"],
            "xtick.labelcolor": m["muted"],
            "ytick.labelcolor": m["ink"],
            "grid.color": m["grid"],
            "grid.linewidth": 0.7,
            "hatch.linewidth": 0.8,
            "legend.frameon": False,
            "legend.labelcolor": m["ink"],
        }
    )
    return plt


def svg_of(plt, chart: Chart, narrow: bool) -> str:
    with plt.rc_context(SMALL if narrow else {}):
        figure = chart.draw(plt, narrow)
        figure.get_layout_engine().set(h_pad=0.1, w_pad=0.08)
        svg = written(plt, figure)
    form = "narrow" if narrow else "wide"
    return adopt_svg(svg, f"{chart.name}-{form}", chart.title, form)


def written(plt, figure) -> str:
    out = io.StringIO()
    clean = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.08, metadata=clean)
    plt.close(figure)
    return out.getvalue()


def adopt_svg(svg: str, prefix: str, title: str, form: str) -> str:
    """matplotlib's file -> an inline element: no address in it, its ids its own, the page's colours and font."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'(?<== |=")[^"<>]*"', lambda m: re.sub(r"(\d\.\d\d)\d+", r"\1", m[0]), svg)  # a hundredth of a point
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href")
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg))
    used = {a or b for a, b in used}
    svg = re.sub(r'\sid="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    for name, marker in MARKERS.items():
        svg = svg.replace(marker, f"var(--{name})")
    svg = re.sub(r"font-family: [^;\"]*(; )?", "", svg)  # the page's own, by its style sheet
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg).replace("<g/>\n", "")
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
    head = re.match(r"<svg[^>]*>", svg)[0]
    box = re.search(r'viewBox="[^"]+"', head)[0]
    label = html.escape(title, quote=True)
    open_tag = f'<svg class="{form}" {box} style="max-width:{width * 1.34:.0f}px" role="img" aria-label="{label}">'
    body = re.sub(r"\n\s*", "\n", svg[len(head) :])
    return (open_tag + body).strip()


def chart_role(results: Results, row: Row) -> str:
    if row.kind == "default":
        return "default"
    if results.is_baseline(row):
        return "base"
    return "peer" if row.kind == "peer" else "ours"


def chart_order(rows: list[Row]) -> list[str]:
    """Labels from top to bottom: the default, ours and the peers, in the file's order."""
    rank = {"default": 0, "ours": 1, "peer": 2, "sweep": 3}
    return unique([r.label for r in sorted(rows, key=lambda r: rank[r.kind])])


def grid_of_panels(plt, count: int, columns: int, lines: int, narrow: bool):
    columns = 1 if narrow else min(columns, count)
    width = NARROW if narrow else WIDE
    down = math.ceil(count / columns)
    height = down * (0.62 + (0.17 if narrow else 0.215) * max(lines, 3))
    figure, axes = plt.subplots(
        down, columns, figsize=(width, height), sharey=True, squeeze=False, layout="constrained"
    )
    flat = [a for line in axes for a in line]
    for spare in flat[count:]:
        spare.set_visible(False)
    return figure, flat[:count]


def row_of_panels(plt, count: int, height: float, legend: float, narrow: bool, **more):
    """Panels beside each other; one below the other where it is narrow."""
    down, across = (count, 1) if narrow else (1, count)
    size = (NARROW, count * height * 0.85 + legend) if narrow else (WIDE, height + legend)
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained", **more)
    return figure, [a for line in axes for a in line]


def shared_legend(figure, axes, columns: int) -> None:
    handles = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    size = 7.5 if columns < 4 else 8.5
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=size)


def plain_log(axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1,) if high / low > 30 else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_bars(
    results: Results,
    axis,
    rows: list[Row],
    order: list[str],
    value,
    log: bool,
    reference=None,
    limit=None,
    words=fmt,
    narrow: bool = False,
) -> None:
    """One panel: a bar per variant (a dot where the scale is logarithmic), whiskers of half the spread."""
    m = MARKERS
    here = {r.label: r for r in rows}
    known = [value(r) for r in rows if not r.failed and value(r) is not None]
    top = limit or max(known, default=1.0) or 1.0
    low = min([v for v in known if v > 0], default=1.0)
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x")
    axis.spines["left"].set_visible(False)
    if log:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.6, top * (4.5 if not narrow else (top / low) ** 0.3 * 4))
        plain_log(axis.xaxis, low, top)
    else:
        room = 1.27 if limit is None else 1.16
        axis.set_xlim(0, top * (room + 0.15 if narrow else room))
    if reference is not None:
        axis.axvline(reference, color=m["ink"], linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    start = axis.get_xlim()[0]
    for y, label in enumerate(order):
        row = here.get(label)
        if row is None:
            axis.annotate(
                "not measured",
                (0, y),
                (4, 0),
                ("axes fraction", "data"),
                "offset points",
                va="center",
                color=m["muted"],
                fontsize=8,
            )
            continue
        v = value(row)
        if row.failed:  # R1
            length = min(row.ns, top) if row.ns and not log and limit is None and reference is None else top * 0.3
            if not log:
                axis.barh(
                    y,
                    length,
                    height=0.62,
                    facecolor="none",
                    edgecolor=m["fail"],
                    hatch="/////",
                    linewidth=0.9,
                )
            at = length if not log else start
            axis.annotate(
                "FAILED",
                (at, y),
                (5, 0),
                "data",
                "offset points",
                va="center",
                color=m["fail"],
                fontsize=8,
                fontweight="bold",
            )
            continue
        if v is None:
            axis.annotate(
                "not measured" if row.ns is None else "no valid baseline",
                (start, y),
                (4, 0),
                "data",
                "offset points",
                va="center",
                color=m["muted"],
                fontsize=8,
            )
            continue
        colour = m[chart_role(results, row)]
        half = v * (row.spread or 0) / 2 if limit is None else 0
        if log:
            axis.plot([start, v], [y, y], color=colour, linewidth=1.0, zorder=2)
            axis.plot([v], [y], "o", color=colour, markersize=5, zorder=3)
        else:
            axis.barh(y, v, height=0.62, color=colour, zorder=2)
        if half > 0 and not (log and half < 0.1 * v):  # a shorter one would hide in the dot
            axis.errorbar(v, y, xerr=min(half, v * 0.9), color=m["ink"], linewidth=0.9, capsize=2, zorder=4)
        at = v + half if limit is None else max(v, limit)  # fairness: in one column, clear of the dashed line
        clear = {"facecolor": m["paper"], "edgecolor": "none", "pad": 0.6}  # of the dashed line
        look = {"fontsize": 8, "color": m["ink"], "va": "center", "bbox": clear}
        axis.annotate(words(v), (at, y), (5, 0), "data", "offset points", **look)


def few(values: list, most: int) -> list:
    """The first, the last and some between, closer together at the beginning."""
    if len(values) <= most:
        return values
    last = len(values) - 1
    chosen = {0, last} | {round((last + 1) ** (n / (most - 1))) - 1 for n in range(most)}
    return [values[n] for n in sorted(chosen)]


def is_wide(values: list[float]) -> bool:
    good = [v for v in values if v]
    return bool(good) and max(good) / min(good) > 20


def bars_chart(
    name: str,
    title: str,
    caption: str,
    results: Results,
    panels: list[tuple[str, list[Row]]],
    value,
    unit: str,
    columns: int,
    log: bool = False,
    reference=None,
    limit=None,
    words=fmt,
) -> Chart:
    panels = [(t, rows) for t, rows in panels if rows]
    order = chart_order([r for _, rows in panels for r in rows])

    def is_log(rows: list[Row]) -> bool:
        return log or (limit is None and is_wide([value(r) for r in rows if not r.failed]))

    def draw(plt, narrow):
        figure, axes = grid_of_panels(plt, len(panels), columns, len(order), narrow)
        for axis, (panel_title, rows) in zip(axes, panels):
            draw_bars(results, axis, rows, order, value, is_log(rows), reference, limit, words, narrow)
            axis.set_title(panel_title)
            axis.set_xlabel(unit + (", log scale" if is_log(rows) else ""))
        return figure

    if not log and any(is_log(rows) for _, rows in panels):
        caption += " A panel whose values differ more than twentyfold has a logarithmic scale and dots."
    return Chart(name, title, caption, draw)


WHISKER = "Whiskers: half the spread (IQR) to either side."


def series_styles(results: Results, rows: list[Row]) -> dict[str, dict]:
    styles = {}
    for n, label in enumerate(chart_order(rows)):
        row = next(r for r in rows if r.label == label)
        styles[label] = {
            "color": MARKERS[f"s{n % 8}"],
            "marker": SHAPES[n % len(SHAPES)],
            "linestyle": DASHES[0] if row.kind != "peer" else DASHES[1],
            # The default is one of the others under another name: a broad line below them.
            "linewidth": 6 if row.kind == "default" else 1.4,
            "alpha": 0.45 if row.kind == "default" else 1,
            "markersize": 10 if row.kind == "default" else 5,
            "zorder": 2 if row.kind == "default" else 3,
        }
    return styles


def lines_chart(name: str, title: str, caption: str, results: Results, rows: list[Row], panels: list[tuple]) -> Chart:
    """Panels of value against threads; panels: (title, unit, value of row, symmetric-log scale)."""
    panels = [p for p in panels if any(p[2](r) is not None for r in rows)] or panels[:1]
    styles = series_styles(results, rows)
    threads = group_threads(rows)

    def draw(plt, narrow):
        columns = 2 if narrow else 4
        legend = 0.2 * math.ceil(len(styles) / columns)
        figure, axes = row_of_panels(plt, len(panels), 2.7, legend, narrow)
        for axis, (panel_title, unit, value, symlog) in zip(axes, panels):
            for label, style in styles.items():
                mine = {r.threads: r for r in rows if r.label == label}
                points = [(t, value(r)) for t, r in sorted(mine.items()) if not r.failed and value(r) is not None]
                if points:
                    axis.plot(*zip(*points), label=label, **style)
            for r in rows:
                if r.failed:  # R1
                    axis.annotate(
                        "x",
                        (r.threads, 0.02),
                        xycoords=("data", "axes fraction"),
                        ha="center",
                        color=MARKERS["fail"],
                        fontweight="bold",
                    )
            if len(threads) > 1 and threads[-1] / threads[0] > 8:
                axis.set_xscale("log", base=2)
            ticks = few(threads, 8)
            axis.set_xticks(ticks, [str(t) for t in ticks])
            axis.minorticks_off()
            pad = 1.15 if axis.get_xscale() == "log" else None
            axis.set_xlim(*((threads[0] / pad, threads[-1] * pad) if pad else (threads[0] - 0.4, threads[-1] + 0.4)))
            if symlog:
                axis.set_yscale("symlog", linthresh=1)
                axis.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
            axis.margins(y=0.08)
            flat = not any(value(r) for r in rows if not r.failed)
            axis.set_ylim(0, 1 if flat else None)
            axis.set_title(panel_title)
            axis.set_xlabel("threads")
            axis.set_ylabel(unit)
            axis.grid(True)
        shared_legend(figure, axes, columns)
        return figure

    if any(r.failed for r in rows):
        names = ", ".join(f"{r.label} at {fmt_threads(r.threads)}" for r in rows if r.failed)
        caption += f" FAILED, marked x on the axis and not drawn: {names}."
    return Chart(name, title, caption, draw, legend=False)


def wait_chart(results: Results, table: str, name: str, title: str, value, unit: str, caption: str) -> Chart | None:
    """A line per lock, a mark per way to wait."""
    rows = [r for r in results.of(table, "sweep") if r.wait and (r.failed or value(r) is not None)]
    if not rows:
        return None
    cases = few(unique([(r.case, r.threads) for r in rows]), 4)
    locks = unique([r.lock for r in rows])
    waits = wait_order(rows)
    colours = {w: MARKERS[f"s{n % 8}"] for n, w in enumerate(waits)}
    shapes = {w: SHAPES[n % len(SHAPES)] for n, w in enumerate(waits)}

    def draw_panel(axis, here: list[Row]) -> None:
        values = [value(r) for r in here if not r.failed and value(r)]
        wide = unit.startswith("ns") and bool(values) and max(values) / min(values) > 5
        axis.set_yticks(range(len(locks)), locks)
        axis.set_ylim(len(locks) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.grid(axis="both")
        axis.set_xlabel(unit + (", log scale" if wide else ""))
        if wide:
            axis.set_xscale("log")
            plain_log(axis.xaxis, min(values), max(values))
        elif values:
            axis.set_xlim(0, max(values) * 1.1)
        for y, lock in enumerate(locks):
            mine = [r for r in here if r.lock == lock]
            good = [r for r in mine if not r.failed]
            ends = [value(r) for r in good if value(r)]
            if ends:
                axis.plot([min(ends), max(ends)], [y, y], color=MARKERS["muted"], linewidth=0.9, zorder=1)
            for r in good:
                shift = (waits.index(r.wait) - (len(waits) - 1) / 2) * 0.5 / len(waits)
                axis.plot([value(r)], [y + shift], shapes[r.wait], color=colours[r.wait], markersize=6, zorder=3)
            failed = ", ".join(r.wait for r in mine if r.failed)
            if failed:  # R1
                at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
                look = {"color": MARKERS["fail"], "fontsize": 7.5, "fontweight": "bold", "va": "center"}
                axis.annotate(f"{failed} FAILED", (0.02, y), (0, -8), **at, **look)

    def draw(plt, narrow):
        from matplotlib.lines import Line2D

        figure, axes = grid_of_panels(plt, len(cases), 2, len(locks) * 1.6 + 2, narrow)
        for axis, (case, threads) in zip(axes, cases):
            draw_panel(axis, [r for r in rows if (r.case, r.threads) == (case, threads)])
            axis.set_title(f"{case}, {fmt_threads(threads)}")
        handles = [Line2D([], [], linestyle="", marker=shapes[w], color=colours[w], markersize=6) for w in waits]
        columns = 3 if narrow else 4 if len(waits) <= 4 else 7
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.2 * math.ceil(len(waits) / columns))
        figure.legend(handles, [f"wait = {w}" for w in waits], loc="outside lower center", ncols=columns, fontsize=8.5)
        return figure

    return Chart(name, title, caption, draw, legend=False)


def wait_time_chart(results: Results, table: str) -> Chart | None:
    about = "Time of an operation per way to wait, one line per lock; further left is faster."
    if set(wait_order(results.of(table, "sweep"))) <= set(WAITS):
        about += (
            " none: plain loop; hint: the processor's spin hint; backoff: growing pauses; late: four times at once, then"
            " growing pauses; monitor: waits for the cache line to change."
        )
    return wait_chart(results, table, f"{table}-wait", f"{table}: how to wait", lambda r: r.ns, "ns per op", about)


def fairness_chart(results: Results, table: str, panels: list[tuple[str, list[Row]]]) -> Chart | None:
    if not panels:
        return None
    return bars_chart(
        f"{table}-fair",
        f"{table}: fairness",
        "Operations of the thread that had fewest over those of the thread that had most; 1 is even."
        f" Dashed line: {FAIR}, the least that counts as best.",
        results,
        few(panels, 6),
        lambda r: r.fairness,
        "fairness, 0 to 1",
        3,
        reference=FAIR,
        limit=1.0,
        words=fmt_fairness,
    )


def ratio_chart(results: Results, table: str, rows: list[Row]) -> Chart | None:
    """The time of each variant over that of the baseline, a panel per case and number of threads."""
    if not rows:
        return None
    panels = [
        (f"{c}, {fmt_threads(t)}", [r for r in rows if (r.case, r.threads) == (c, t)])
        for c in unique([r.case for r in rows])
        for t in few(group_threads([r for r in rows if r.case == c]), 4)
    ]
    bases = unique([r.baseline for r in rows if r.baseline])
    base = bases[0] if len(bases) == 1 else "the baseline"
    return bars_chart(
        f"{table}-ratio",
        f"{table}: ratio to {base}",
        f"Time of an operation over that of {base} in the same case (dashed line: 1); shorter is faster. {WHISKER}",
        results,
        panels,
        results.ratio,
        f"ratio to {base}",
        2,
        reference=1.0,
    )
