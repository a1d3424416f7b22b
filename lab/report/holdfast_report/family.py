# SPDX-License-Identifier: MIT
"""Family: a table of the lab; BesideStandard: one that compares with the standard library. tables.py has subclasses."""

from __future__ import annotations

import re
from statistics import geometric_mean

from msgspec import Struct

from . import simulated
from .blocks import Chart, Column, Table, cell_of, fmt, fmt_fairness, fmt_percent, fmt_threads, fmt_time
from .blocks import group_threads, text, unique
from .charts import fairness_chart, ratio_chart
from .measured import Field, plain_table, sweep_tables
from .rows import Results, Row
from .verdict import Verdict, noise_of, verdicts


WORTH = 1.05  # a gain for which one leaves the default


class Advice(Struct):
    """A recommendation for a job."""

    use: str  # 'Use hf_..'
    job: str  # 'to count references'
    because: str  # a sentence
    figures: list[str]  # more sentences


class Family(Struct):
    name: str
    about: str = ""  # explains the cases
    job: str = ""  # what its default is used for; "" gives no advice
    names: str = ""  # of the default: hf_..._*
    fields: tuple[Field, ...] = ()  # figures that only its rows have
    needs: tuple[str, ...] = ()  # figures that every row must have
    other_contract: dict[str, str] = {}  # R4: variant -> why it cannot be best of ours
    judged: bool = True  # each case has a default, or a single row of kind "ours"
    lone: bool = False  # the default is the row of kind "ours", of which there is one in a case
    simulated: tuple[str, ...] = ()  # tables of lab/sim/ranges.csv that the advice cites
    wanted: tuple[str, ...] = ()  # peers whose absence is reported
    shared_cases: str = ""  # the cases that docs/results.md shows by threads: a regular expression, and in words:
    shared_words: str = ""

    def cases(self, results: Results) -> list[tuple[str, int]]:
        """The important cases: with the fewest threads, with as many as CPUs, and with the most."""
        rows = results.compared(self.name)
        out = []
        for case in unique([r.case for r in rows]):
            threads = group_threads([r for r in rows if r.case == case])
            fit = [t for t in threads if results.cpus is None or t <= results.cpus] or threads[:1]
            out += [(case, t) for t in unique([threads[0], fit[-1], threads[-1]])]
        return out

    def case_words(self, case: str, threads: int) -> str:
        return f"{case}, {fmt_threads(threads)}"

    def is_implementation(self, row: Row, name: str | None) -> bool:
        """Whether the row is the implementation of that name, or of one in the list."""
        return row.kind == "ours" and row.variant in (name or "").split(", ")

    def about_words(self, results: Results) -> str:
        there = {r.name for r in results.of(self.name, "peer")}
        absent = [name for name in self.wanted if name not in there]
        if not absent:
            return self.about
        return f"{self.about} Peers that these results lack: {', '.join(absent)}; 'How sure that is' says why."

    def advice(self, results: Results) -> Advice | None:
        """Use the default, or the one of ours that beats it: faster somewhere, slower nowhere, and as fair."""
        judged = [v for v in verdicts(results, self) if v.default is not None and v.default.valid]
        if not self.job or not judged:
            return None
        names = unique([r.variant for v in judged for r in v.rows if r.kind == "ours"])
        gains = {name: self.gain(judged, name) for name in names if name not in self.other_contract}
        gains = {name: gain for name, gain in gains.items() if gain is not None}
        made_of = judged[0].default.made_of or judged[0].default.variant
        figures = [self.default_figures(judged, results)]
        figures += simulated.words(results, self.simulated, self.other_contract)
        if not gains:
            because = "No other implementation of Holdfast is faster here without being slower or less fair elsewhere."
            use = f"Use {self.names}" + (f" ({made_of})" if made_of != "default" else "")
            return Advice(use, self.job, because, figures)
        best = max(gains, key=gains.get)
        because = f"In all {len(judged)} cases it is as fast as the default ({made_of}) or faster; the default takes"
        because += f" {fmt_percent(gains[best] - 1).lstrip('+')} more time in the mean."
        return Advice(f"Use {best} ({self.how_to_choose(best)})", self.job, because, figures)

    def gain(self, judged: list[Verdict], name: str) -> float | None:
        """The mean ratio of the default's time to the variant's; None if the variant is not better.

        Better: by WORTH in the mean; in some case faster than the default and the default's own code under its own name,
        and in no case slower or less fair; differences within the noise do not count.
        """
        factors, faster = [], False
        for v in judged:
            row = next((r for r in v.rows if r.variant == name and r.kind == "ours"), None)
            cost = v.cost(row) if row is not None and row.valid and row not in v.itself else None
            if cost is None or not (row.fair or (row.fairness or 0) >= (v.default.fairness or 0)):
                return None
            if not cost.within:
                if cost.difference < 0:
                    return None
                faster |= all(row.ns < twin.ns * (1 - noise_of(row, twin)) for twin in v.itself if twin.valid)
            factors.append(cost.difference + 1)
        mean = geometric_mean(factors)
        return mean if faster and mean >= WORTH else None

    def how_to_choose(self, variant: str) -> str:
        return f"lab/variants/{self.name}/{variant}.h, which is not installed"

    def default_figures(self, judged: list[Verdict], results: Results) -> str:
        where = f" here, on {results.cpus} CPU{'' if results.cpus == 1 else 's'}" if results.cpus else ""
        parts = []
        for v in judged:
            peer = f" (best peer, {v.peer.name}: {fmt_time(v.peer.ns)} ns)" if v.peer else ""
            parts.append(f"{v.name}: {fmt_time(v.default.ns)} ns{peer}")
        return f"Measured{where}. " + "; ".join(parts) + "."

    def in_order(self, rows: list[Row]) -> list[Row]:
        return rows

    def measured(self, results: Results) -> list[Table]:
        rows = self.in_order(results.of(self.name, "ours", "default", "peer", "again"))
        out = []
        for case in unique([r.case for r in rows]):
            for threads in group_threads([r for r in rows if r.case == case]):
                here = [r for r in rows if r.place == (case, threads)]
                out.append(plain_table(results, f"{self.name}, {self.case_words(case, threads)}", here, self.fields))
        return out + sweep_tables(results, self.name, self.fields)

    def charts(self, results: Results) -> list[Chart]:
        rows = results.compared(self.name)
        out = [*self.time_charts(results, rows), fairness_chart(self.name, self.shared(rows))]
        return [c for c in out if c.panels or "FAILED" in c.caption]

    def time_charts(self, results: Results, rows: list[Row]) -> list[Chart]:
        return [ratio_chart(results, self.name, rows)]

    def shared(self, rows: list[Row]) -> list[Row]:
        """The rows in the chart of fairness."""
        return rows

    def compared(self, results: Results) -> list[Table]:
        """For docs/results.md, a line per variant: with one thread, and with one per CPU on one object."""
        wanted = self.shared_cases.replace("{cpus}", str(results.cpus))
        rows = [r for r in self.shown(results.compared(self.name)) if re.fullmatch(wanted, r.case)]
        defaults = [r for r in rows if r.kind == "default"]
        threads = [t for t in group_threads(rows) if t in (1, results.cpus)]
        lines = by_name([r for r in rows if r.kind != "default"])
        lines |= {r.label: defaults for r in defaults if r.threads == 1}
        return comparison(f"{self.name}: {self.shared_words}, ns (fairness)", threads, lines, lambda r: r.threads, fmt_threads)

    def shown(self, rows: list[Row]) -> list[Row]:
        """The rows in charts and docs/results.md."""
        return rows


