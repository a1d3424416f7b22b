# SPDX-License-Identifier: MIT
"""The best variants of a case, and the default's cost relative to them."""

from __future__ import annotations

from msgspec import Struct

from .blocks import NOTHING, Column, Table, by_speed, cell_of, fmt, fmt_fairness, fmt_percent, row_time, table_of, text
from .rows import FAIR, Results, Row

LEAST = 0.01  # smaller differences are below the lab's accuracy


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0, a.gap or 0.0, b.gap or 0.0, LEAST)  # R3


def gap(a: Row, b: Row) -> float:
    """The relative difference of two valid measurements above 0."""
    return max(a.ns / b.ns, b.ns / a.ns) - 1


def fastest(rows: list[Row]) -> Row | None:
    good = [r for r in rows if r.valid]  # R1
    return by_speed(good)[0] if good else None


class Cost(Struct):
    """The default's cost relative to another row (the regret, if above 0)."""

    difference: float  # default / other - 1
    within: bool  # within the noise (R3)
    itself: bool  # the other row is the default's own implementation, measured under its own name


class Verdict(Struct):
    """One important case: the best variants, and the default's cost."""

    table: str
    name: str  # of the case
    default: Row | None
    itself: list[Row]  # the default's own implementation, measured under its own name
    ours: Row | None  # fastest of ours, whatever its fairness
    ours_fair: Row | None  # fastest of ours with fairness >= FAIR
    peer: Row | None
    peer_fair: Row | None
    rows: list[Row]

    def cost(self, other: Row | None) -> Cost | None:
        if self.default is None or not self.default.valid or other is None or not other.ns:
            return None
        itself = other in self.itself
        noise = noise_of(self.default, other)
        if not itself:  # R3
            noise = max([noise, *(gap(self.default, r) for r in self.itself if r.valid and r.ns and self.default.ns)])
        difference = self.default.ns / other.ns - 1
        return Cost(difference, abs(difference) <= noise, itself)

    def cost_cell(self, other: Row | None) -> str:
        cost = self.cost(other)
        if cost is None:
            return NOTHING
        if cost.difference >= 1:
            return f"{fmt(cost.difference + 1)} x"
        return fmt_percent(cost.difference) + (" =" if cost.itself else " ~" if cost.within else "")


def judge(results: Results, family, case: str, threads: int) -> Verdict:
    rows = [r for r in results.of(family.name) if r.place == (case, threads)]
    default = next((r for r in rows if r.kind == ("ours" if family.lone else "default")), None)
    ours = [r for r in rows if r.kind == "ours" and r.variant not in family.other_contract and not family.lone]  # R4
    peers = [r for r in rows if r.kind == "peer"]
    return Verdict(
        table=family.name,
        name=family.case_words(case, threads),
        default=default,
        itself=[r for r in rows if default and family.is_implementation(r, default.implements)],
        ours=fastest(ours),
        ours_fair=fastest([r for r in ours if r.fair]),
        peer=fastest(peers),
        peer_fair=fastest([r for r in peers if r.fair]),
        rows=rows,
    )


def verdicts(results: Results, family) -> list[Verdict]:
    return [judge(results, family, *place) for place in family.cases(results)] if family.judged else []


def regret_table(judged: list[Verdict]) -> Table:
    def default(v: Verdict) -> str:
        return NOTHING if v.default is None else (v.default.made_of or v.default.variant)

    def first(v: Verdict) -> Row | None:
        return fastest([r for r in (v.ours, v.peer) if r])

    def first_words(v: Verdict) -> str:
        return f"{first(v).name} ({fmt_fairness(first(v).fairness)})" if first(v) else NOTHING

    cost = Column("cost", "of default")
    columns = [
        (text("family"), lambda v: v.table),
        (text("case", "and threads"), lambda v: v.name),
        (text("default"), default),
        (Column("time", "ns/op"), lambda v: cell_of(v.default, row_time)),
        (Column("fairness", "of default"), lambda v: fmt_fairness(v.default.fairness) if v.default else NOTHING),
        (text("best of ours", f"fairness >= {FAIR}"), lambda v: v.ours_fair.variant if v.ours_fair else NOTHING),
        (cost, lambda v: v.cost_cell(v.ours_fair)),
        (text("best peer", f"fairness >= {FAIR}"), lambda v: v.peer_fair.name if v.peer_fair else NOTHING),
        (cost, lambda v: v.cost_cell(v.peer_fair)),
        (text("fastest of all", "(its fairness)"), first_words),  # R2
        (cost, lambda v: v.cost_cell(first(v))),
    ]
    note = (
        "Cost: the default's time relative to the variant on its left: + is more, - is less, x is times as much."
        " '=': that variant is the default's own implementation, measured under its own name. '~': within the noise,"
        " which is the spread of the two rows, or the default's difference from itself if that is larger."
        " '-': nothing to compare."
    )
    style = lambda v: "fail" if v.default is not None and v.default.failed else ""  # noqa: E731
    return table_of("What the default costs (the regret)", judged, columns, style, note)
