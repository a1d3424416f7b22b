# SPDX-License-Identifier: MIT
"""The lock that parks, beside its peers, also with more threads than CPUs."""

from __future__ import annotations

from ..blocks import fmt_fairness, fmt_threads, fmt_time, fmt_us, group_threads, unique
from ..family import Comparison, compared_cell
from ..measured import Field
from ..rows import Results, Row
from ..standard import BesideStandard

FAIRNESS = "fairness_100ms"


def section_of(row: Row) -> str:
    """'contended, 2/2 µs' -> '2/2 µs'; '' is the empty section."""
    return row.case.partition(", ")[2]


class Mutex(BesideStandard):
    name = "mutex"
    order = 100
    about = (
        "alone: one thread. contended: one thread on each CPU, one lock and one variable. oversubscribed: more"
        " threads than CPUs. 0.1/0.2 µs: time spent inside / outside the critical section; if absent, the critical"
        " section is a single increment. In 100 ms: fairness within slices of that length, their mean. CPU time: of all"
        " threads, work and waiting, per operation. Wait: how long lock() takes, in a run of its own with a timestamp"
        " before and after. p99.9: over operations, which flatters a lock that starves threads: a thread that waits"
        " throughout is one operation in a million. By length: half of all waiting was in waits longer than this."
        " Longest: each thread's longest wait; the mean of all threads, and the worst thread. spins: a peer that never"
        " parks."
    )
    fields = (
        Field(FAIRNESS, "in 100 ms", "least/most", fmt_fairness),
        Field("cpu_ns", "CPU time", "ns/op", fmt_time),
        Field("wait_p999_ns", "wait p99.9", "µs", fmt_us),
        Field("wait_weighted_p50_ns", "by length", "µs", fmt_us),
        Field("wait_max_mean_ns", "longest", "mean, µs", fmt_us),
        Field("wait_max_ns", "longest", "worst, µs", fmt_us),
    )
    fairness = FAIRNESS
    job = "to lock in a program"
    simulated = ("mutex",)
    wanted = ("pthread_adaptive", "absl_mutex", "nsync_mu", "parking_lot", "rust_std_mutex", "tbb_spin_mutex")

    def compared(self, results: Results) -> list[Comparison]:
        out = []
        rows = results.of(self.name, "ours", "peer")
        for section in unique([section_of(r) for r in rows]):
            here = [r for r in rows if section_of(r) == section]
            threads = group_threads(here)
            lines = {}
            for name in unique([r.name for r in here]):
                by_threads = {r.threads: r for r in here if r.name == name}
                lines[name] = [
                    compared_cell(by_threads.get(t), "", self.fairness_of(by_threads[t]) if t in by_threads else None)
                    for t in threads
                ]
            with_work = f" with {section} of work" if section else ""
            title = f"{self.name}: lock + increment + unlock{with_work}, ns (fairness over 100 ms)"
            out.append(Comparison(title, [fmt_threads(t) for t in threads], lines))
        return out


TABLE = Mutex()