def by_name(rows: list[Row]) -> dict[str, list[Row]]:
    return {name: [r for r in rows if r.name == name] for name in unique([r.name for r in rows])}


def compared_cell(row: Row, fairness=lambda row: row.fairness) -> str:
    time = " or ".join(f"{level.ns_per_op:.1f}" for level in row.levels) or f"{row.ns:.1f}"
    return time + (f" ({fairness(row):.2f})" if row.threads > 1 and fairness(row) is not None else "")


def comparison(title: str, keys: list, lines: dict[str, list[Row]], key_of, words=str, cell=compared_cell) -> list[Table]:
    """A table with a column per key and a line per name."""
    if not keys or not lines:
        return []

    def cells(rows: list[Row]) -> list[str]:
        return [cell_of(next((r for r in rows if key_of(r) == key), None), cell) for key in keys]

    columns = [text(""), *(Column(words(key)) for key in keys)]
    every = [r for rows in lines.values() for r in rows if r.valid and r.ns]
    mine = [r for r in every if r.kind == "default"] or [r for r in every if r.kind == "ours"]
    ratios = []
    for row in mine:
        peers = [r for r in every if key_of(r) == key_of(row) and r.kind == "peer" and r.parks]
        if peers and key_of(row) in keys:
            best = min(peers, key=lambda r: r.cost)
            ratios.append((row.cost / best.cost, f"{words(key_of(row))}: {best.name}"))
    return [Table(title, columns, [([name, *cells(rows)], "") for name, rows in lines.items()], "", ratios)]


