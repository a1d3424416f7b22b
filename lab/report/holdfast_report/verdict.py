# SPDX-License-Identifier: MIT
"""Who is best in a case, and what the default costs against them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .blocks import (
    NOTHING,
    Column,
    Table,
    by_speed,
    fmt,
    fmt_fairness,
    fmt_percent,
    fmt_time,
    unique,
)
from .rows import FAIR, Results, Row

LEAST = 0.01  # no lab tells a smaller difference from none


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0, a.gap or 0.0, b.gap or 0.0, LEAST)  # R3


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

    def words(self) -> str:
        if self.within:
            noise = fmt_percent(self.noise).lstrip("+")
            return f"no difference beyond the noise ({fmt_percent(self.difference)}, noise {noise})"
        if self.difference >= 1:
            return f"the default costs {fmt(self.difference + 1)} times as much"
        if self.difference > 0:
            return f"the default costs {fmt_percent(self.difference).lstrip('+')} more"
        return f"the default costs {fmt_percent(-self.difference).lstrip('+')} less"


@dataclass
class Verdict:
    """One important case: who is best, and what the default costs against them."""

    name: str  # of the case
    cell: str  # the same, short
    has_default: bool  # there ought to be one
    default: Row | None
    itself: list[Row]  # the default's own implementation, measured under its own name
    ours: Row | None  # fastest of ours, whatever its fairness
    ours_fair: Row | None  # fastest of ours with fairness >= FAIR
    peer: Row | None
    peer_fair: Row | None
    has_peers: bool
    lone: bool  # the default is the only one of ours
    failed: list[Row]
    rows: list[Row] = field(default_factory=list)

    def cost(self, other: Row | None) -> Cost | None:
        if self.default is None or not self.default.valid or other is None or not other.ns:
            return None
        itself = other in self.itself
        noise = noise_of(self.default, other)
        if not itself:  # R3
            noise = max([noise, *(gap(self.default, r) for r in self.itself if r.valid and r.ns and self.default.ns)])
        return Cost(other, self.default.ns / other.ns - 1, noise, itself)


def judge(results: Results, family, case: str, threads: int) -> Verdict:
    rows = [r for r in results.of(family.name) if r.case == case and r.threads == threads]
    default = next((r for r in rows if r.kind == ("ours" if family.lone else "default")), None)
    candidates = [] if family.lone else rows
    ours = [r for r in candidates if r.kind == "ours" and r.variant not in family.other_contract]  # R4
    peers = [r for r in rows if r.kind == "peer"]
    return Verdict(
        name=family.case_words(case, threads),
        cell=family.case_cell(case, threads),
        has_default=family.has_default,
        default=default,
        itself=[r for r in rows if default and family.is_implementation(r, default.implements)],
        ours=fastest(ours),
        ours_fair=fastest([r for r in ours if r.fair]),
        peer=fastest(peers),
        peer_fair=fastest([r for r in peers if r.fair]),
        has_peers=bool(peers),
        lone=family.lone,
        failed=[r for r in rows if r.failed and r.kind != "sweep"],
        rows=rows,
    )


def verdicts(results: Results, family) -> list[Verdict]:
    if not family.judged:
        return []
    return [judge(results, family, case, threads) for case, threads in family.cases(results)]


# In words


def figures(row: Row) -> str:
    words = f"{fmt_time(row.ns)} ns/op"
    if row.threads > 1:
        words += ", fairness unknown" if row.fairness is None else f", fairness {fmt_fairness(row.fairness)}"
    return words


def best_lines(verdict: Verdict, group: str, fast: Row | None, fair: Row | None, rows: list[Row]) -> list[str]:
    """'Best of ours: mcs, ..; the default costs ..'; a faster one that is less fair comes after it (R2)."""
    if fast is None:
        if not rows:
            return [f"{group}: none was measured."]
        if all(r.failed for r in rows):
            return [f"{group}: no row passed its check."]
        return [f"{group}: no row has a figure that may be compared."]

    def against(row: Row) -> str:
        cost = verdict.cost(row)
        if cost is None:
            return "."
        if cost.itself:
            return f": that is the default ({fmt_percent(cost.difference)} under its own name)."
        return f"; {cost.words()}."

    if fair is None:
        return [f"{group}: none reached fairness {FAIR}. The fastest is {fast.name}, {figures(fast)}{against(fast)}"]
    lines = [f"{group}: {fair.name}, {figures(fair)}{against(fair)}"]
    if fast is not fair:
        lines.append(f"Faster but less fair: {fast.name}, {figures(fast)}{against(fast)}")
    return lines


def verdict_lines(verdict: Verdict) -> list[str]:
    default = verdict.default
    if default is None:
        lines = ["Default: not measured."] if verdict.has_default else []
    elif default.failed:
        lines = [f"{default.label}: FAILED its check, so it has no cost to state."]
    elif not default.valid:
        lines = [f"{default.label}: not measured, so it has no cost to state."]
    else:
        lines = [f"{default.label}: {figures(default)}" + ("." if default.fair else f", which is below {FAIR}.")]
    ours = [r for r in verdict.rows if r.kind == "ours"]
    peers = [r for r in verdict.rows if r.kind == "peer"]
    if not verdict.lone:
        lines += best_lines(verdict, "Best of ours", verdict.ours, verdict.ours_fair, ours)
    lines += best_lines(verdict, "Best peer", verdict.peer, verdict.peer_fair, peers)
    if verdict.failed:
        lines += ["FAILED here: " + ", ".join(r.variant for r in verdict.failed) + "."]
    return lines


def gap_words(results: Results, family) -> str:
    """What every verdict begins with: by how much the same differs from itself."""
    twice = [r for r in results.of(family.name) if r.gap is not None]
    if not twice:
        if any(r.kind == "again" for r in results.of(family.name)):
            return "What was measured twice has no valid figure: no difference here is beyond doubt."
        return ""
    gaps = sorted(r.gap for r in twice)
    worst = max(twice, key=lambda r: r.gap)
    names = ", ".join(unique([r.name for r in twice]))
    half, most = (fmt_percent(g).lstrip("+") for g in (gaps[(len(gaps) - 1) // 2], gaps[-1]))
    where = family.case_words(worst.case, worst.threads)
    text = f"Measured twice, {names} differs from itself by {most}"
    if len(gaps) > 1:
        text += f" at most ({where}), and by {half} or less in half of the {len(gaps)} cases"
    return text + ". No difference below the gap of its case is called one."


def check_words(rows: list[Row]) -> str:
    failed = sum(r.failed for r in rows)
    if failed:
        return f"{failed} row{'' if failed == 1 else 's'} FAILED the check of the count."
    return "Every row passed the check of its count."


def summary_words(judged: list[Verdict], rows: list[Row]) -> str:
    """The family in a few sentences."""
    impls = unique([r.implements for r in rows if r.kind == "default" and r.implements])
    words = [f"The default is {', '.join(impls)}."] if impls else []
    if not judged:
        words.append("A sweep of ways to wait: there is no default to judge.")
    groups = (
        ("variant of Holdfast", lambda v: v.ours_fair, lambda v: v.ours),
        ("peer", lambda v: v.peer_fair, lambda v: v.peer),
    )
    for group, choose, choose_any in groups:
        costs = [(v, v.cost(choose(v))) for v in judged]
        costs = [(v, c) for v, c in costs if c is not None]
        none = len(judged) - len(costs)
        if not judged or (group != "peer" and judged[0].lone):
            continue
        if not any(choose_any(v) for v in judged):
            words.append(f"No {group} was measured, or none has a valid figure.")
            continue
        if not costs:
            words.append(f"No {group} reached fairness {FAIR}, so none is compared.")
            continue
        level = sum(1 for _, c in costs if c.level)
        text = f"Against the best {group} of fairness {FAIR} or more"
        text += f" the default is level or faster in {level} of {len(costs)} cases"
        worst, cost = max(costs, key=lambda x: (not x[1].level, x[1].difference))
        if level < len(costs):
            text += f"; the largest cost is {fmt_percent(cost.difference)} against {cost.other.name} in {worst.name}"
        if none:
            text += f"; in {none} more there is nothing to compare"
        words.append(text + ".")
    return " ".join([*words, check_words(rows)])


def cost_cell(verdict: Verdict, other: Row | None) -> str:
    cost = verdict.cost(other)
    if cost is None:
        return NOTHING
    if cost.difference >= 1:
        return f"{fmt(cost.difference + 1)} x"
    return fmt_percent(cost.difference) + (" =" if cost.itself else " ~" if cost.within else "")


def regret_table(judged: list[tuple[str, list[Verdict]]]) -> Table:
    """judged: each family's name and its verdicts."""
    rows = []
    for table, cases in judged:
        for v in cases:
            d = v.default
            ns = NOTHING if d is None else fmt_time(d.ns) if d.valid else d.status
            fast = fastest([r for r in (v.ours, v.peer) if r])
            cells = [
                table,
                v.cell,
                NOTHING if d is None else (d.made_of or d.variant),
                ns,
                v.ours_fair.variant if v.ours_fair else NOTHING,
                cost_cell(v, v.ours_fair),
                v.peer_fair.name if v.peer_fair else NOTHING,
                cost_cell(v, v.peer_fair),
                f"{fast.name} ({fmt_fairness(fast.fairness)})" if fast else NOTHING,
                cost_cell(v, fast),
            ]
            rows.append((cells, "fail" if d is not None and d.failed else ""))
    columns = [
        Column("family", "", False),
        Column("case", "and threads", False),
        Column("default", "", False),
        Column("time", "ns/op"),
        Column("best of ours", f"fairness >= {FAIR}", False),
        Column("cost", "of default"),
        Column("best peer", f"fairness >= {FAIR}", False),
        Column("cost", "of default"),
        Column("fastest of all", "(its fairness)", False),
        Column("cost", "of default"),
    ]
    note = (
        "Cost: the default's time relative to the variant on its left: + is more, - is less, x is times as much."
        " '=': that variant is the default's own implementation, measured under its own name. '~': no larger than"
        " the noise, which is the spread of the two rows, or by how much the default differs from itself, if that is more. '-': nothing to"
        " compare."
    )
    return Table("What the default costs (the regret)", columns, rows, note)
