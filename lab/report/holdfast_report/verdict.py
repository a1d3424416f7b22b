# SPDX-License-Identifier: MIT
"""Who is best in a case, and what the default costs against them."""

from __future__ import annotations

from dataclasses import dataclass

from .blocks import NOTHING, Column, Table, by_speed, fmt, fmt_fairness, fmt_percent, fmt_time, table_of, text, unique
from .rows import FAIR, Results, Row

LEAST = 0.01  # no lab tells a smaller difference from none


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0, a.gap or 0.0, b.gap or 0.0, LEAST)  # R3


def level_with(row: Row, best: Row) -> bool:
    return row.valid and row.ns - best.ns <= best.ns * noise_of(row, best)


def gap(a: Row, b: Row) -> float:
    """By how much two measurements differ, whichever is the larger; both are valid and above 0."""
    return max(a.ns / b.ns, b.ns / a.ns) - 1


def fastest(rows: list[Row]) -> Row | None:
    good = [r for r in rows if r.valid]  # R1
    return by_speed(good)[0] if good else None


@dataclass
class Cost:
    """What the default costs against one other row (the regret, where it is above 0)."""

    other: Row
    difference: float  # default / other - 1
    noise: float
    itself: bool  # the other row is the default's own implementation, measured under its own name

    @property
    def level(self) -> bool:
        return self.itself or self.within or self.difference < 0

    @property
    def within(self) -> bool:  # R3
        return abs(self.difference) <= self.noise


@dataclass
class Verdict:
    """One important case: who is best, and what the default costs against them."""

    table: str
    name: str  # of the case
    cell: str  # the same, short
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
        return Cost(other, self.default.ns / other.ns - 1, noise, itself)

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
        cell=family.case_cell(case, threads),
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


# In words


def gap_words(results: Results, family) -> str:
    """What every verdict begins with: by how much the same differs from itself."""
    twice = sorted((r for r in results.of(family.name) if r.gap is not None), key=lambda r: r.gap)
    if not twice:
        again = results.of(family.name, "again")
        return "What was measured twice has no valid figure: no difference here is beyond doubt." if again else ""
    names = ", ".join(unique([r.name for r in twice]))
    half, most = (fmt_percent(r.gap).lstrip("+") for r in (twice[(len(twice) - 1) // 2], twice[-1]))
    words = f"Measured twice, {names} differs from itself by {most}"
    if len(twice) > 1:
        where = family.case_words(*twice[-1].place)
        words += f" at most ({where}), and by {half} or less in half of the {len(twice)} cases"
    return words + ". No difference below the gap of its case is called one."


def check_words(rows: list[Row]) -> str:
    failed = sum(r.failed for r in rows)
    if failed:
        return f"{failed} row{'' if failed == 1 else 's'} FAILED the check of the count."
    return "Every row passed the check of its count."


def against_words(judged: list[Verdict], group: str, pairs: list[tuple[Row | None, Row | None]]) -> str:
    """pairs: for each verdict, who is best of the group with FAIR fairness, and whatever its fairness."""
    if not any(anyone for _, anyone in pairs):
        return f"No {group} was measured, or none has a valid figure."
    costs = [(v, v.cost(fair)) for v, (fair, _) in zip(judged, pairs)]
    costs = [(v, c) for v, c in costs if c is not None]
    if not costs:
        return f"No {group} reached fairness {FAIR}, so none is compared."
    level = sum(c.level for _, c in costs)
    words = f"Against the best {group} of fairness {FAIR} or more the default is level or faster in {level} of"
    words += f" {len(costs)} cases"
    if level < len(costs):
        worst, cost = max(costs, key=lambda x: (not x[1].level, x[1].difference))
        words += f"; the largest cost is {fmt_percent(cost.difference)} against {cost.other.name} in {worst.name}"
    if len(judged) > len(costs):
        words += f"; in {len(judged) - len(costs)} more there is nothing to compare"
    return words + "."


def summary_words(results: Results, family, judged: list[Verdict]) -> str:
    """The family in a few sentences; what is an aim stands among the aims."""
    rows = results.of(family.name)
    if not family.judged:
        return check_words(rows)
    impls = unique([r.implements for r in rows if r.kind == "default" and r.implements])
    words = [f"The default is {', '.join(impls)}."] if impls else []
    if not judged:
        words.append("A sweep of ways to wait: there is no default to judge.")
    elif not family.lone:
        words.append(against_words(judged, "variant of Holdfast", [(v.ours_fair, v.ours) for v in judged]))
    if judged:
        words.append(against_words(judged, "peer", [(v.peer_fair, v.peer) for v in judged]))
    return " ".join([*words, check_words(rows)])


def regret_table(judged: list[Verdict]) -> Table:
    def default(v: Verdict) -> str:
        return NOTHING if v.default is None else (v.default.made_of or v.default.variant)

    def time(v: Verdict) -> str:
        return NOTHING if v.default is None else fmt_time(v.default.ns) if v.default.valid else v.default.status

    def first(v: Verdict) -> Row | None:
        return fastest([r for r in (v.ours, v.peer) if r])

    def first_words(v: Verdict) -> str:
        return f"{first(v).name} ({fmt_fairness(first(v).fairness)})" if first(v) else NOTHING

    cost = Column("cost", "of default")
    columns = [
        (text("family"), lambda v: v.table),
        (text("case", "and threads"), lambda v: v.cell),
        (text("default"), default),
        (Column("time", "ns/op"), time),
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
        " '=': that variant is the default's own implementation, measured under its own name. '~': no larger than the"
        " noise, which is the spread of the two rows, or by how much the default differs from itself, if that is more."
        " '-': nothing to compare."
    )
    style = lambda v: "fail" if v.default is not None and v.default.failed else ""  # noqa: E731
    return table_of("What the default costs (the regret)", judged, columns, style, note)
