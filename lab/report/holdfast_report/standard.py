# SPDX-License-Identifier: MIT
"""A table with one of ours beside the standard library's, which is the baseline, and other peers."""

from __future__ import annotations

from . import simulated
from .blocks import fmt, fmt_fairness, unique
from .family import Advice, Family
from .rows import Results, Row
from .verdict import noise_of


def place(row: Row) -> tuple[str, int]:
    return (row.case, row.threads)


class BesideStandard(Family):
    lone = True
    fairness = ""  # the field that states it, "" = the common one

    def fairness_of(self, row: Row) -> float | None:
        return row.more.get(self.fairness) if self.fairness else row.fairness

    def place_words(self, row: Row) -> str:
        return self.case_words(row.case, row.threads)

    def advice(self, results: Results) -> Advice | None:
        """Ours, unless the standard one beats it everywhere; faster peers are named."""
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
        figures += simulated.words(results, self.simulated, self.other_contract)
        if len(worse) == len(pairs):
            because = f"In each case it is faster than {ours} here."
            return Advice(f"Use {base}", self.job, because, [figures[0].replace("It has", f"{ours} has"), *figures[1:]])
        if worse:
            where = "; ".join(self.place_words(r) for r in worse)
            because = f"But measure your program: {base} is faster here in {len(worse)} of {len(pairs)} cases ({where})."
        elif len(better) == len(pairs):
            because = f"In each case it is faster than {base}."
        else:
            because = f"In each case it is level with {base} or faster."
        return Advice(f"Use {ours}", self.job, because, figures)

    def faster_peers(self, results: Results) -> list[str]:
        ours = {place(r): r for r in results.of(self.name, "ours") if r.valid and r.ns}
        peers = [r for r in results.of(self.name, "peer") if r.valid and place(r) in ours]
        words = []
        for name in unique([r.name for r in peers if not results.is_baseline(r)]):
            pairs = [(ours[place(r)], r) for r in peers if r.name == name]
            faster = [(r, p) for r, p in pairs if p.ns < r.ns * (1 - noise_of(r, p))]
            if not faster:
                continue
            row, peer = max(faster, key=lambda pair: pair[0].ns / pair[1].ns)
            spins = " (it never parks)" if peer.waiter == "spins" else ""
            text = f"{name}{spins} is faster in {len(faster)} of {len(pairs)} cases, up to {fmt(row.ns / peer.ns)} times"
            text += f" ({self.place_words(row)}"
            if row.threads > 1:
                text += f"; fairness {fmt_fairness(self.fairness_of(peer))}, and"
                text += f" {fmt_fairness(self.fairness_of(row))} with {row.name}"
            words.append(text + ").")
        return words
