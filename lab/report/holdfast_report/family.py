# SPDX-License-Identifier: MIT
"""One table of the lab, as it is unless its module in tables/ says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import simulated, verdict
from .blocks import (
    Chart,
    Column,
    Table,
    by_speed,
    fmt_fairness,
    fmt_percent,
    fmt_share,
    fmt_threads,
    fmt_time,
    geometric_mean,
    group_threads,
    ns_cell,
    unique,
)
from .charts import fairness_chart, ratio_chart, wait_time_chart
from .measured import Field, check_cell, plain_table, sweep_tables
from .rows import Published, Results, Row
from .verdict import Verdict, noise_of


@dataclass
class Advice:
    """For a job: what to use, and why."""

    use: str  # 'Use hf_..'
    job: str  # 'to count references'
    because: str  # a sentence
    figures: list[str] = field(default_factory=list)  # more sentences


@dataclass
class Comparison:
    """A table of docs/results.md: a line per variant, on the left of all machines' columns."""

    title: str
    columns: list[str]
    lines: dict[str, list[str]]  # what stands first in the line -> its cells


class Family:
    name = ""
    order = 100  # among the tables of the report
    about = ""  # what its cases are
    reading: tuple[tuple[str, str], ...] = ()  # words that the reader needs: term, meaning
    fields: tuple[Field, ...] = ()  # figures that its rows alone have
    needs: tuple[str, ...] = ()  # those that no row may lack
    other_contract: dict[str, str] = {}  # R4: variant -> why it is no candidate for the best of ours
    judged = True  # there is a default, or one of ours alone, in each case
    has_default = True
    lone = False  # its default is the row of kind "ours", of which there is one in a case
    job = ""  # what one would take its default for; "" gives no advice
    verbs = ""  # of the default: hf_..._*
    simulated: tuple[str, ...] = ()  # tables of lab/sim/ranges.csv that the advice cites
    wanted: tuple[str, ...] = ()  # peers whose absence is reported in its words
    instruction_words = ""  # behind the name of its table of instruction counts

    def __init__(self, name: str = "") -> None:
        self.name = name or self.name

    # Cases

    def cases(self, results: Results) -> list[tuple[str, int]]:
        """The important ones: with the fewest threads, the most that the CPUs can run at once, and the most."""
        rows = results.of(self.name, "ours", "default", "peer")
        out = []
        for case in unique([r.case for r in rows]):
            threads = group_threads([r for r in rows if r.case == case])
            fit = [t for t in threads if results.cpus is None or t <= results.cpus] or threads[:1]
            out += [(case, t) for t in unique([threads[0], fit[-1], threads[-1]])]
        return out

    def case_words(self, case: str, threads: int) -> str:
        return f"{case}, {fmt_threads(threads)}"

    def case_cell(self, case: str, threads: int) -> str:
        return f"{case}, {threads}"

    def is_implementation(self, row: Row, name: str | None) -> bool:
        """Whether the row is the implementation of that name, or of one in a list, under its own name."""
        return row.kind == "ours" and row.variant in (name or "").split(", ")

    # Words

    def about_words(self, results: Results) -> str:
        there = {r.name for r in results.of(self.name, "peer")}
        absent = [name for name in self.wanted if name not in there]
        if not absent:
            return self.about
        return f"{self.about} Peers that these results lack: {', '.join(absent)}; 'How sure that is' says why.".strip()

    def summary(self, results: Results, judged: list[Verdict]) -> str:
        """In a few sentences; what is an aim stands among the aims."""
        rows = results.of(self.name)
        if not self.judged or not self.has_default:
            return verdict.check_words(rows)
        return verdict.summary_words(judged, rows)

    def wait_words(self, results: Results) -> list[tuple[str, str, str]]:
        """For each lock that was swept: the wait policy that was fastest, and those level with it (R3)."""
        out = []
        rows = [r for r in results.of(self.name, "sweep") if r.wait]
        for case, threads in unique([(r.case, r.threads) for r in rows]):
            here = [r for r in rows if (r.case, r.threads) == (case, threads)]
            words = []
            for lock in unique([r.lock for r in here]):
                good = by_speed([r for r in here if r.lock == lock and r.valid])
                if not good:
                    failed = all(r.failed for r in here if r.lock == lock)
                    words.append(f"{lock}: all FAILED" if failed else f"{lock}: no valid figure")
                    continue
                best = good[0]
                level = [r for r in good[1:] if r.ns - best.ns <= best.ns * noise_of(r, best)]
                text = f"{lock}: {best.wait}, {fmt_time(best.ns)} ns/op"
                words.append(text + (f" (level: {', '.join(r.wait for r in level)})" if level else ""))
            lead = f"Fastest way to wait per lock, whatever its fairness, {case}, {fmt_threads(threads)}"
            out.append((lead, "; ".join(words) + ".", ""))
        return out

    # Advice

    def advice(self, results: Results) -> Advice | None:
        """Use the default, or what beats it among ours: faster somewhere, slower nowhere, and as fair."""
        judged = [v for v in verdict.verdicts(results, self) if v.default is not None and v.default.valid]
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
            return Advice(f"Use {self.verbs} as it is ({made_of})", self.job, because, figures)
        best = max(gains, key=gains.get)
        because = f"In all {len(judged)} cases it is as fast as the default ({made_of}) or faster; the default takes"
        because += f" {fmt_percent(gains[best] - 1).lstrip('+')} more time in the mean."
        return Advice(f"Use {best} ({self.how_to_choose(best)})", self.job, because, figures)

    def gain(self, judged: list[Verdict], name: str) -> float | None:
        """How many times the variant's time the default takes, in the mean; None where it is no better choice.

        Better: in a case faster than the default, and than the default's own code under its own name; slower or less
        fair in none. Within the noise is neither.
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
        return geometric_mean(factors) if faster else None

    def how_to_choose(self, variant: str) -> str:
        return f"lab/variants/{self.name}/{variant}.h"

    def default_figures(self, judged: list[Verdict], results: Results) -> str:
        where = f" here, on {results.cpus} CPU{'' if results.cpus == 1 else 's'}" if results.cpus else ""
        parts = []
        for v in judged:
            text = f"{v.name}: {fmt_time(v.default.ns)} ns"
            if v.peer:
                text += f" (best peer, {v.peer.name}: {fmt_time(v.peer.ns)} ns)"
            parts.append(text)
        return f"Measured{where}. " + "; ".join(parts) + "."

    # Figures

    def measured(self, results: Results) -> list[Table]:
        """Every row of the family but those of a second measurement, each once (R5)."""
        out = []
        rows = results.of(self.name, "ours", "default", "peer")
        for case in unique([r.case for r in rows]):
            here = [r for r in rows if r.case == case]
            for threads in group_threads(here):
                title = f"{self.name}, {case}, {fmt_threads(threads)}"
                out.append(plain_table(results, title, [r for r in here if r.threads == threads], self.fields))
        return out + sweep_tables(results, self)

    def measured_again(self, results: Results) -> list[Table]:
        """What was measured twice, beside itself: R5's table for the second time."""
        columns = [
            Column("variant", "", False),
            Column("case", "and threads", False),
            Column("time", "ns/op"),
            Column("again", "ns/op"),
            Column("gap", "%"),
            Column("fairness", "least/most"),
            Column("again", "least/most"),
            Column("count check", "", False),
        ]
        lines = []
        for row in results.of(self.name, "again"):
            first = results.find(row.table, row.case, row.threads, row.base_variant)
            cells = [
                row.base_variant or row.variant,
                self.case_cell(row.case, row.threads),
                ns_cell(first),
                ns_cell(row),
                fmt_share(first.gap if first else None),
                fmt_fairness(first.fairness if first else None),
                fmt_fairness(row.fairness),
                check_cell(row),
            ]
            lines.append((cells, "fail" if row.failed else ""))
        title = f"{self.name}: the same, measured twice"
        return [Table(title, columns, lines).without_empty()] if lines else []

    def charts(self, results: Results) -> list[Chart]:
        rows = results.of(self.name, "ours", "default", "peer")
        out = [*self.time_charts(results, rows), fairness_chart(results, self.name, self.fairness_panels(rows))]
        return [c for c in [*out, *self.wait_charts(results)] if c is not None]

    def time_charts(self, results: Results, rows: list[Row]) -> list[Chart | None]:
        return [ratio_chart(results, self.name, rows)]

    def fairness_panels(self, rows: list[Row]) -> list[tuple[str, list[Row]]]:
        shared = [r for r in rows if r.threads > 1 and r.fairness is not None]
        return [
            (f"{c}, {fmt_threads(t)}", [r for r in shared if (r.case, r.threads) == (c, t)])
            for c in unique([r.case for r in shared])
            for t in group_threads([r for r in shared if r.case == c])
        ]

    def wait_charts(self, results: Results) -> list[Chart | None]:
        return [wait_time_chart(results, self.name)]

    # Beside others

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        """Published figures beside the measured ones."""
        return []

    def compared(self, results: Results) -> list[Comparison]:
        """One machine's share of docs/results.md."""
        return []

    def compared_by_threads(self, results: Results, title: str, rows: list[Row]) -> list[Comparison]:
        """A line per variant: alone, and on one object with as many threads as the machine has CPUs."""
        rows = [r for r in rows if r.kind not in ("sweep", "again")]
        threads = [t for t in group_threads(rows) if t in (1, results.cpus)]
        if not threads:
            return []
        lines = {}
        for row in rows:
            if row.kind != "default":
                lines.setdefault(row.name, [])
        for name, cells in lines.items():
            for t in threads:
                cells.append(compared_cell(next((r for r in rows if r.name == name and r.threads == t), None)))
        for default in [r for r in rows if r.kind == "default" and r.threads == 1]:
            lines[default.label] = [
                compared_cell(next((r for r in rows if r.kind == "default" and r.threads == t), None)) for t in threads
            ]
        return [Comparison(title, [fmt_threads(t) for t in threads], lines)]


def compared_cell(row: Row | None, unit: str = "", fairness: float | None = None) -> str:
    if row is None:
        return "-"
    if not row.valid:
        return row.status
    fairness = row.fairness if fairness is None else fairness
    text = f"{row.ns:.1f}{unit}"
    return text if row.threads == 1 or fairness is None else f"{text} ({fairness:.2f})"
