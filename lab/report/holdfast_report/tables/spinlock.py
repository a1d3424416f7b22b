# SPDX-License-Identifier: MIT
"""Spinlocks: kNC and kC cases, each with lock, unlock and total."""

from __future__ import annotations

import re

from ..blocks import (
    NOTHING,
    Chart,
    Column,
    Table,
    by_speed,
    fmt,
    fmt_fairness,
    fmt_ns,
    fmt_ratio,
    fmt_share,
    fmt_threads,
    fmt_time,
    group_threads,
    ns_cell,
    role,
    row_style,
    unique,
)
from ..charts import WHISKER, bars_chart, few
from ..family import Comparison, Family
from ..measured import CYCLES, Field, check_cell, rounds_cell, sweep_tables
from ..rows import Published, Results, Row
from ..sources import ratio_to

PUBLISHED_ROLES = {"baseline": "cas", "seqrel": "cas_release", "litmus": "wfe"}


def setup_of(case: str) -> tuple[str, str]:
    """'2NC lock' -> ('2NC', 'lock'); a case that is not of that form is its own total."""
    setup, _, part = case.rpartition(" ")
    return (setup, part) if part in ("lock", "unlock", "total") and setup else (case, "total")


def setup_rank(setup: str) -> tuple:
    match = re.fullmatch(r"(\d+)(NC|C)?", setup)
    if not match:
        return (3, 0, setup)
    return ({None: 0, "NC": 1, "C": 2}[match[2]], int(match[1]), setup)


def setup_words(setup: str) -> str:
    match = re.fullmatch(r"(\d+)(NC|C)?", setup)
    if not match:
        return setup
    if match[2] is None:
        return "one thread"
    return f"{match[1]} threads, " + ("each its own lock" if match[2] == "NC" else "one shared lock")


