# SPDX-License-Identifier: MIT
"""Condition variables, each with the mutex of its own library."""

from __future__ import annotations

from ..blocks import fmt, fmt_time, unique
from ..family import Comparison, compared_cell
from ..measured import Field
from ..rows import Results
from ..standard import BesideStandard


class Cond(BesideStandard):
    name = "cond"
    order = 105
    about = (
        "ping-pong: two threads take turns; an operation is one turn. broadcast to 8: one thread calls eight and waits"
        " until the last has come; an operation is such a round. queue P+C: so many producers and consumers of 16"
        " places; an operation is an item. one slot: the same with one place, and all who wait are woken for each item."
        " CPU time: of all threads. Switches: how often a thread gave up its CPU."
    )
    fields = (
        Field("cpu_ns", "CPU time", "ns/op", fmt_time),
        Field("switches_per_op", "switches", "per op", fmt),
    )
    job = "to wait for a condition"
    wanted = ("absl_cond_var", "nsync_cv", "parking_lot_condvar", "rust_std_condvar")

    def case_words(self, case: str, threads: int) -> str:
        return case  # which has its own number of threads

    def case_cell(self, case: str, threads: int) -> str:
        return case

    def compared(self, results: Results) -> list[Comparison]:
        rows = results.of(self.name, "ours", "peer")
        cases = unique([r.case for r in rows])
        lines = {}
        for name in unique([r.name for r in rows]):
            here = {r.case: r for r in rows if r.name == name}
            lines[name] = [compared_cell(here.get(case)) for case in cases]
        title = f"{self.name}: a turn, a round, an item, ns (fairness)"
        return [Comparison(title, cases, lines)] if lines else []


TABLE = Cond()
