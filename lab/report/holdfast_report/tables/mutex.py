# SPDX-License-Identifier: MIT
"""The lock that parks, beside its peers, also with more threads than CPUs."""

from __future__ import annotations

from ..blocks import fmt, fmt_fairness, fmt_threads, fmt_time, group_threads, unique
from ..family import Advice, Comparison, Family, compared_cell, named_cell
from ..measured import Field
from ..rows import Results, Row
from ..verdict import fastest, noise_of

FAIRNESS = "fairness_100ms"


class Mutex(Family):
    name = "mutex"
    order = 100
    about = (
        "alone: one thread. contended: one thread on each CPU, one lock and one variable. oversubscribed: more"
        " threads than CPUs. In 100 ms: fairness within slices of that length, their mean. CPU time: of all threads,"
        " waiters too, per operation. wait: how long lock() takes, in a run of its own with a timestamp before and"
        " after."
    )
    fields = (
        Field(FAIRNESS, "in 100 ms", "least/most", fmt_fairness),
        Field("cpu_ns", "CPU time", "ns/op", fmt_time),
        Field("wait_p50_ns", "wait p50", "ns", fmt_time),
        Field("wait_p99_ns", "wait p99", "ns", fmt_time),
        Field("wait_p999_ns", "wait p99.9", "ns", fmt_time),
        Field("wait_max_ns", "wait max", "ns", fmt_time),
    )
    has_default = False  # there is one of ours
    job = "to lock in a program"

    def advice(self, results: Results) -> Advice | None:
        """Ours, unless the standard lock, which is the baseline, beats it everywhere; faster peers are named."""
        pairs = [(r, results.baseline_of(r)) for r in results.of(self.name, "ours")]
        pairs = [(r, b) for r, b in pairs if r.valid and b is not None and b.valid and r.ns and b.ns]
        if not pairs:
            return None
        ours, base = pairs[0][0].name, pairs[0][1].name
        better = [r for r, b in pairs if r.ns < b.ns * (1 - noise_of(r, b))]
        worse = [r for r, b in pairs if r.ns > b.ns * (1 + noise_of(r, b))]
        times = [b.ns / r.ns for r, b in pairs]
        range_words = f"{fmt(min(times))} to {fmt(max(times))} times the throughput of {base}"
        figures = [f"It has {range_words}.", *self.faster_peers(results)]
        if len(worse) == len(pairs):
            because = f"With each number of threads it is faster than {ours} here."
            return Advice(f"Use {base}", self.job, because, [figures[0].replace("It has", f"{ours} has"), *figures[1:]])
        if worse:
            where = " and ".join(fmt_threads(r.threads) for r in worse)
            because = f"But measure your program: with {where} {base} is faster here."
        elif len(better) == len(pairs):
            because = f"With each number of threads it is faster than {base}."
        else:
            because = f"With each number of threads it is level with {base} or faster."
        return Advice(f"Use {ours}", self.job, because, figures)

    def faster_peers(self, results: Results) -> list[str]:
        faster: dict[str, list[tuple[Row, Row]]] = {}
        for row in [r for r in results.of(self.name, "ours") if r.valid and r.ns]:
            for peer in results.of(self.name, "peer"):
                other = peer.threads == row.threads and peer.valid and not results.is_baseline(peer)
                if other and peer.ns < row.ns * (1 - noise_of(row, peer)):
                    faster.setdefault(peer.name, []).append((row, peer))
        words = []
        for name, pairs in faster.items():
            threads = ", ".join(str(r.threads) for r, _ in pairs)
            most = max(r.ns / p.ns for r, p in pairs)
            text = f"{name} is faster with {threads} thread{'' if threads == '1' else 's'}, up to {fmt(most)} times"
            row, peer = pairs[-1]
            if row.threads > 1:
                text += f" (fairness over 100 ms with {row.threads}: {fmt_fairness(peer.more.get(FAIRNESS))}, and"
                text += f" {fmt_fairness(row.more.get(FAIRNESS))} with {row.name})"
            words.append(text + ".")
        return words

    def compared(self, results: Results) -> list[Comparison]:
        rows = results.of(self.name, "ours", "peer")
        threads = group_threads(rows)
        lines = {}
        for name in unique([r.name for r in rows]):
            here = {r.threads: r for r in rows if r.name == name}
            lines[name] = [
                compared_cell(here.get(t), "", here[t].more.get(FAIRNESS) if t in here else None) for t in threads
            ]
        title = f"{self.name}: lock + increment + unlock, ns (fairness over 100 ms)"
        return [Comparison(title, [fmt_threads(t) for t in threads], lines)] if lines else []

    def headline(self, results: Results) -> list[tuple[str, str, str]]:
        out = []
        for row in results.of(self.name, "ours"):
            if row.threads not in (1, results.cpus) and row.threads != 8 * (results.cpus or 1):
                continue
            peer = fastest([r for r in results.of(self.name, "peer") if r.threads == row.threads])
            words = f"`{row.name}`: lock, increment, unlock, {fmt_threads(row.threads)}"
            ours = compared_cell(row, " ns", row.more.get(FAIRNESS))
            beside = [r for r in unique([peer, results.baseline_of(row)]) if r]
            out.append((words, ours, "; ".join(named_cell(r, r.more.get(FAIRNESS)) for r in beside) or "-"))
        return out


TABLE = Mutex()