class Spinlock(Family):
    name = "spinlock"
    order = 20
    about = (
        "1: one thread. kNC: k threads, each with its own lock and variable in its own cache line. kC: k threads share"
        " one lock and one variable. oversubscribed: more threads than CPUs share one lock. total is measured without"
        " timestamps; lock and unlock are from runs of their own, less what the timestamps cost, and are 0 where that"
        " leaves nothing."
    )
    reading = (
        ("2NC", "2 threads, not contending: each has its own lock in its own cache line. 4NC: 4 threads, and so on."),
        ("2C", "2 threads, contending: both take one shared lock and write one shared variable."),
    )
    fields = (
        Field("handoff_share", "hand-off", "% of ops", fmt_share),
        Field("waiter_share", "waiters", "% of releases", fmt_share),
    )
    job = "to lock in a kernel, on bare metal, or where each thread has a CPU"
    simulated = ("spinlock",)
    verbs = "hf_spinlock_*"

    def case_words(self, case: str, threads: int) -> str:
        setup, _ = setup_of(case)
        if re.fullmatch(r"\d+(NC|C)?", setup):
            return f"{case} ({setup_words(setup)})"
        return f"{case}, {fmt_threads(threads)}"

    def case_cell(self, case: str, threads: int) -> str:
        return case if setup_rank(setup_of(case)[0])[0] < 3 else f"{case}, {threads}"

    def cases(self, results: Results) -> list[tuple[str, int]]:
        rows = results.of(self.name, "ours", "default", "peer")
        totals = [r for r in rows if setup_of(r.case)[1] == "total"]
        groups: dict[int, list[str]] = {}
        for setup in sorted(unique([setup_of(r.case)[0] for r in totals]), key=setup_rank):
            groups.setdefault(setup_rank(setup)[0], []).append(setup)
        chosen = []
        for rank, setups in sorted(groups.items()):
            if rank == 1:
                setups = setups[-1:]
            elif rank == 2:
                setups = unique([setups[0], setups[-1]])
            for setup in setups:
                here = [r for r in totals if setup_of(r.case)[0] == setup]
                threads = group_threads(here)
                chosen += [(here[0].case, t) for t in unique([threads[0], threads[-1]])]
        return chosen

    def fairness_panels(self, rows: list[Row]) -> list[tuple[str, list[Row]]]:
        totals = [r for r in rows if setup_of(r.case)[1] == "total" and not setup_of(r.case)[0].endswith("NC")]
        return super().fairness_panels(sorted(totals, key=lambda r: setup_rank(setup_of(r.case)[0])))

    def measured(self, results: Results) -> list[Table]:
        out = []
        rows = results.of(self.name, "ours", "default", "peer")
        setups = sorted(unique([setup_of(r.case)[0] for r in rows]), key=setup_rank)
        for setup in setups:
            here = [r for r in rows if setup_of(r.case)[0] == setup]
            for threads in group_threads(here):
                words = setup_words(setup)
                title = (
                    f"{self.name}, {setup}: {words}"
                    if words != setup
                    else f"{self.name}, {setup}, {fmt_threads(threads)}"
                )
                out.append(self.lock_table(results, title, [r for r in here if r.threads == threads]))
        return out + sweep_tables(results, self)

    def lock_table(self, results: Results, title: str, rows: list[Row]) -> Table:
        """One set-up: a line per lock, with lock, unlock and total side by side."""
        parts = [p for p in ("total", "lock", "unlock") if any(setup_of(r.case)[1] == p for r in rows)]
        cell: dict[tuple, Row] = {(r.variant, r.kind, setup_of(r.case)[1]): r for r in rows}
        totals = [r for r in rows if setup_of(r.case)[1] == parts[0]]
        order = unique([(r.variant, r.kind) for r in by_speed(totals)] + [(r.variant, r.kind) for r in rows])
        columns = [Column("variant", "", False), Column("role", "", False)]
        columns += [Column(p, "ratio") for p in parts]
        columns += [Column(p, "ns/op") for p in parts]
        columns += [Column(p, "spread, %") for p in parts]
        columns += [
            Column("fairness", "least/most"),
            *(f.column for f in (*self.fields, CYCLES)),
            Column("rounds", "count"),
            Column("count check", "", False),
        ]
        out = []
        for variant, kind in order:
            here = [cell.get((variant, kind, p)) for p in parts]
            known = [r for r in here if r]
            bad = [r for r in known if r.failed]
            main = known[0]
            if bad and len(bad) < len(known):
                check = "FAILED: " + ", ".join(setup_of(r.case)[1] for r in bad)
            else:
                check = check_cell(next((r for r in known if not r.valid), main))
            cells = [variant, role(results, main)]
            cells += [fmt_ratio(results, r) for r in here]
            cells += [fmt_ns(r) for r in here]
            cells += [fmt_share(r.spread) if r else NOTHING for r in here]
            cells += [
                fmt_fairness(main.fairness),
                *(f.cell(main) for f in (*self.fields, CYCLES)),
                rounds_cell(results, main),
                check,
            ]
            out.append((cells, "fail" if bad else row_style(results, main)))
        bases = ", ".join(unique([r.baseline for r in rows if r.baseline]))
        if bases:
            title += f"; ratio to {bases}"
        return Table(title, columns, out).without_empty()

    def time_charts(self, results: Results, rows: list[Row]) -> list[Chart | None]:
        out = []
        by_ns = lambda r: r.ns  # noqa: E731
        totals = [r for r in rows if setup_of(r.case)[1] == "total"]
        ranked = [
            unique([setup_of(r.case)[0] for r in totals if setup_rank(setup_of(r.case)[0])[0] == n]) for n in range(3)
        ]
        # One thread; the most threads that do not contend; some that do.
        setups = ranked[0] + sorted(ranked[1], key=setup_rank)[-1:] + few(sorted(ranked[2], key=setup_rank), 4)
        panels = [
            (
                f"{s} total: {setup_words(s).removeprefix(s[:-1].rstrip('N') + ' threads, ')}",
                [r for r in totals if setup_of(r.case)[0] == s],
            )
            for s in setups
        ]
        if panels:
            out.append(
                bars_chart(
                    "spinlock-total",
                    "spinlock: lock and unlock together",
                    f"Time of an operation over all threads' operations; shorter is faster. {WHISKER}",
                    results,
                    panels,
                    by_ns,
                    "ns per op",
                    words=fmt_time,
                )
            )
        over = [r for r in totals if setup_rank(setup_of(r.case)[0])[0] == 3]
        panels = [
            (f"{c}, {fmt_threads(t)}", [r for r in over if (r.case, r.threads) == (c, t)])
            for c, t in few(unique([(r.case, r.threads) for r in over]), 4)
        ]
        if panels:
            out.append(
                bars_chart(
                    "spinlock-over",
                    "spinlock: more threads than CPUs",
                    f"Time of an operation; the scale is logarithmic. {WHISKER}",
                    results,
                    panels,
                    by_ns,
                    "ns per op",
                    log=True,
                )
            )
        return out

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        rows = [p for p in published if p.table == self.name]
        if not rows:
            return []
        value = {(p.row, p.column): p.value for p in rows}
        mark = ", ".join(unique([sources.mark(p.source) for p in rows]))
        machine = ", ".join(unique([p.machine for p in rows]))
        mine_rows = results.of(self.name, "ours")
        nc = sorted(unique([s for s, _ in (setup_of(r.case) for r in mine_rows) if s.endswith("NC")]), key=setup_rank)
        here_nc = nc[-1] if nc else None

        def find(setup: str | None, part: str, variant: str) -> Row | None:
            good = [r for r in mine_rows if r.case == f"{setup} {part}" and r.variant == variant]
            return good[0] if good else None

        ratios, absolutes = [], []
        for column in unique([p.column for p in rows]):
            setup, part = setup_of(column)
            cores = int(re.match(r"\d+", setup)[0]) if re.match(r"\d+", setup) else 1
            here = here_nc if setup.endswith("NC") else setup
            measured = any(find(here, part, v) for v in PUBLISHED_ROLES.values())
            label = f"{here} {part}" if measured else "not measured"
            base = value.get(("baseline", column))
            ratio_cells, per_core, per_op, ours = [], [], [], []
            for name, variant in PUBLISHED_ROLES.items():
                theirs = value.get((name, column))
                mine = find(here, part, variant)
                per_core.append(fmt(theirs))
                per_op.append(fmt(theirs / cores) if theirs else NOTHING)
                ours.append(ns_cell(mine) if measured else NOTHING)
                if name != "baseline":
                    ratio_cells.append(fmt(theirs / base) if theirs and base else NOTHING)
                    ratio_cells.append(ratio_to(results, mine, "cas") if measured else NOTHING)
            style = "total" if part == "total" else ""
            ratios.append(([column, label] + ratio_cells, style))
            absolutes.append(([column, label] + per_core + per_op + ours, style))
        ratio_columns = [
            Column("published", "case", False),
            Column("here", "case", False),
            Column("seqrel", "published, x baseline"),
            Column("cas_release", "here, x cas"),
            Column("litmus", "published, x baseline"),
            Column("wfe", "here, x cas"),
        ]
        names = list(PUBLISHED_ROLES)
        absolute_columns = [Column("published", "case", False), Column("here", "case", False)]
        absolute_columns += [Column(n, "cycles, per core") for n in names]
        absolute_columns += [Column(n, "cycles / cores") for n in names]
        absolute_columns += [Column(v, "ns/op here") for v in PUBLISHED_ROLES.values()]
        who = (
            f"Published: {machine}, source {mark}. Same roles: baseline ~ cas, seqrel ~ cas_release, litmus ~ wfe"
            " (off AArch64, wfe waits by the processor's own spin hint). NC: each core or thread its own lock; C: one"
            " shared."
        )
        unit = (
            "The published figures are cycles that each core spends per operation of its own, so with a perfect"
            " contended lock they grow with the number of cores, while ours are wall time over the operations of all"
            " threads: published cycles / cores (or ours x threads) is the same unit. A ratio within one line is the"
            " same either way."
        )
        return [
            Table("spinlock: published and measured ratios", ratio_columns, ratios, who),
            Table("spinlock: published cycles per op and measured ns per op", absolute_columns, absolutes, unit),
        ]

    def on_one_lock(self, results: Results) -> list[Row]:
        """Alone, and all CPUs on one lock."""
        return [r for r in results.of(self.name) if r.case in ("1 total", f"{results.cpus}C total")]

    def compared(self, results: Results) -> list[Comparison]:
        title = f"{self.name}: lock + increment + unlock, ns (fairness)"
        return self.compared_by_threads(results, title, self.on_one_lock(results))


TABLE = Spinlock()