class BesideStandard(Family):
    """One of ours, the standard library's (the baseline), and other peers."""

    lone: bool = True
    fairness: str = ""  # the field that has it; "" = the common one

    def fairness_of(self, row: Row) -> float | None:
        shown = row.more.get(self.fairness) if self.fairness else None
        return row.fairness if shown is None else shown

    def advice(self, results: Results) -> Advice | None:
        """Ours, unless the standard library's is faster everywhere; names faster peers."""
        pairs = [(r, results.baseline_of(r)) for r in results.of(self.name, "ours")]
        pairs = [(r, b) for r, b in pairs if r.valid and b is not None and b.valid and r.ns and b.ns]
        if not pairs:
            return None
        ours, base = pairs[0][0].name, pairs[0][1].name
        better = [r for r, b in pairs if r.ns < b.ns * (1 - noise_of(r, b))]
        worse = [r for r, b in pairs if r.ns > b.ns * (1 + noise_of(r, b))]
        times = [b.ns / r.ns for r, b in pairs]
        figures = [f"{fmt(min(times))} to {fmt(max(times))} times the throughput of {base}."]
        figures += self.faster_peers(results) + simulated.words(results, self.simulated, self.other_contract)
        if len(worse) == len(pairs):
            because = f"In each case it is faster than {ours} here."
            return Advice(f"Use {base}", self.job, because, [f"{ours} has {figures[0]}", *figures[1:]])
        if worse:
            where = "; ".join(self.case_words(*r.place) for r in worse)
            because = f"But measure your program: {base} is faster here in {len(worse)} of {len(pairs)} cases ({where})."
        elif len(better) == len(pairs):
            because = f"In each case it is faster than {base}."
        else:
            because = f"In each case it is level with {base} or faster."
        return Advice(f"Use {ours}", self.job, because, [f"It has {figures[0]}", *figures[1:]])

    def faster_peers(self, results: Results) -> list[str]:
        ours = {r.place: r for r in results.of(self.name, "ours") if r.valid and r.ns}
        peers = [r for r in results.of(self.name, "peer") if r.valid and r.place in ours]
        words = []
        for name in unique([r.name for r in peers if not results.is_baseline(r)]):
            pairs = [(ours[r.place], r) for r in peers if r.name == name]
            faster = [(r, p) for r, p in pairs if p.ns < r.ns * (1 - noise_of(r, p))]
            if not faster:
                continue
            row, peer = max(faster, key=lambda pair: pair[0].ns / pair[1].ns)
            spins = " (it never parks)" if peer.waiter == "spins" else ""
            text = f"{name}{spins} is faster in {len(faster)} of {len(pairs)} cases, up to {fmt(row.ns / peer.ns)} times"
            text += f" ({self.case_words(*row.place)}"
            if row.threads > 1:
                text += f"; fairness {fmt_fairness(self.fairness_of(peer))}, and"
                text += f" {fmt_fairness(self.fairness_of(row))} with {row.name}"
            words.append(text + ").")
        return words
