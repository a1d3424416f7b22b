# SPDX-License-Identifier: MIT
"""The one judge: what the rows of some results say of the aims in aims.py.

Terminal, page and archive show what it finds. A file of schema 4 or older has the aims as its hf-lab judged them, by the
samples of each round; they are shown as they were recorded.
"""

from __future__ import annotations

import math
import re

from . import aims
from .blocks import fmt_threads, unique
from .figures import Figure, Place
from .rows import WITHIN, Aim, Results, Row

NOT_MEASURED = "a row is missing, has no time, or failed its check"


def largest_gap(rows: list[Row]) -> Figure:
    gaps = [(r.gap, r) for r in rows if r.gap is not None]
    if not gaps:
        return Figure(None)
    gap, row = max(gaps, key=lambda g: g[0])
    half = sorted(g for g, _ in gaps)[(len(gaps) - 1) // 2]
    where = f"{row.variant}, {row.case}, {fmt_threads(row.threads)}"
    return Figure(gap, f"{where}; half of {len(gaps)} are at most {round(half, 3):g}")


def judged(aim: aims.AimOf, place: Place) -> Aim:
    found, bound = aim.figure(place), aim.bound
    value = float(f"{found.value:.6g}") if found.value is not None and math.isfinite(found.value) else None
    met, detail = None, found.detail
    if bound and value is not None:
        met = value >= bound.value if bound.words == "at least" else value <= bound.value
        miss = max(value / bound.value, bound.value / value) - 1 if value else math.inf
        if not met and found.noise is not None and miss <= found.noise:
            detail += f"{'; ' if detail else ''}{WITHIN} the noise ({round(found.noise, 2):g})"
    section = re.sub(r"^[^,]*", "", place.case)
    group = aim.group.format(case=place.case, threads=fmt_threads(place.threads), section=section)
    why = NOT_MEASURED if value is None else ""
    limits = (bound.words, bound.value, bound.reason) if bound else ("", None, "")
    return Aim(aim.table, group, aim.what, value, aim.unit, *limits[:2], met, detail, why, limits[2])


def is_meant(aim: aims.AimOf, case: str, threads: int) -> bool:
    if not re.fullmatch(aim.cases, case):
        return False
    return aim.threads == 0 or (threads == aim.threads if aim.threads > 0 else threads > 1)


def aims_of_table(results: Results, table: str) -> list[Aim]:
    rows = results.of(table, "ours", "default", "peer", "sweep")
    found = []
    if any(r.kind == "again" for r in results.of(table)):
        what = "gap of two measurements of the same" + (", at most" if any(r.gap is not None for r in rows) else "")
        gap = aims.AimOf(table, "", what, lambda _: largest_gap(rows), group="")
        found.append(judged(gap, Place(results, table, "", 0, rows)))
    places = unique([r.place for r in rows])
    here = {place: [r for r in rows if r.place == place] for place in places}
    for aim in [a for a in aims.AIMS if a.table == table]:
        if not aim.cases:
            found.append(judged(aim, Place(results, table, "", 0, rows)))
        for case, threads in places:
            if aim.cases and is_meant(aim, case, threads):
                found.append(judged(aim, Place(results, table, case, threads, here[case, threads])))
    groups = unique([a.group for a in found])
    return sorted(found, key=lambda a: groups.index(a.group))


def aims_of(results: Results) -> list[Aim]:
    """The aims as the file has them, or judged here; none of a table whose rows others disturbed."""
    if results.schema < 5 and results.aims:
        return results.aims
    tables = unique([r.table for r in results.rows if not results.withheld(r.table)])
    return [aim for table in tables for aim in aims_of_table(results, table)]
