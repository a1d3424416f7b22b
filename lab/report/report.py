#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report - what the lab measured, in words, tables and charts.

    report.py RESULTS.json [--html FILE] [--published FILE] [--tables-only]

Use when     `hf-lab all --json` has written its results and a person is to read them.
Not when     a program is to read them: RESULTS.json is the raw data.

How it is built
    load_results, load_published    input -> Results, Published; every complaint is an InputError
    build                           Results -> a list of blocks (Section, Text, Bullets, Table, Chart)
    render_terminal, render_html    blocks -> output; neither decides anything

Rules, cited in the code
    R1  A row whose count was wrong (checked = false) is shown as FAILED, in every place where it
        would have stood. It never wins, and no ratio to it is shown.
    R2  A winner that is compared with the default has fairness >= 0.95. A faster one that is less
        fair is named, with its figures.
    R3  A difference no larger than the spread of the two rows is called that, not a gain or a loss.
    R4  The refcount baseline (unchecked) catches no misuse, and rcuref and waitfree have another contract (memory
        that outlives the count), so none is a candidate for "best of ours".
    R5  Each row of the results stands in exactly one table of measured figures.
"""

from __future__ import annotations

import argparse
import csv
import html
import importlib
import io
import json
import math
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

FAIR = 0.95
NO_CANDIDATE = {  # R4
    ("refcount", "unchecked"),
    ("refcount", "rcuref"),
    ("lockref", "waitfree"),
    ("holder", "waitfree, spins"),
    ("holder", "waitfree, parks"),
    ("openclose", "refcount=unchecked"),
}
KINDS = ("ours", "default", "peer", "sweep")
WAITS = ("none", "hint", "backoff", "monitor")
FAMILIES = ("refcount", "spinlock", "lockref")
SIZED = ("clear", "copy")  # tables of one line per size
MUTEX_FIELDS = (  # of a row of the table mutex: field, column, unit
    ("fairness_100ms", "in 100 ms", "least/most"),
    ("cpu_ns", "CPU time", "ns/op"),
    ("wait_p50_ns", "wait p50", "ns"),
    ("wait_p99_ns", "wait p99", "ns"),
    ("wait_p999_ns", "wait p99.9", "ns"),
    ("wait_max_ns", "wait max", "ns"),
)
HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parent / "reference" / "published.csv"
INSTRUCTIONS = HERE.parent / "instructions" / "expected.txt"
NOTHING = "-"


class InputError(Exception):
    """What happened, to what, and what to do next; one line."""


# --------------------------------------------------------------------------------------------
# Input
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One measured case of one variant; the fields are those of RESULTS.json."""

    table: str
    variant: str
    kind: str
    case: str
    threads: int
    checked: bool
    ns: float | None
    spread: float | None
    baseline: str | None
    ratio: float | None
    fairness: float | None
    rounds: int | None
    implements: str | None  # "is" in the file
    retries_mean: float | None
    retries_max: float | None
    fallback_share: float | None
    handoff_share: float | None
    waiter_share: float | None
    cycles: float | None
    hold: float | None  # ns
    wait: str | None
    base_variant: str | None
    size: float | None  # bytes; of a row of SIZED
    s_per_tb: float | None = None  # of sparse
    mutex: tuple[float | None, ...] = (None,) * len(MUTEX_FIELDS)

    @property
    def failed(self) -> bool:
        return not self.checked

    def of_mutex(self, name: str) -> float | None:
        return self.mutex[[field for field, _, _ in MUTEX_FIELDS].index(name)]

    @property
    def fair(self) -> bool:
        if self.fairness is None:
            return self.threads == 1
        return self.fairness >= FAIR

    @property
    def name(self) -> str:
        """The variant, without the word that the place where it stands says already."""
        return self.variant.removeprefix("peer:")

    @property
    def label(self) -> str:
        if self.kind == "default" and self.implements:
            return f"{self.variant} ({self.made_of})"
        return self.variant

    @property
    def made_of(self) -> str | None:
        """What it implements, each by its bare name: 'refcount=asm, lockref=bounded' -> 'asm, bounded'."""
        return self.implements and re.sub(r"\w+=", "", self.implements)

    @property
    def lock(self) -> str:
        """For a sweep row: the implementation that is swept."""
        if self.base_variant:
            return self.base_variant
        return re.sub(r"\s+wait=.*$", "", self.variant)

    def is_implementation(self, name: str | None) -> bool:
        """Whether this is an implementation of that name, or of one in a list; bounded has a limit of 100."""
        names = (name or "").split(", ")
        return self.kind == "ours" and (self.variant in names or (self.variant, names) == ("bounded-100", ["bounded"]))

    @property
    def way(self) -> str:
        """What a row of SIZED does apart from its size: '64 B cold' -> 'cold'."""
        return re.sub(r"^\S+ \S+\s*", "", self.case) or "aligned"

    @property
    def speed(self) -> float | None:
        """GB/s: bytes in a nanosecond."""
        return self.size / self.ns if self.size and self.ns else None

    @property
    def key(self) -> tuple:
        return (self.table, self.case, self.threads, self.variant, self.kind == "sweep")


@dataclass
class Results:
    version: str
    machine: dict
    settings: dict
    limits: list[str]
    missing_peers: list[dict]
    rows: list[Row]
    index: dict[tuple, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if row.key in self.index:
                raise InputError(
                    f"row {number} repeats {row.table} / {row.variant} / {row.case} /"
                    f" {row.threads} threads: remove one of the two and run the report again"
                )
            self.index[row.key] = row

    @property
    def cpus(self) -> int | None:
        cpus = self.machine.get("cpus")
        return cpus if isinstance(cpus, int) and cpus > 0 else None

    @property
    def rounds(self) -> int | None:
        """The rounds, if they are the same for every row."""
        counts = {r.rounds for r in self.rows}
        return counts.pop() if len(counts) == 1 else None

    def of(self, table: str, *kinds: str) -> list[Row]:
        return [r for r in self.rows if r.table == table and (not kinds or r.kind in kinds)]

    def tables(self) -> list[str]:
        seen = list(dict.fromkeys(r.table for r in self.rows))
        return [t for t in FAMILIES if t in seen] + [t for t in seen if t not in FAMILIES]

    def find(self, table: str, case: str, threads: int, variant: str) -> Row | None:
        return self.index.get((table, case, threads, variant, False))

    def baseline_of(self, row: Row) -> Row | None:
        if row.baseline is None:
            return None
        where = (row.table, row.case, row.threads, row.baseline)
        if row.kind == "sweep" and (*where, True) in self.index:
            return self.index[(*where, True)]
        return self.index.get((*where, False))

    def is_baseline(self, row: Row) -> bool:
        return row.variant == row.baseline

    def ratio(self, row: Row) -> float | None:
        """ns of the row over ns of its baseline; None where either failed (R1)."""
        base = self.baseline_of(row)
        if row.failed or (base is not None and base.failed):
            return None
        if row.ratio is not None:
            return row.ratio
        if base is not None and row.ns is not None and base.ns:
            return row.ns / base.ns
        return None


@dataclass(frozen=True)
class Published:
    table: str
    source: str
    machine: str
    row: str
    column: str
    value: float
    unit: str
    note: str


def read_text(path: str, what_next: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"no such file: {path}: {what_next}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory, not a file: {what_next}") from None
    except UnicodeDecodeError as e:
        raise InputError(f"{path} is not UTF-8 text (byte {e.start}): {what_next}") from None
    except OSError as e:
        raise InputError(f"cannot read {path} ({e.strerror}): {what_next}") from None


def printable(text: str) -> str:
    """Results come from a file: no control character of theirs reaches the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


class Fields:
    """Typed access to one JSON object, with the complaint made here."""

    def __init__(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise InputError(f"{where} is not an object: write the results again with `hf-lab all --json`")
        self.where, self.value = where, value

    def bad(self, name: str, wanted: str) -> InputError:
        found = "missing" if self.value.get(name) is None else f"{json.dumps(self.value[name])[:40]}"
        return InputError(
            f"{self.where}: '{name}' is {found}, but must be {wanted}: write the results again with `hf-lab all --json`"
        )

    def text(self, name: str) -> str:
        value = self.value.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.bad(name, "a string")
        return printable(value)

    def text_or_none(self, name: str) -> str | None:
        return None if self.value.get(name) is None else self.text(name)

    def number(self, name: str, low: float = 0.0, high: float = math.inf) -> float:
        value = self.value.get(name)
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not low <= value <= high:
            limit = f"from {low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"
            raise self.bad(name, f"a number, {limit}")
        return float(value)

    def number_or_none(self, name: str, **bounds: float) -> float | None:
        return None if self.value.get(name) is None else self.number(name, **bounds)

    def count(self, name: str) -> int:
        value = self.value.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.bad(name, "a whole number, 1 or more")
        return value

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        value = self.value.get(name)
        if value not in choices:
            raise self.bad(name, "one of " + ", ".join(choices))
        return value


def parse_row(where: str, value: object) -> Row:
    f = Fields(where, value)
    name = "/".join(str(f.value.get(k, "?")) for k in ("table", "variant", "case"))
    f.where = printable(f"{where} ({name})")
    checked = f.value.get("checked")
    if not isinstance(checked, bool):
        raise f.bad("checked", "true or false")
    # A failed run may have no figure; one that passed must have it. 0: shorter than the clock can tell.
    ns = f.number("ns_per_op") if checked else f.number_or_none("ns_per_op")
    return Row(
        table=f.text("table"),
        variant=f.text("variant"),
        kind=f.one_of("kind", KINDS),
        case=f.text("case"),
        threads=f.count("threads"),
        checked=checked,
        ns=ns,
        spread=f.number_or_none("spread"),
        baseline=f.text_or_none("baseline"),
        ratio=f.number_or_none("ratio"),
        fairness=f.number_or_none("fairness", high=1.0),
        rounds=None if f.value.get("rounds") is None else f.count("rounds"),
        implements=f.text_or_none("is"),
        s_per_tb=f.number_or_none("s_per_tb"),
        retries_mean=f.number_or_none("retries_mean"),
        retries_max=f.number_or_none("retries_max"),
        fallback_share=f.number_or_none("fallback_share", high=1.0),
        handoff_share=f.number_or_none("handoff_share", high=1.0),
        waiter_share=f.number_or_none("waiter_share", high=1.0),
        cycles=f.number_or_none("cycles_per_op"),
        hold=f.number_or_none("hold_ns"),
        wait=f.text_or_none("wait"),
        base_variant=f.text_or_none("base_variant"),
        size=f.number("size", low=1) if f.value.get("table") in SIZED else None,
        mutex=tuple(f.number_or_none(field) for field, _, _ in MUTEX_FIELDS),
    )


def parse_results(data: object) -> Results:
    top = Fields("the top level", data)
    machine = Fields("'machine'", top.value.get("machine") or {}).value
    settings = Fields("'settings'", top.value.get("settings") or {}).value
    rows = top.value.get("rows")
    if not isinstance(rows, list) or not rows:
        raise InputError("'rows' is missing or empty: run the lab again with `hf-lab all --json`")
    limits = top.value.get("limits") or []
    if not isinstance(limits, list) or not all(isinstance(x, str) for x in limits):
        raise top.bad("limits", "a list of strings")
    peers = top.value.get("missing_peers") or []
    if not isinstance(peers, list) or not all(isinstance(x, dict) and "peer" in x for x in peers):
        raise top.bad("missing_peers", 'a list of {"peer": .., "package": ..}')

    def plain(value: object) -> object:
        return printable(str(value)) if not isinstance(value, (int, float)) else value

    return Results(
        version=printable(str(top.value.get("holdfast", "unknown version"))),
        machine={printable(k): plain(v) for k, v in machine.items()},
        settings={printable(k): plain(v) for k, v in settings.items()},
        limits=[printable(x) for x in limits],
        missing_peers=[{k: printable(str(v)) for k, v in x.items()} for x in peers],
        rows=[parse_row(f"row {n}", value) for n, value in enumerate(rows, 1)],
    )


def load_results(path: str) -> Results:
    text = read_text(path, "write one with `hf-lab all --json` and give its name")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as e:
        raise InputError(
            f"{path} is not JSON (line {e.lineno}, column {e.colno}: {e.msg}): write it again with `hf-lab all --json`"
        ) from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply: write it again with `hf-lab all --json`") from None
    try:
        return parse_results(data)
    except InputError as e:
        raise InputError(f"{path}: {e}") from None


def load_published(path: str) -> list[Published]:
    names = ["table", "source", "machine", "row", "column", "value", "unit", "note"]
    text = read_text(path, "name the file of published figures with --published")
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames != names:
        raise InputError(f"{path}: the first line must be {','.join(names)}: correct it")
    out = []
    for record in reader:
        try:
            value = float(record["value"])
            if None in record or None in record.values() or not math.isfinite(value) or value <= 0:
                raise ValueError
        except (TypeError, ValueError):
            raise InputError(
                f"{path}: line {reader.line_num} must have {len(names)} fields and a value above 0: correct it"
            ) from None
        texts = {k: printable(v) for k, v in record.items() if k != "value"}
        out.append(Published(value=value, **texts))
    return out


# --------------------------------------------------------------------------------------------
# Blocks: what both outputs show
# --------------------------------------------------------------------------------------------


@dataclass
class Section:
    title: str
    level: int = 1


@dataclass
class Text:
    text: str
    style: str = ""  # "", "note" or "fail"


@dataclass
class Bullets:
    items: list[tuple[str, str, str]]  # lead, words (a line each, if several), style


@dataclass(frozen=True)
class Column:
    name: str
    unit: str = ""
    number: bool = True


@dataclass
class Table:
    title: str
    columns: list[Column]
    rows: list[tuple[list[str], str]]  # cells, style: "", base, default, peer, fail
    note: str = ""

    def without_empty(self) -> Table:
        """Drop the columns in which no row has anything to say."""
        keep = [
            i
            for i, c in enumerate(self.columns)
            if not c.number or any(cells[i] not in (NOTHING, "") for cells, _ in self.rows)
        ]
        columns = [self.columns[i] for i in keep]
        return Table(self.title, columns, [([c[i] for i in keep], s) for c, s in self.rows], self.note)


@dataclass
class Chart:
    name: str
    title: str
    caption: str
    draw: object  # callable(pyplot) -> figure
    legend: bool = True


# Numbers -------------------------------------------------------------------------------------


def fmt(value: float | None) -> str:
    """Two decimals at most, never an exponent: ratios, counts, cycles."""
    if value is None:
        return NOTHING
    if value >= 1000:
        return f"{value:,.0f}" if value >= 10000 else f"{value:.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def fmt_time(value: float | None) -> str:
    """ns: many threads on locks of their own take less than one per op."""
    return f"{value:.3f}" if value is not None and 0 < value < 1 else fmt(value)


def fmt_ns(row: Row | None) -> str:
    return fmt_time(row.ns) if row else NOTHING


def fmt_share(value: float | None) -> str:
    if value is None:
        return NOTHING
    percent = value * 100
    return f"{percent:.0f}" if percent >= 100 else f"{percent:.1f}"


def fmt_fairness(value: float | None) -> str:
    """Cut, not rounded: 0.949 must not look like the limit it misses."""
    return NOTHING if value is None else f"{math.floor(value * 100 + 1e-9) / 100:.2f}"


def fmt_percent(difference: float) -> str:
    percent = difference * 100
    return f"{percent:+.0f} %" if abs(percent) >= 10 else f"{percent:+.1f} %"


def fmt_threads(threads: int) -> str:
    return f"{threads} thread" + ("" if threads == 1 else "s")


# Order and names -----------------------------------------------------------------------------


def by_speed(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda r: (r.failed, r.ns if r.ns is not None else math.inf, r.variant))


def unique(values: list) -> list:
    return list(dict.fromkeys(values))


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


def row_style(results: Results, row: Row) -> str:
    if row.failed:
        return "fail"
    if row.kind == "default":
        return "default"
    if results.is_baseline(row):
        return "base"
    return "peer" if row.kind == "peer" else ""


def role(results: Results, row: Row) -> str:
    words = {"ours": "ours", "peer": "peer", "sweep": "sweep"}.get(row.kind, "default")
    if row.kind == "default" and row.implements:
        words = f"default: {row.implements}"
    if results.is_baseline(row):
        words = "baseline" if row.kind in ("ours", "sweep") else f"{words}, baseline"
    return words


def fmt_ratio(results: Results, row: Row | None) -> str:
    if row is None:
        return NOTHING
    return "FAILED" if row.failed else fmt(results.ratio(row))


def wait_order(rows: list[Row]) -> list[str]:
    """The known ways to wait in their order, then the others in the file's."""
    found = unique([r.wait for r in rows if r.wait])
    return [w for w in WAITS if w in found] + [w for w in found if w not in WAITS]


def group_threads(rows: list[Row]) -> list[int]:
    return sorted(unique([r.threads for r in rows]))


# --------------------------------------------------------------------------------------------
# The verdict
# --------------------------------------------------------------------------------------------


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
            spread = fmt_percent(self.noise).lstrip("+")
            return f"no difference beyond the spread ({fmt_percent(self.difference)}, spread {spread})"
        if self.difference >= 1:
            return f"the default costs {fmt(self.difference + 1)} times as much"
        if self.difference > 0:
            return f"the default costs {fmt_percent(self.difference).lstrip('+')} more"
        return f"the default costs {fmt_percent(-self.difference).lstrip('+')} less"


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0)


@dataclass
class Verdict:
    """One important case: who is best, and what the default costs against them."""

    table: str
    case: str
    threads: int
    default: Row | None
    ours: Row | None  # fastest of ours, whatever its fairness
    ours_fair: Row | None  # fastest of ours with fairness >= FAIR
    peer: Row | None
    peer_fair: Row | None
    has_peers: bool
    failed: list[Row]

    @property
    def name(self) -> str:
        setup, part = setup_of(self.case)
        if self.table == "spinlock" and re.fullmatch(r"\d+(NC|C)?", setup):
            return f"{self.case} ({setup_words(setup)})"
        return f"{self.case}, {fmt_threads(self.threads)}"

    def cost(self, other: Row | None) -> Cost | None:
        if self.default is None or self.default.failed or other is None or not other.ns:
            return None
        itself = other.is_implementation(self.default.implements)
        return Cost(other, self.default.ns / other.ns - 1, noise_of(self.default, other), itself)


def fastest(rows: list[Row]) -> Row | None:
    good = [r for r in rows if not r.failed]  # R1
    return by_speed(good)[0] if good else None


IMPORTANT_SIZES = (64, 1024, 65536, 1 << 20, 64 << 20)  # bytes


def important_cases(results: Results, table: str) -> list[tuple[str, int]]:
    rows = results.of(table, "ours", "default", "peer")

    def ends(threads: list[int]) -> list[int]:
        """The least, the most that the CPUs can run at once, and the most."""
        fit = [t for t in threads if results.cpus is None or t <= results.cpus] or threads[:1]
        return unique([threads[0], fit[-1], threads[-1]])

    if table in SIZED:
        aligned = sorted(unique([(r.size, r.case) for r in rows if r.way == "aligned"]))
        return [(case, 1) for size, case in aligned if size in IMPORTANT_SIZES] or [(c, 1) for _, c in aligned[-1:]]
    if table != "spinlock":
        cases = unique([r.case for r in rows])
        return [(c, t) for c in cases for t in ends(group_threads([r for r in rows if r.case == c]))]

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


def judge(results: Results, table: str, case: str, threads: int) -> Verdict:
    rows = [r for r in results.of(table) if r.case == case and r.threads == threads]
    ours = [r for r in rows if r.kind == "ours" and (table, r.variant) not in NO_CANDIDATE]
    peers = [r for r in rows if r.kind == "peer"]
    return Verdict(
        table=table,
        case=case,
        threads=threads,
        default=next((r for r in rows if r.kind == "default"), None),
        ours=fastest(ours),
        ours_fair=fastest([r for r in ours if r.fair]),
        peer=fastest(peers),
        peer_fair=fastest([r for r in peers if r.fair]),
        has_peers=bool(peers),
        failed=[r for r in rows if r.failed and r.kind != "sweep"],
    )


def verdicts(results: Results, table: str) -> list[Verdict]:
    if table in UNJUDGED:
        return []
    return [judge(results, table, case, threads) for case, threads in important_cases(results, table)]


def figures(row: Row) -> str:
    words = f"{fmt_time(row.ns)} ns/op"
    if row.threads > 1:
        words += ", fairness unknown" if row.fairness is None else f", fairness {fmt_fairness(row.fairness)}"
    return words


def best_lines(verdict: Verdict, group: str, fast: Row | None, fair: Row | None) -> list[str]:
    """'Best of ours: mcs, ..; the default costs ..'; a faster one that is less fair comes after it (R2)."""
    if fast is None:
        return [f"{group}: no row passed its check."]

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
        lines = [] if verdict.table in NO_DEFAULT else ["Default: not measured."]
    elif default.failed:
        lines = [f"{default.label}: FAILED its check, so it has no cost to state."]
    else:
        lines = [f"{default.label}: {figures(default)}" + ("." if default.fair else f", which is below {FAIR}.")]
    lines += best_lines(verdict, "Best of ours", verdict.ours, verdict.ours_fair)
    if verdict.has_peers:
        lines += best_lines(verdict, "Best peer", verdict.peer, verdict.peer_fair)
    else:
        lines += ["Best peer: none was measured."]
    if verdict.failed:
        lines += ["FAILED here: " + ", ".join(r.variant for r in verdict.failed) + "."]
    return lines


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def speed_words(results: Results, table: str) -> list[str]:
    """The default of a table of SIZED against libc and against the best of ours, over all its cases."""
    speed, regret = {}, {}
    for row in results.of(table, "default"):
        base = results.baseline_of(row)
        best = fastest([r for r in results.of(table, "ours") if r.case == row.case])
        if row.failed or not row.ns:
            continue
        ratio = results.ratio(row)
        if base is not None and ratio:
            speed[row.case] = 1 / ratio
        if best is not None and ratio and results.ratio(best):
            regret[row.case] = (max(1.0, ratio / results.ratio(best)), best)  # it may itself be the best
    if not speed or not regret:
        return ["The default, or what it is compared with, has no valid figures."]
    mean, worst = geometric_mean(list(speed.values())), min(speed, key=speed.get)
    case = max(regret, key=lambda c: regret[c][0])
    least, best = regret[case]

    def reached(value: float, aim: float) -> str:
        return f"aim {aim:.2f}: {'reached' if value >= aim else 'missed'}"

    return [
        f"The default has {fmt(mean)} of libc's speed (geometric mean of {len(speed)} cases, {reached(mean, 0.95)}),"
        f" and in the worst case, {worst}, {fmt(speed[worst])} ({reached(speed[worst], 0.8)}).",
        f"Its regret is {fmt(geometric_mean([r for r, _ in regret.values()]))} times the best of ours (geometric mean),"
        f" at most {fmt(least)} at {case}, where {best.variant} is best.",
    ]


def loop_words(results: Results) -> list[str]:
    ratios = [results.ratio(r) for r in results.of("loop", "ours")]
    ratios = [r for r in ratios if r]
    if not ratios:
        return ["No valid figures."]
    return [
        f"A loop with the guard takes {geometric_mean(ratios):.3f} of the time of the same loop without (geometric mean"
        f" of {len(ratios)} cases, from {fmt(min(ratios))} to {fmt(max(ratios))})."
    ]


def fault_words(results: Results) -> list[str]:
    words = []
    for row in results.of("fault", "ours"):
        ratio = results.ratio(row)
        if ratio is None:
            words.append(f"{row.variant}: no valid figure.")
        else:
            reached = "reached" if ratio <= 1.5 else "missed"
            words.append(f"{row.variant}: {fmt(ratio)} of a bare delivery and return (aim 1.50: {reached}).")
    return words or ["No valid figures."]


def aim_words(value: float, aim: float) -> str:
    return f"{fmt(value)} (aim {aim:.2f}: {'reached' if value >= aim else 'missed'})"


def openclose_words(results: Results) -> list[str]:
    """The default in the file system: with a second thread, against the other choices, against the kernel's."""
    base = "default"

    def find(case: str, threads: int, variant: str = base) -> Row | None:
        row = results.find("openclose", case, threads, variant)
        return row if row and not row.failed and row.ns else None

    words = []
    for case, aim in (("hot file", 0.9), ("file each", 1.7)):
        one, two = find(case, 1), find(case, 2)
        if one and two:
            words.append(f"{case}: 2 threads have {aim_words(one.ns / two.ns, aim)} times the throughput of one.")
    default = find("hot file", 2)
    here = [r for r in results.of("openclose", "ours") if (r.case, r.threads) == ("hot file", 2) and results.ratio(r)]
    same = [results.ratio(r) for r in here if default and r.is_implementation(default.implements)]
    others = [r for r in here if default and not r.is_implementation(default.implements)]
    others = [r for r in others if (r.table, r.variant) not in NO_CANDIDATE]
    if others:
        best = min(others, key=results.ratio)
        text = f"hot file, 2 threads: the default has {aim_words(results.ratio(best), 1)} times the throughput of the"
        text += f" best other, {best.variant}"
        if same:
            text += f"; the same code by other names: {fmt(min(same))} to {fmt(max(same))}"
        words.append(text + ".")
    kernel = next((r for r in results.of("openclose", "peer") if (r.case, r.threads) == ("hot file", 1)), None)
    one = find("hot file", 1)
    if kernel and one and not kernel.failed and kernel.ns:
        words.append(
            f"hot file, 1 thread: {aim_words(kernel.ns / one.ns, 3)} times the kernel's tmpfs, which is reached by"
            " three system calls: a different road."
        )
    return words or ["No valid figures."]


def mutex_words(results: Results) -> list[str]:
    """hf_mutex beside the best peer, by number of threads."""
    words = []
    for row in results.of("mutex", "ours"):
        peers = [r for r in results.of("mutex", "peer") if r.threads == row.threads]
        best = fastest(peers)
        if row.failed or not row.ns or best is None:
            continue
        text = f"{fmt_threads(row.threads)}: {row.variant} has {fmt(best.ns / row.ns)} times the throughput of the best"
        text += f" peer, {best.name}"
        if row.threads > 1:
            fair = row.of_mutex("fairness_100ms")
            text += f", and a fairness of {fmt_fairness(fair)} over 100 ms"
            pthread = next((r for r in peers if r.name == "pthread_mutex" and not r.failed), None)
            waits = [r.of_mutex("wait_p999_ns") for r in (row, pthread) if r]
            if len(waits) == 2 and all(waits):
                text += f"; its p99.9 wait is {fmt(waits[0] / waits[1])} of pthread_mutex's"
        words.append(text + ".")
    return words or ["No valid figures."]


def sparse_words(results: Results) -> list[str]:
    words = []
    for row in results.of("sparse", "default"):
        copy = results.baseline_of(row)
        ratio = results.ratio(row)
        if ratio and copy is not None and row.s_per_tb and copy.s_per_tb:
            words.append(
                f"{row.case}: 1 TB of holes by clearing in {row.s_per_tb:.1f} s, by copying a page of zeros in"
                f" {copy.s_per_tb:.1f} s: {'clearing' if ratio <= 1 else 'copying'} wins here, and has"
                f" {fmt(1 / ratio if ratio <= 1 else ratio)} times the speed (aim: clearing at least as fast:"
                f" {'reached' if ratio <= 1 else 'missed'})."
            )
    return words or ["No valid figures."]


# The tables that are judged in words of their own, beside or in place of the cases' verdicts.
OWN_WORDS = {
    "clear": lambda results: speed_words(results, "clear"),
    "copy": lambda results: speed_words(results, "copy"),
    "loop": loop_words,
    "fault": fault_words,
    "mutex": mutex_words,
    "openclose": openclose_words,
    "sparse": sparse_words,
}
UNJUDGED = ("loop", "fault")  # there is no default in them
NO_DEFAULT = ("mutex",)  # nor in these, of which there is only one of ours


def summary_words(results: Results, table: str, judged: list[Verdict]) -> str:
    """The family in a few sentences."""
    if table in OWN_WORDS:
        failed = sum(1 for r in results.of(table) if r.failed)
        check = f"{failed} rows FAILED their check." if failed else "Every row passed its check."
        return " ".join([*OWN_WORDS[table](results), check])
    impls = unique([r.implements for r in results.of(table, "default") if r.implements])
    words = [f"The default is {', '.join(impls)}."] if impls else []
    if not judged:
        words.append("A sweep of ways to wait: there is no default to judge.")
    for group, choose in (("variant of ours", lambda v: v.ours_fair), ("peer", lambda v: v.peer_fair)):
        costs = [(v, v.cost(choose(v))) for v in judged]
        costs = [(v, c) for v, c in costs if c is not None]
        none = len(judged) - len(costs)
        if not costs and not judged:
            continue
        if not costs:
            words.append(f"No case has a {group} of fairness {FAIR} or more to compare it with.")
            continue
        level = sum(1 for _, c in costs if c.level)
        text = f"Against the best {group} of fairness {FAIR} or more"
        text += f" it is level or faster in {level} of {len(costs)} cases"
        worst, cost = max(costs, key=lambda x: (not x[1].level, x[1].difference))
        if level < len(costs):
            text += f"; the largest cost is {fmt_percent(cost.difference)} against {cost.other.name} in {worst.name}"
        if none:
            text += f"; in {none} more there is nothing to compare"
        words.append(text + ".")
    failed = sum(1 for r in results.of(table) if r.failed)
    if failed:
        words.append(f"{failed} row{'' if failed == 1 else 's'} of this family FAILED the check of the count.")
    else:
        words.append("Every row of this family passed the check of its count.")
    return " ".join(words)


def wait_words(results: Results, table: str) -> list[tuple[str, str, str]]:
    """For each lock that was swept: the wait policy that was fastest, and those level with it (R3)."""
    out = []
    rows = [r for r in results.of(table, "sweep") if r.wait]
    for case, threads in unique([(r.case, r.threads) for r in rows]):
        here = [r for r in rows if (r.case, r.threads) == (case, threads)]
        words = []
        for lock in unique([r.lock for r in here]):
            good = by_speed([r for r in here if r.lock == lock and not r.failed])
            if not good:
                words.append(f"{lock}: all FAILED")
                continue
            best = good[0]
            level = [r for r in good[1:] if r.ns - best.ns <= best.ns * noise_of(r, best)]
            text = f"{lock}: {best.wait}, {fmt_time(best.ns)} ns/op"
            words.append(text + (f" (level: {', '.join(r.wait for r in level)})" if level else ""))
        lead = f"Fastest way to wait per lock, whatever its fairness, {case}, {fmt_threads(threads)}"
        out.append((lead, "; ".join(words) + ".", ""))
    return out


def cost_cell(verdict: Verdict, other: Row | None) -> str:
    cost = verdict.cost(other)
    if cost is None:
        return NOTHING
    if cost.difference >= 1:
        return f"{fmt(cost.difference + 1)} x"
    return fmt_percent(cost.difference) + (" =" if cost.itself else " ~" if cost.within else "")


def regret_table(results: Results) -> Table:
    rows = []
    for table in results.tables():
        for v in verdicts(results, table):
            d = v.default
            ns = NOTHING if d is None else "FAILED" if d.failed else fmt_time(d.ns)
            fast = fastest([r for r in (v.ours, v.peer) if r])
            cells = [
                table,
                v.case if setup_rank(setup_of(v.case)[0])[0] < 3 else f"{v.case}, {v.threads}",
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
        "Cost: how much more (+) or less (-) time an operation takes with the default than with the one to the left."
        " x: times as much. '=': the default's own implementation, measured under its own name. '~': no larger than"
        " the spread of the two rows. '-': nothing to compare."
    )
    return Table("What the default costs (the regret)", columns, rows, note)


# --------------------------------------------------------------------------------------------
# Tables of measured figures
# --------------------------------------------------------------------------------------------


def ratio_column(rows: list[Row], name: str = "ratio") -> Column:
    bases = unique([r.baseline for r in rows if r.baseline])
    return Column(name, f"x {bases[0]}" if len(bases) == 1 else "x baseline")


def rounds_cell(results: Results, row: Row) -> str:
    """The rounds of the row, where rows differ in it; the reading guide has it where they do not."""
    return NOTHING if results.rounds is not None or row.rounds is None else str(row.rounds)


def plain_table(results: Results, title: str, rows: list[Row]) -> Table:
    """One case: a line per variant, the fastest first; a sweep in its own order."""
    columns = [
        Column("variant", "", False),
        Column("role", "", False),
        ratio_column(rows),
        Column("time", "ns/op"),
        Column("spread", "% IQR/median"),
        Column("fairness", "least/most"),
        Column("retries mean", "per op"),
        Column("retries largest", "per op"),
        Column("fallback", "% of ops"),
        Column("handoff", "% of ops"),
        Column("waiters", "% of releases"),
        Column("cycles", "per op"),
        *(Column(name, unit) for _, name, unit in MUTEX_FIELDS),
        Column("hold", "ms"),
        Column("rounds", "count"),
        Column("count check", "", False),
    ]
    out = []
    for r in rows if all(r.kind == "sweep" for r in rows) else by_speed(rows):
        cells = [
            r.variant,
            role(results, r),
            fmt_ratio(results, r),
            fmt_time(r.ns),
            fmt_share(r.spread),
            fmt_fairness(r.fairness),
            fmt(r.retries_mean),
            NOTHING if r.retries_max is None else f"{r.retries_max:.0f}",
            fmt_share(r.fallback_share),
            fmt_share(r.handoff_share),
            fmt_share(r.waiter_share),
            fmt(r.cycles),
            fmt_fairness(r.mutex[0]),
            *(fmt_time(value) for value in r.mutex[1:]),
            NOTHING if r.hold is None else fmt(r.hold / 1e6),
            rounds_cell(results, r),
            "FAILED" if r.failed else "ok",
        ]
        out.append((cells, row_style(results, r)))
    return Table(title, columns, out).without_empty()


def lock_table(results: Results, title: str, rows: list[Row]) -> Table:
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
        Column("handoff", "% of ops"),
        Column("waiters", "% of releases"),
        Column("cycles", "per op"),
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
            check = "FAILED" if bad else "ok"
        cells = [variant, role(results, main)]
        cells += [fmt_ratio(results, r) for r in here]
        cells += [fmt_ns(r) for r in here]
        cells += [fmt_share(r.spread) if r else NOTHING for r in here]
        cells += [
            fmt_fairness(main.fairness),
            fmt_share(main.handoff_share),
            fmt_share(main.waiter_share),
            fmt(main.cycles),
            rounds_cell(results, main),
            check,
        ]
        out.append((cells, "fail" if bad else row_style(results, main)))
    bases = ", ".join(unique([r.baseline for r in rows if r.baseline]))
    if bases:
        title += f"; ratio to {bases}"
    return Table(title, columns, out).without_empty()


def sweep_table(results: Results, title: str, rows: list[Row]) -> Table:
    locks = unique([r.lock for r in rows])
    best = {lock: fastest([r for r in rows if r.lock == lock]) for lock in locks}
    columns = [
        Column("lock", "", False),
        Column("wait", "", False),
        ratio_column(rows),
        Column("time", "ns/op"),
        Column("spread", "% IQR/median"),
        Column("fairness", "least/most"),
        Column("retries mean", "per op"),
        Column("retries largest", "per op"),
        Column("fallback", "% of ops"),
        Column("handoff", "% of ops"),
        Column("waiters", "% of releases"),
        Column("rounds", "count"),
        Column("count check", "", False),
        Column("of the lock", "", False),
    ]
    out = []
    waits = wait_order(rows)
    for r in sorted(rows, key=lambda r: (locks.index(r.lock), waits.index(r.wait))):
        cells = [
            r.lock,
            r.wait,
            fmt_ratio(results, r),
            fmt_time(r.ns),
            fmt_share(r.spread),
            fmt_fairness(r.fairness),
            fmt(r.retries_mean),
            NOTHING if r.retries_max is None else f"{r.retries_max:.0f}",
            fmt_share(r.fallback_share),
            fmt_share(r.handoff_share),
            fmt_share(r.waiter_share),
            rounds_cell(results, r),
            "FAILED" if r.failed else "ok",
            "fastest" if r is best[r.lock] else "",
        ]
        out.append((cells, "fail" if r.failed else ""))
    return Table(title, columns, out).without_empty()


def size_tables(results: Results, table: str) -> list[Table]:
    """A line per size, a column per implementation: GB/s, and the ratio of the times to libc's."""
    rows = results.of(table, "ours", "default", "peer")
    variants = unique([r.variant for r in rows])
    out = []

    def cell(row: Row | None) -> str:
        if row is None:
            return NOTHING
        if row.failed:
            return "FAILED"
        ratio = "" if results.is_baseline(row) else f" ({fmt_ratio(results, row)})"
        return fmt(row.speed) + ratio

    for way in unique([r.way for r in rows]):
        lines = []
        for size in sorted(unique([r.size for r in rows if r.way == way])):
            here = {r.variant: r for r in rows if r.way == way and r.size == size}
            name = re.sub(r"^(\S+ \S+).*", r"\1", next(iter(here.values())).case)
            noise = [r.spread for r in here.values() if r.spread is not None]
            cells = [name, *(cell(here.get(v)) for v in variants), fmt_share(max(noise, default=None))]
            lines.append((cells, "fail" if any(r.failed for r in here.values()) else ""))
        columns = [Column("size")]
        columns += [Column(v, "GB/s" if v == rows[0].baseline else "GB/s (ratio)") for v in variants]
        columns.append(Column("largest spread", "% IQR/median"))
        out.append(Table(f"{table}, {way}", columns, lines).without_empty())
    return out


def measured_tables(results: Results, table: str) -> list[Table]:
    """Every row of the family, each once (R5)."""
    if table in SIZED:
        return size_tables(results, table)
    out = []
    rows = results.of(table, "ours", "default", "peer")
    if table == "spinlock":
        setups = sorted(unique([setup_of(r.case)[0] for r in rows]), key=setup_rank)
        for setup in setups:
            here = [r for r in rows if setup_of(r.case)[0] == setup]
            for threads in group_threads(here):
                words = setup_words(setup)
                title = (
                    f"spinlock, {setup}: {words}" if words != setup else f"spinlock, {setup}, {fmt_threads(threads)}"
                )
                out.append(lock_table(results, title, [r for r in here if r.threads == threads]))
    else:
        for case in unique([r.case for r in rows]):
            here = [r for r in rows if r.case == case]
            for threads in group_threads(here):
                title = f"{table}, {case}, {fmt_threads(threads)}"
                out.append(plain_table(results, title, [r for r in here if r.threads == threads]))
    sweeps = results.of(table, "sweep")
    for case, threads in unique([(r.case, r.threads) for r in sweeps]):
        here = [r for r in sweeps if (r.case, r.threads) == (case, threads)]
        waits = [r for r in here if r.wait]
        others = [r for r in here if not r.wait]
        if waits:
            out.append(sweep_table(results, f"{table}, wait sweep, {case}, {fmt_threads(threads)}", waits))
        if others:
            limits = all(re.fullmatch(r"bounded-\d+", r.variant) for r in others)
            kind = "retry limits" if limits else "sweep"
            out.append(plain_table(results, f"{table}, {kind}, {case}, {fmt_threads(threads)}", others))
    return out


# --------------------------------------------------------------------------------------------
# Published figures beside the measured ones
# --------------------------------------------------------------------------------------------


def refcount_role(name: str) -> str | None:
    """The variant of ours that plays the part of a published row."""
    if name == "atomic":
        return "unchecked"
    if "asm" in name:
        return "asm"
    if "cmpxchg" in name:
        return "cmpxchg"
    return "saturating" if "saturating" in name else None


SPINLOCK_ROLES = {"baseline": "cas", "seqrel": "cas_release", "litmus": "wfe"}


class Sources:
    """Numbers the sources, so that tables stay narrow."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def mark(self, source: str) -> str:
        if source not in self.names:
            self.names.append(source)
        return f"[{self.names.index(source) + 1}]"

    def bullets(self) -> Bullets:
        return Bullets([(f"[{n}]", name, "") for n, name in enumerate(self.names, 1)])


def ratio_to(results: Results, row: Row | None, base_variant: str) -> str:
    """The row's ratio to a named variant of the same case, whatever the results' own baseline is."""
    if row is None:
        return "not measured"
    if row.failed:
        return "FAILED"
    if row.baseline == base_variant:
        return fmt(results.ratio(row))
    base = results.find(row.table, row.case, row.threads, base_variant)
    if base is None or base.failed or not base.ns:
        return NOTHING
    return fmt(row.ns / base.ns)


def ns_cell(row: Row | None) -> str:
    return "not measured" if row is None else "FAILED" if row.failed else fmt_time(row.ns)


def published_refcount(results: Results, published: list[Published], sources: Sources) -> list:
    rows = [p for p in published if p.table == "refcount_timing"]
    if not rows:
        return []
    case = "inc+dec_and_test"
    out = []
    for p in rows:
        base = next((b for b in rows if (b.source, b.machine, b.row) == (p.source, p.machine, "atomic")), None)
        variant = refcount_role(p.row)
        mine = results.find("refcount", case, 1, variant) if variant else None
        value = f"{p.value:.2f}" if p.unit == "s" else f"{p.value / 1e9:.1f}"
        cells = [
            p.machine,
            p.row,
            fmt(p.value / base.value) if base else NOTHING,
            variant or NOTHING,
            ratio_to(results, mine, "unchecked"),
            value,
            "s" if p.unit == "s" else "10^9 cycles" if p.unit == "cycles" else p.unit,
            ns_cell(mine),
            sources.mark(p.source),
        ]
        out.append((cells, "base" if p.row == "atomic" else ""))
    columns = [
        Column("published machine", "", False),
        Column("published row", "", False),
        Column("published ratio", "x atomic"),
        Column("here", "same role", False),
        Column("ratio here", "x unchecked"),
        Column("published", "whole run"),
        Column("unit", "", False),
        Column("here", "ns/op"),
        Column("source", "", False),
    ]
    note = (
        "Published: one thread, 2^31-1 increments and then 2^31 dec-and-tests (LKDTM's timing), the whole run."
        f" Here: one thread, case {case}, each increment followed by its decrement. The ratios compare; the absolute"
        " figures are of different machines and different loops."
    )
    return [Table("refcount: published and measured", columns, out, note)]


def published_spinlock(results: Results, published: list[Published], sources: Sources) -> list:
    rows = [p for p in published if p.table == "spinlock"]
    if not rows:
        return []
    value = {(p.row, p.column): p.value for p in rows}
    mark = ", ".join(unique([sources.mark(p.source) for p in rows]))
    machine = ", ".join(unique([p.machine for p in rows]))
    mine_rows = results.of("spinlock", "ours")
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
        measured = any(find(here, part, v) for v in SPINLOCK_ROLES.values())
        label = f"{here} {part}" if measured else "not measured"
        base = value.get(("baseline", column))
        ratio_cells, per_core, per_op, ours = [], [], [], []
        for name, variant in SPINLOCK_ROLES.items():
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
    names = list(SPINLOCK_ROLES)
    absolute_columns = [Column("published", "case", False), Column("here", "case", False)]
    absolute_columns += [Column(n, "cycles, per core") for n in names]
    absolute_columns += [Column(n, "cycles / cores") for n in names]
    absolute_columns += [Column(v, "ns/op here") for v in SPINLOCK_ROLES.values()]
    who = (
        f"Published: {machine}, source {mark}. Same roles: baseline ~ cas, seqrel ~ cas_release, litmus ~ wfe"
        " (off AArch64, wfe waits by the processor's own spin hint). NC: each core or thread its own lock; C: one"
        " shared."
    )
    unit = (
        "The published figures are cycles that each core spends per operation of its own, so with a perfect contended"
        " lock they grow with the number of cores, while ours are wall time over the operations of all threads:"
        " published cycles / cores (or ours x threads) is the same unit. A ratio within one line is the same either"
        " way."
    )
    return [
        Table("spinlock: published and measured ratios", ratio_columns, ratios, who),
        Table("spinlock: published cycles per op and measured ns per op", absolute_columns, absolutes, unit),
    ]


def published_lockref(results: Results, published: list[Published], sources: Sources) -> list:
    rows = [p for p in published if p.table == "lockref"]
    if not rows:
        return []
    mine = [r for r in results.of("lockref", "ours") if results.cpus is None or r.threads <= results.cpus]
    threads = max((r.threads for r in mine), default=None)

    def find(*variants: str) -> Row | None:
        return next((r for v in variants for r in mine if r.threads == threads and r.variant == v), None)

    unbounded, bounded, locked = find("unbounded"), find("bounded", "bounded-100"), find("locked")

    def over(slow: Row | None, fast: Row | None) -> str:
        if slow is None or fast is None:
            return "not measured"
        if slow.failed or fast.failed:
            return "FAILED"
        if not fast.ns:
            return NOTHING
        return f"{fmt(slow.ns / fast.ns)} ({fast.variant} over {slow.variant})"

    def in_files(variant: str) -> Row | None:
        where = (f"lockref={variant}", "hot file")
        rows = [r for r in results.of("openclose", "ours") if (r.variant, r.case) == where]
        rows = [r for r in rows if results.cpus is None or r.threads <= results.cpus]
        return max(rows, key=lambda r: r.threads, default=None)

    def here(p: Published) -> str:
        if "open" in p.column and in_files("unbounded"):
            if p.row.startswith("bounded (100) over unbounded"):
                return over(in_files("unbounded"), in_files("bounded"))
            if "over unbounded cmpxchg" in p.row or p.row == "lockref disabled over enabled":
                return over(in_files("unbounded"), in_files("locked"))
        if p.row.startswith("unbounded cmpxchg") and "retries" in p.column:
            if unbounded is None or unbounded.retries_mean is None:
                return "not measured"
            return "FAILED" if unbounded.failed else f"{fmt(unbounded.retries_mean)} (unbounded, mean)"
        if p.row.startswith("bounded (100) over unbounded"):
            return over(unbounded, bounded)
        if "over unbounded cmpxchg" in p.row or p.row == "lockref disabled over enabled":
            return over(unbounded, locked)
        if p.row == "retry limits tried":
            limits = [r for r in results.of("lockref") if re.fullmatch(r"bounded-\d+", r.variant)]
            limits = [r for r in limits if r.kind != "sweep" or not r.wait]
            within = [r for r in limits if results.cpus is None or r.threads <= results.cpus] or limits
            limits = [r for r in within if r.threads == max(x.threads for x in within)]
            if limits:
                words = [f"{r.variant[8:]}: {'FAILED' if r.failed else fmt_time(r.ns)}" for r in limits]
                return "ns/op by limit: " + ", ".join(words) + f" ({fmt_threads(limits[0].threads)})"
            return "not measured"
        return NOTHING

    out = []
    for p in rows:
        cells = [
            p.machine,
            p.row,
            p.column,
            f"{p.value:g}",
            p.unit,
            here(p),
            p.note or NOTHING,
            sources.mark(p.source),
        ]
        out.append((cells, ""))
    columns = [
        Column("published machine", "", False),
        Column("published row", "", False),
        Column("quantity", "", False),
        Column("published"),
        Column("unit", "", False),
        Column("here", f"same quantity, {fmt_threads(threads)}" if threads else "", False),
        Column("note", "", False),
        Column("source", "", False),
    ]
    note = (
        "The published rows are as their authors gave them in words, from tests that open, read and close files in a"
        " kernel. Here: where the implementations are named lockref=, the table openclose, one hot file; else a pair of"
        " get and put and nothing else. A speed-up is old time / new time: above 1 is faster."
    )
    return [Table("lockref: published and measured", columns, out, note)]


def published_clear(results: Results, published: list[Published], sources: Sources) -> list:
    rows = [p for p in published if p.table == "clear"]
    if not rows:
        return []
    out = []
    for p in rows:
        same = "16 KiB" if p.column.startswith("16 KiB") else None
        mine = results.find("clear", same, 1, p.row) if same else None
        base = next(b for b in rows if (b.source, b.machine, b.column) == (p.source, p.machine, p.column))
        # A speed or a time: which is better differs, the ratio is of times in both.
        ratio = base.value / p.value if p.unit == "GB/s" else p.value / base.value
        here = "not measured" if mine is None else "FAILED" if mine.failed else f"{fmt(mine.speed)} GB/s"
        cells = [
            p.machine,
            p.row,
            p.column,
            f"{p.value:g}",
            p.unit,
            fmt(ratio),
            here,
            ratio_to(results, mine, base.row) if mine else NOTHING,
            sources.mark(p.source),
        ]
        out.append((cells, "base" if p is base else ""))
    columns = [
        Column("published machine", "", False),
        Column("implementation", "", False),
        Column("quantity", "", False),
        Column("published"),
        Column("unit", "", False),
        Column("ratio of times", f"published, x {rows[0].row}"),
        Column("here", "clear, 16 KiB, aligned", False),
        Column("ratio here", f"x {rows[0].row}"),
        Column("source", "", False),
    ]
    note = (
        "The published 16 KiB are reads of /dev/zero: a system call and a clear of the user's buffer. Here the clear"
        " alone. The test suite of git is not run here."
    )
    return [Table("clear: published and measured", columns, out, note)]


def published_sparse(results: Results, published: list[Published], sources: Sources) -> list:
    out = []
    for p in published:
        if p.table != "sparse_read":
            continue
        variant = "copy a zero page" if p.row == "copy of the zero page" else "clear: original"
        here = []
        for mine, name in ((variant, ""), ("clear: default", ", default")) if "clear" in p.row else ((variant, ""),):
            row = results.find("sparse", "16 KiB buffer", 1, mine)
            if row and row.s_per_tb:
                here.append("FAILED" if row.failed else f"{row.s_per_tb:.1f}{name}")
        cells = [p.machine, p.row, p.column, f"{p.value:g}", p.unit, "; ".join(here) or "not measured"]
        out.append(([*cells, sources.mark(p.source)], ""))
    if not out:
        return []
    columns = [
        Column("published machine", "", False),
        Column("way", "", False),
        Column("quantity", "", False),
        Column("published"),
        Column("unit", "", False),
        Column("here", "s for 1 TB, 16 KiB buffer"),
        Column("source", "", False),
    ]
    note = "Published: read() of the kernel's tmpfs. Here: pread of tmpfs/, without a system call."
    return [Table("sparse: published and measured", columns, out, note)]


def instruction_tables(path: Path) -> list:
    """The reviewed table of instruction counts, by family; it is of four emulated processors, not of this machine."""
    lines = [line.split() for line in read_text(str(path), "restore it").splitlines() if line[:1] not in ("#", "")]
    if not lines or lines[0][:3] != ["family", "operation", "variant"]:
        raise InputError(f"{path}: the first line must begin with family, operation, variant: restore it")
    names = lines[0]
    bad = [line for line in lines if line[0] not in ("gcc", "missed") and len(line) != len(names)]
    if bad:
        raise InputError(f"{path}: '{' '.join(bad[0])[:60]}' has not {len(names)} fields: restore it")
    columns = [Column("operation", "", False), Column("variant", "", False)]
    columns += [Column(name, "instructions") for name in names[3:]]
    out = []
    for family in unique([line[0] for line in lines[1:] if line[0] not in ("gcc", "missed")]):
        rows = [(line[1:], "default" if line[2] == "default" else "") for line in lines[1:] if line[0] == family]
        what = ", bytes" if family in SIZED else ""
        out.append(Table(f"instructions: {family}{what}", columns, rows))
    missed = [("", " ".join(line[1:]), "") for line in lines if line[0] == "missed"]
    if missed:
        out += [Text("Aims that are missed:"), Bullets(missed)]
    return out


# --------------------------------------------------------------------------------------------
# Charts: matplotlib draws with marker colours, which become the page's CSS variables
# --------------------------------------------------------------------------------------------

MARKERS = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "ours": "#040404",
    "default": "#050505",
    "base": "#060606",
    "peer": "#070707",
    "fail": "#080808",
    "paper": "#090909",
    **{f"s{n}": f"#0a0a{n:02x}" for n in range(8)},
}
SHAPES = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")


def pyplot():
    import logging

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    m = MARKERS
    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "holdfast",
            "text.parse_math": False,
            "font.size": 9,
            "axes.titlesize": 9.5,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlecolor": m["ink"],
            "axes.labelcolor": m["muted"],
            "axes.edgecolor": m["muted"],
            "axes.linewidth": 0.7,
            "axes.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "text.color": m["ink"],
            "xtick.color": m["muted"],
            "ytick.color": m["ink"],
            "xtick.labelcolor": m["muted"],
            "ytick.labelcolor": m["ink"],
            "grid.color": m["grid"],
            "grid.linewidth": 0.7,
            "hatch.linewidth": 0.8,
            "legend.frameon": False,
            "legend.labelcolor": m["ink"],
        }
    )
    return plt


def svg_of(plt, chart: Chart) -> str:
    figure = chart.draw(plt)
    out = io.StringIO()
    clean = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.08, metadata=clean)
    plt.close(figure)
    return adopt_svg(out.getvalue(), chart.name, chart.title)


def adopt_svg(svg: str, prefix: str, title: str) -> str:
    """matplotlib's file -> an inline element: no address in it, its ids its own, the page's colours and font."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    for name, marker in MARKERS.items():
        svg = svg.replace(marker, f"var(--{name})")
    svg = re.sub(r"(font: [^;\"]*?[\d.]+px) [^;\"]*", r"\1 var(--font)", svg)
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
    head = re.match(r"<svg[^>]*>", svg)[0]
    box = re.search(r'viewBox="[^"]+"', head)[0]
    label = html.escape(title, quote=True)
    open_tag = f'<svg {box} style="max-width:{width * 1.34:.0f}px" role="img" aria-label="{label}">'
    body = re.sub(r"\n\s*", "\n", svg[len(head) :])
    return (open_tag + body).strip()


def chart_role(results: Results, row: Row) -> str:
    if row.kind == "default":
        return "default"
    if results.is_baseline(row):
        return "base"
    return "peer" if row.kind == "peer" else "ours"


def chart_order(rows: list[Row]) -> list[str]:
    """Labels from top to bottom: the default, ours and the peers, in the file's order."""
    rank = {"default": 0, "ours": 1, "peer": 2, "sweep": 3}
    return unique([r.label for r in sorted(rows, key=lambda r: rank[r.kind])])


def grid_of_panels(plt, count: int, columns: int, lines: int, width: float = 10.6):
    columns = min(columns, count)
    down = math.ceil(count / columns)
    height = down * (0.62 + 0.215 * max(lines, 3))
    figure, axes = plt.subplots(
        down, columns, figsize=(width, height), sharey=True, squeeze=False, layout="constrained"
    )
    flat = [a for line in axes for a in line]
    for spare in flat[count:]:
        spare.set_visible(False)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure, flat[:count]


def plain_log(axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1,) if high / low > 30 else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_bars(
    results: Results, axis, rows: list[Row], order: list[str], value, log: bool, reference=None, limit=None, words=fmt
):
    """One panel: a bar per variant (a dot where the scale is logarithmic), whiskers of half the spread."""
    m = MARKERS
    here = {r.label: r for r in rows}
    known = [value(r) for r in rows if not r.failed and value(r) is not None]
    top = limit or max(known, default=1.0) or 1.0
    low = min([v for v in known if v > 0], default=1.0)
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x")
    axis.spines["left"].set_visible(False)
    if log:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.6, top * 4.5)
        plain_log(axis.xaxis, low, top)
    else:
        axis.set_xlim(0, top * (1.27 if limit is None else 1.16))
    if reference is not None:
        axis.axvline(reference, color=m["ink"], linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    start = axis.get_xlim()[0]
    for y, label in enumerate(order):
        row = here.get(label)
        if row is None:
            axis.annotate(
                "not measured",
                (0, y),
                (4, 0),
                ("axes fraction", "data"),
                "offset points",
                va="center",
                color=m["muted"],
                fontsize=8,
            )
            continue
        v = value(row)
        if row.failed:  # R1
            length = min(row.ns, top) if row.ns and not log and limit is None and reference is None else top * 0.3
            if not log:
                axis.barh(
                    y,
                    length,
                    height=0.62,
                    facecolor="none",
                    edgecolor=m["fail"],
                    hatch="/////",
                    linewidth=0.9,
                )
            at = length if not log else start
            axis.annotate(
                "FAILED",
                (at, y),
                (5, 0),
                "data",
                "offset points",
                va="center",
                color=m["fail"],
                fontsize=8,
                fontweight="bold",
            )
            continue
        if v is None:
            axis.annotate(
                "no valid baseline",
                (start, y),
                (4, 0),
                "data",
                "offset points",
                va="center",
                color=m["muted"],
                fontsize=8,
            )
            continue
        colour = m[chart_role(results, row)]
        half = v * (row.spread or 0) / 2 if limit is None else 0
        if log:
            axis.plot([start, v], [y, y], color=colour, linewidth=1.0, zorder=2)
            axis.plot([v], [y], "o", color=colour, markersize=5, zorder=3)
        else:
            axis.barh(y, v, height=0.62, color=colour, zorder=2)
        if half > 0 and not (log and half < 0.1 * v):  # a shorter one would hide in the dot
            axis.errorbar(v, y, xerr=min(half, v * 0.9), color=m["ink"], linewidth=0.9, capsize=2, zorder=4)
        at = v + half if limit is None else max(v, limit)  # fairness: in one column, clear of the dashed line
        clear = {"facecolor": m["paper"], "edgecolor": "none", "pad": 0.6}  # of the dashed line
        look = {"fontsize": 8, "color": m["ink"], "va": "center", "bbox": clear}
        axis.annotate(words(v), (at, y), (5, 0), "data", "offset points", **look)


def few(values: list, most: int) -> list:
    """The first, the last and some between, closer together at the beginning."""
    if len(values) <= most:
        return values
    last = len(values) - 1
    chosen = {0, last} | {round((last + 1) ** (n / (most - 1))) - 1 for n in range(most)}
    return [values[n] for n in sorted(chosen)]


def is_wide(values: list[float]) -> bool:
    good = [v for v in values if v]
    return bool(good) and max(good) / min(good) > 20


def bars_chart(
    name: str,
    title: str,
    caption: str,
    results: Results,
    panels: list[tuple[str, list[Row]]],
    value,
    unit: str,
    columns: int,
    log: bool = False,
    reference=None,
    limit=None,
    words=fmt,
) -> Chart:
    panels = [(t, rows) for t, rows in panels if rows]
    order = chart_order([r for _, rows in panels for r in rows])

    def is_log(rows: list[Row]) -> bool:
        return log or (limit is None and is_wide([value(r) for r in rows if not r.failed]))

    def draw(plt):
        figure, axes = grid_of_panels(plt, len(panels), columns, len(order))
        for axis, (panel_title, rows) in zip(axes, panels):
            draw_bars(results, axis, rows, order, value, is_log(rows), reference, limit, words)
            axis.set_title(panel_title)
            axis.set_xlabel(unit + (", log scale" if is_log(rows) else ""))
        return figure

    if not log and any(is_log(rows) for _, rows in panels):
        caption += " A panel whose values differ more than twentyfold has a logarithmic scale and dots."
    return Chart(name, title, caption, draw)


WHISKER = "Whiskers: half the spread (IQR) to either side."


def series_styles(results: Results, rows: list[Row]) -> dict[str, dict]:
    styles = {}
    for n, label in enumerate(chart_order(rows)):
        row = next(r for r in rows if r.label == label)
        styles[label] = {
            "color": MARKERS[f"s{n % 8}"],
            "marker": SHAPES[n % len(SHAPES)],
            "linestyle": DASHES[0] if row.kind != "peer" else DASHES[1],
            # The default is one of the others under another name: a broad line below them.
            "linewidth": 6 if row.kind == "default" else 1.4,
            "alpha": 0.45 if row.kind == "default" else 1,
            "markersize": 10 if row.kind == "default" else 5,
            "zorder": 2 if row.kind == "default" else 3,
        }
    return styles


def lines_chart(name: str, title: str, caption: str, results: Results, rows: list[Row], panels: list[tuple]) -> Chart:
    """Panels of value against threads; panels: (title, unit, value of row, symmetric-log scale)."""
    panels = [p for p in panels if any(p[2](r) is not None for r in rows)] or panels[:1]
    styles = series_styles(results, rows)
    threads = group_threads(rows)

    def draw(plt):
        down = math.ceil(len(styles) / 4)
        height = 2.7 + 0.2 * down
        figure, axes = plt.subplots(1, len(panels), figsize=(10.6, height), squeeze=False, layout="constrained")
        for axis, (panel_title, unit, value, symlog) in zip(axes[0], panels):
            for label, style in styles.items():
                mine = {r.threads: r for r in rows if r.label == label}
                points = [(t, value(r)) for t, r in sorted(mine.items()) if not r.failed and value(r) is not None]
                if points:
                    axis.plot(*zip(*points), label=label, **style)
            for r in rows:
                if r.failed:  # R1
                    axis.annotate(
                        "x",
                        (r.threads, 0.02),
                        xycoords=("data", "axes fraction"),
                        ha="center",
                        color=MARKERS["fail"],
                        fontweight="bold",
                    )
            if len(threads) > 1 and threads[-1] / threads[0] > 8:
                axis.set_xscale("log", base=2)
            ticks = few(threads, 8)
            axis.set_xticks(ticks, [str(t) for t in ticks])
            axis.minorticks_off()
            pad = 1.15 if axis.get_xscale() == "log" else None
            axis.set_xlim(*((threads[0] / pad, threads[-1] * pad) if pad else (threads[0] - 0.4, threads[-1] + 0.4)))
            if symlog:
                axis.set_yscale("symlog", linthresh=1)
                axis.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
            axis.margins(y=0.08)
            flat = not any(value(r) for r in rows if not r.failed)
            axis.set_ylim(0, 1 if flat else None)
            axis.set_title(panel_title)
            axis.set_xlabel("threads")
            axis.set_ylabel(unit)
            axis.grid(True)
        handles = {}
        for axis in axes[0]:
            for handle, label in zip(*axis.get_legend_handles_labels()):
                handles.setdefault(label, handle)
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8.5)
        return figure

    if any(r.failed for r in rows):
        names = ", ".join(f"{r.label} at {fmt_threads(r.threads)}" for r in rows if r.failed)
        caption += f" FAILED, marked x on the axis and not drawn: {names}."
    return Chart(name, title, caption, draw, legend=False)


def wait_chart(results: Results, table: str, name: str, title: str, value, unit: str, caption: str) -> Chart | None:
    """A line per lock, a mark per way to wait."""
    rows = [r for r in results.of(table, "sweep") if r.wait and (r.failed or value(r) is not None)]
    if not rows:
        return None
    cases = few(unique([(r.case, r.threads) for r in rows]), 4)
    locks = unique([r.lock for r in rows])
    waits = wait_order(rows)
    colours = {w: MARKERS[f"s{n % 8}"] for n, w in enumerate(waits)}
    shapes = {w: SHAPES[n % len(SHAPES)] for n, w in enumerate(waits)}

    def draw_panel(axis, here: list[Row]) -> None:
        values = [value(r) for r in here if not r.failed and value(r)]
        wide = unit.startswith("ns") and bool(values) and max(values) / min(values) > 5
        axis.set_yticks(range(len(locks)), locks)
        axis.set_ylim(len(locks) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.grid(axis="both")
        axis.set_xlabel(unit + (", log scale" if wide else ""))
        if wide:
            axis.set_xscale("log")
            plain_log(axis.xaxis, min(values), max(values))
        elif values:
            axis.set_xlim(0, max(values) * 1.1)
        for y, lock in enumerate(locks):
            mine = [r for r in here if r.lock == lock]
            good = [r for r in mine if not r.failed]
            ends = [value(r) for r in good if value(r)]
            if ends:
                axis.plot([min(ends), max(ends)], [y, y], color=MARKERS["muted"], linewidth=0.9, zorder=1)
            for r in good:
                shift = (waits.index(r.wait) - (len(waits) - 1) / 2) * 0.5 / len(waits)
                axis.plot([value(r)], [y + shift], shapes[r.wait], color=colours[r.wait], markersize=6, zorder=3)
            failed = ", ".join(r.wait for r in mine if r.failed)
            if failed:  # R1
                at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
                look = {"color": MARKERS["fail"], "fontsize": 7.5, "fontweight": "bold", "va": "center"}
                axis.annotate(f"{failed} FAILED", (0.02, y), (0, -8), **at, **look)

    def draw(plt):
        from matplotlib.lines import Line2D

        figure, axes = grid_of_panels(plt, len(cases), 2, len(locks) * 1.6 + 2)
        for axis, (case, threads) in zip(axes, cases):
            draw_panel(axis, [r for r in rows if (r.case, r.threads) == (case, threads)])
            axis.set_title(f"{case}, {fmt_threads(threads)}")
        handles = [Line2D([], [], linestyle="", marker=shapes[w], color=colours[w], markersize=6) for w in waits]
        columns = 4 if len(waits) <= 4 else 7
        figure.legend(handles, [f"wait = {w}" for w in waits], loc="outside lower center", ncols=columns, fontsize=8.5)
        return figure

    return Chart(name, title, caption, draw, legend=False)


def wait_charts(results: Results, table: str) -> list[Chart | None]:
    about = "Time of an operation per way to wait, one line per lock; further left is faster."
    if set(wait_order(results.of(table, "sweep"))) <= set(WAITS):
        about += (
            " none: plain loop; hint: the processor's spin hint; backoff: growing pauses; monitor: waits for the cache"
            " line to change."
        )
    out = [wait_chart(results, table, f"{table}-wait", f"{table}: how to wait", lambda r: r.ns, "ns per op", about)]
    if table == "handoff":
        title = "handoff: operations that got the lock from another thread"
        about = "More is not better or worse by itself: it tells how often the lock's cache line had to move."
        percent = lambda r: None if r.handoff_share is None else r.handoff_share * 100  # noqa: E731
        out.append(wait_chart(results, table, "handoff-share", title, percent, "% of operations", about))
    return out


def size_chart(name: str, title: str, caption: str, rows: list[Row], styles: dict, value, unit: str, lines) -> Chart:
    """Panels of value against size, one for each way; lines: values that are marked."""
    ways = unique([r.way for r in rows])

    def size_words(size: float) -> str:
        for power, word in ((20, "M"), (10, "K")):
            if size >= 1 << power:
                return f"{size / (1 << power):.0f} {word}iB"
        return f"{size:.0f} B"

    def draw(plt):
        figure, axes = plt.subplots(1, len(ways), figsize=(10.6, 3.9), squeeze=False, sharey=True, layout="constrained")
        for axis, way in zip(axes[0], ways):
            here = [r for r in rows if r.way == way]
            for label, style in styles.items():
                mine = sorted((r.size, r) for r in here if r.label == label)
                points = [(size, value(r)) for size, r in mine if not r.failed and value(r)]
                if points:
                    axis.plot(*zip(*points), label=label, **style)
            for r in here:
                if r.failed:  # R1
                    at = {"xycoords": ("data", "axes fraction"), "ha": "center"}
                    axis.annotate("x", (r.size, 0.02), color=MARKERS["fail"], fontweight="bold", **at)
            for line in lines:
                axis.axhline(line, color=MARKERS["ink"], linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            values = [value(r) for r in rows if not r.failed and value(r)] or [1.0]
            plain_log(axis.yaxis, min(values), max(values))
            sizes = sorted(unique([r.size for r in here]))
            ticks = few(sizes, 2) if len(sizes) < 4 else [s for s in sizes if s in (1, 16, 256, 4096, 65536, 1 << 20)]
            ticks = unique([*ticks, sizes[-1]])
            axis.set_xticks(ticks, [size_words(s) for s in ticks], fontsize=8)
            axis.minorticks_off()
            axis.set_title(way)
            axis.set_xlabel("size")
            axis.grid(True)
        axes[0][0].set_ylabel(unit)
        handles = {}
        for axis in axes[0]:
            for handle, label in zip(*axis.get_legend_handles_labels()):
                handles.setdefault(label, handle)
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize=8.5)
        return figure

    if any(r.failed for r in rows):
        caption += " FAILED, marked x on the axis and not drawn: " + ", ".join(
            f"{r.variant} at {r.case}" for r in rows if r.failed
        )
    return Chart(name, title, caption, draw, legend=False)


def size_charts(results: Results, table: str) -> list[Chart]:
    rows = results.of(table, "ours", "default", "peer")
    if not rows:
        return []
    styles = series_styles(results, rows)
    for label, style in styles.items():
        style["markersize"] = 3
        if any(r.label == label and r.kind == "peer" for r in rows):
            style["color"] = MARKERS["ink"]
    speed = "Bytes in a nanosecond, over the size of the operation; higher is faster. Both scales are logarithmic."
    ratio = (
        "Time of an operation over that of libc in the same case; lower is faster. The dashed lines: 1, and 1.25,"
        " which is 0.8 of libc's speed."
    )
    return [
        size_chart(f"{table}-speed", f"{table}: speed by size", speed, rows, styles, lambda r: r.speed, "GB/s", ()),
        size_chart(
            f"{table}-ratio",
            f"{table}: time over libc's, by size",
            ratio,
            [r for r in rows if not results.is_baseline(r)],
            styles,
            results.ratio,
            "ratio",
            (1.0, 1.25),
        ),
    ]


def charts(results: Results, table: str) -> list[Chart]:
    if table in SIZED:
        return size_charts(results, table)
    rows = results.of(table, "ours", "default", "peer")
    out: list[Chart | None] = []
    by_ns = lambda r: r.ns  # noqa: E731
    if table == "spinlock":
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
                    3,
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
                    2,
                    log=True,
                )
            )
    elif table != "lockref" and rows:
        panels = [
            (f"{c}, {fmt_threads(t)}", [r for r in rows if (r.case, r.threads) == (c, t)])
            for c in unique([r.case for r in rows])
            for t in few(group_threads([r for r in rows if r.case == c]), 4)
        ]
        bases = unique([r.baseline for r in rows if r.baseline])
        base = bases[0] if len(bases) == 1 else "the baseline"
        out.append(
            bars_chart(
                f"{table}-ratio",
                f"{table}: ratio to {base}",
                f"Time of an operation over that of {base} in the same case (dashed line: 1); shorter is faster."
                f" {WHISKER}",
                results,
                panels,
                results.ratio,
                f"ratio to {base}",
                2,
                reference=1.0,
            )
        )
    elif rows:
        throughput = lambda r: 1000 / r.ns if r.ns else None  # noqa: E731
        for case in unique([r.case for r in rows]):
            limit = re.compile(r"bounded-(?!100$)\d+")
            here = [r for r in rows if r.case == case and not limit.fullmatch(r.variant)]
            suffix = "" if len(unique([r.case for r in rows])) == 1 else f", {case}"
            panels = [
                ("Throughput, all threads", "million ops per second", throughput, False),
                ("Retries, mean", "retries per op", lambda r: r.retries_mean, False),
                ("Retries, largest", "retries of one op, log scale", lambda r: r.retries_max, True),
            ]
            out.append(
                lines_chart(
                    f"lockref-{len(out)}",
                    f"lockref: throughput and retries against threads{suffix}",
                    f"{case}. Throughput: higher is faster. Retries: of the compare-and-swap, before it succeeds"
                    " or falls back to the lock. Of the retry limits only 100 is drawn; the tables have all.",
                    results,
                    here,
                    panels,
                )
            )
    out.append(fairness_chart(results, table, rows))
    out += wait_charts(results, table)
    return [c for c in out if c is not None]


def fairness_chart(results: Results, table: str, rows: list[Row]) -> Chart | None:
    shared = [r for r in rows if r.threads > 1 and r.fairness is not None and setup_of(r.case)[1] == "total"]
    shared = [r for r in shared if not setup_of(r.case)[0].endswith("NC")]
    if not shared:
        return None
    cases = unique([r.case for r in shared])
    if table == "spinlock":
        cases.sort(key=lambda c: setup_rank(setup_of(c)[0]))
    panels = [
        (f"{c}, {fmt_threads(t)}", [r for r in shared if (r.case, r.threads) == (c, t)])
        for c in cases
        for t in group_threads([r for r in shared if r.case == c])
    ]
    return bars_chart(
        f"{table}-fair",
        f"{table}: fairness",
        "Operations of the thread that had least over those of the thread that had most; 1 is even."
        f" Dashed line: {FAIR}, the least that counts as best.",
        results,
        few(panels, 6),
        lambda r: r.fairness,
        "fairness, 0 to 1",
        3,
        reference=FAIR,
        limit=1.0,
        words=fmt_fairness,
    )


# --------------------------------------------------------------------------------------------
# The document
# --------------------------------------------------------------------------------------------

CASES = {
    "refcount": "inc+dec_and_test: take and drop a reference. inc_not_zero+put: take one only if the count is not"
    " zero, and drop it. rcuref does that without a loop, for memory that outlives the count.",
    "spinlock": "1: one thread. kNC: k threads, each with its own lock and variable in its own cache line. kC: k"
    " threads share one lock and one variable. oversubscribed: more threads than CPUs share one lock. total is"
    " measured without timestamps; lock and unlock are from runs of their own, less what the timestamps cost, and are 0"
    " where that leaves nothing.",
    "mutex": "alone: one thread. contended: one thread on each CPU, one lock and one variable. oversubscribed: more"
    " threads than CPUs. In 100 ms: fairness within slices of that length, their mean. CPU time: of all threads, waiters"
    " too, per operation. wait: how long lock() takes, in a run of its own with a timestamp before and after.",
    "handoff": "contended: all threads share one ticket or mcs lock; only what a waiter does between two looks at it"
    " differs. Handoff: operations that got the lock from another thread. Waiters: releases that found somebody"
    " waiting.",
    "clear": "hf_clear_nofault beside memset. aligned and misaligned (by 1): one buffer again and again, in the caches as"
    " far as it fits. cold: each operation on memory that was last touched 64 MiB ago. The other columns are the"
    " implementations called by themselves; default chooses by size.",
    "copy": "hf_copy_nofault beside memcpy; misaligned: the destination by 1, the source by 3. Otherwise as clear.",
    "loop": "The library's loop over words, compiled twice: with its sites, and with plain accesses in their place.",
    "fault": "One fault and its recovery. bare SIGSEGV: a handler that does nothing but step over the instruction.",
    "guard": "A copy that meets no fault, and other ways to survive one: sigsetjmp before memcpy, process_vm_readv on"
    " oneself, and a pipe that is written and read.",
    "lockref": "get+put: take and drop a reference on one shared lockref. Fallback: operations that took the lock.",
    "openclose": "open, read 64 bytes and close in the file system that is made of the primitives (tmpfs/), built once"
    " with each implementation; each thread has its own table of descriptors. hot file: one file for all threads. file"
    " each: a file per thread, in one directory. 4 deep: one file, four directories down. After each run the tree is"
    " walked and every count proved. The kernel's tmpfs is reached by system calls: a different road, for scale.",
    "sparse": "Reading a file of 64 GiB that is one hole, through a buffer: by clearing the buffer, with each"
    " implementation, or by copying a page of zeros into it again and again.",
    "holder": "get+put by all threads but one, which works for 1 ms under the lock and for 1 ms without, again and"
    " again. spins, parks: what those do who wait for the lock half. CPU time: what an operation costs the others, waiting"
    " included. Hold: how long the millisecond of work takes.",
}


def reading_items(results: Results) -> list[tuple[str, str, str]]:
    rounds = f"the {results.rounds} rounds" if results.rounds else "the rounds"
    words = [
        (
            "ratio",
            "time of an operation over that of the named baseline in the same case; below 1 is faster.",
        ),
        ("ns/op", f"median over {rounds} of wall time / operations of all threads."),
        ("spread", "inter-quartile range over the rounds / median."),
        ("fairness", "operations of the thread that had least / of the thread that had most; 1 is even."),
        (
            "count check",
            "after each run the counter is compared with the operations done. FAILED: it was wrong, so the row's"
            " figures are shown, but take part in no comparison.",
        ),
    ]
    if (results.cpus or 1) > 4:
        words.append(("charts", "of many numbers of threads they show some; the tables have all."))
    return [(name, text, "") for name, text in words]


def machine_items(results: Results) -> list[tuple[str, str, str]]:
    first = ["cpu", "cpus", "kernel", "compiler", "governor", "date"]
    names = [n for n in first if n in results.machine] + [n for n in results.machine if n not in first]
    items = [("CPUs" if n == "cpus" else "CPU" if n == "cpu" else n, str(results.machine[n]), "") for n in names]
    units = {"window_ms": ("window", "ms"), "ns_per_tick": ("clock tick", "ns")}
    for key, value in results.settings.items():
        label, unit = units.get(key, (key, ""))
        own = key in ("window_ms", "rounds") and value == 0
        items.append((label, "each table's own" if own else f"{value} {unit}".strip(), ""))
    return items


def limit_items(results: Results) -> list[tuple[str, str, str]]:
    items = [("", limit, "") for limit in results.limits]
    for peer in results.missing_peers:
        package = peer.get("package")
        words = "not found when the lab was built, so not in the tables"
        items.append((peer["peer"], words + (f"; its package is {package}." if package else "."), ""))
    return items


def failed_items(results: Results) -> list[tuple[str, str, str]]:
    return [
        (f"{r.table} / {r.variant}", f"{r.case}, {fmt_threads(r.threads)}: the count was wrong.", "fail")
        for r in results.rows
        if r.failed
    ]


def build(results: Results, published: list[Published], tables_only: bool) -> list:
    blocks: list = [Section("Machine"), Bullets(machine_items(results))]
    failed = failed_items(results)
    if tables_only:
        for table in results.tables():
            blocks += [Section(table), *measured_tables(results, table)]
        if failed:
            blocks += [Section("Failed rows"), Bullets(failed)]
        return blocks

    limits = limit_items(results)
    blocks += [Section("What could not be done here", 2)]
    blocks += [Bullets(limits)] if limits else [Text("The lab named no limit.")]
    blocks += [Section("How to read the figures", 2), Bullets(reading_items(results))]

    blocks += [Section("Verdict")]
    if failed:
        blocks += [
            Text(f"{len(failed)} of {len(results.rows)} rows FAILED the check of the count:", "fail"),
            Bullets(failed),
        ]
    blocks += [regret_table(results)]
    for table in results.tables():
        judged = verdicts(results, table)
        blocks += [Section(f"{table}: verdict", 2), Text(summary_words(results, table, judged))]
        blocks += [Bullets([(v.name, "\n".join(verdict_lines(v)), "") for v in judged] + wait_words(results, table))]
    blocks += [
        Text(
            "Peers are measured as they are. They do not all promise what ours do: a plain shared count, for one,"
            " checks for no overflow, and so does less work.",
            "note",
        )
    ]

    for table in results.tables():
        blocks += [Section(table)]
        if table in CASES:
            blocks += [Text(CASES[table], "note")]
        blocks += charts(results, table)
        blocks += measured_tables(results, table)

    blocks += [
        Section("instructions"),
        Text(
            "What one call executes, its return included, while nobody else is there. Not measured here: counted by an"
            " emulator of each processor (make instructions), and the same on every machine. x86's string"
            " instructions count as one.",
            "note",
        ),
        *instruction_tables(INSTRUCTIONS),
    ]

    sources = Sources()
    beside = []
    for maker in (published_refcount, published_spinlock, published_lockref, published_clear, published_sparse):
        beside += maker(results, published, sources)
    if beside:
        blocks += [
            Section("Published figures beside these"),
            *beside,
            Section("Sources", 2),
            sources.bullets(),
        ]
    return blocks


# --------------------------------------------------------------------------------------------
# Terminal
# --------------------------------------------------------------------------------------------

TERMINAL_STYLES = {
    "base": "cyan",
    "default": "bold",
    "peer": "yellow",
    "fail": "bold red",
    "total": "bold",
    "": "",
}


def render_terminal(blocks: list, title: str, stream) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    tty = stream.isatty()
    # Rich cuts or folds what is wider than its console. So its console is wide, and where a table is wider than the
    # terminal, the terminal wraps the lines.
    console = Console(
        file=stream, width=1000, highlight=False, markup=False, emoji=False, no_color=None if tty else True
    )
    width = min(shutil.get_terminal_size().columns, 100) if tty else 100

    def say(text: str, style: str = "", first: str = "", rest: str = "") -> None:
        for line in textwrap.wrap(
            text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
        ):
            console.print(RichText(line, style=style), soft_wrap=True)

    def head(column: Column, room: int) -> RichText:
        lines = [textwrap.wrap(t, max(room, 12), break_long_words=False) for t in (column.name, column.unit)]
        return RichText("\n".join(lines[0] + lines[1]))

    def show(table: Table) -> None:
        grid = RichTable(box=box.SIMPLE if tty else box.ASCII, show_edge=False, pad_edge=False)
        grid.padding = (0, 1, 0, 0) if tty else (0, 1)
        for n, c in enumerate(table.columns):
            longest = max((len(cells[n]) for cells, _ in table.rows), default=0)
            fold = 30 if tty and not c.number and longest > 30 else None
            grid.add_column(
                head(c, longest),
                justify="right" if c.number else "left",
                vertical="top",
                overflow="fold",
                no_wrap=fold is None,
                max_width=fold,
            )
        for cells, style in table.rows:
            grid.add_row(*[RichText(c) for c in cells], style=TERMINAL_STYLES[style])
        console.print(grid)

    console.print(RichText(title, style="bold"), soft_wrap=True)
    for block in blocks:
        if isinstance(block, Section):
            console.print()
            say(block.title, "bold")
            say(("=" if block.level == 1 else "-") * len(block.title))
        elif isinstance(block, Text):
            say(block.text, {"fail": "bold red", "note": "dim"}.get(block.style, ""))
        elif isinstance(block, Bullets):
            for lead, words, style in block.items:
                colour = TERMINAL_STYLES.get(style, "")
                if "\n" in words:
                    say(lead, "bold", "  - ", "    ")
                    for line in words.split("\n"):
                        say(line, colour, "      ", "        ")
                else:
                    say(f"{lead}: {words}" if lead else words, colour, "  - ", "    ")
        elif isinstance(block, Table):
            console.print()
            say(block.title, "bold")
            show(block)
            if block.note:
                say(block.note, "dim")


# --------------------------------------------------------------------------------------------
# HTML
# --------------------------------------------------------------------------------------------

CSS = """
:root {
  color-scheme: light dark;
  --font: system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", Arial, sans-serif;
  --paper: #ffffff; --panel: #f6f7f9; --ink: #1b1f24; --muted: #59626d; --grid: #dde1e6;
  --ours: #2f6fb3; --default: #15795a; --base: #848c96; --peer: #b8660f; --fail: #bf2f24;
  --default-row: #e8f4ee; --fail-row: #fbeae8;
  --s0: #15795a; --s1: #2f6fb3; --s2: #b8660f; --s3: #a2398f;
  --s4: #5b5fc7; --s5: #8a7500; --s6: #cf4a5b; --s7: #5f6873;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --panel: #1c2026; --ink: #e4e7eb; --muted: #a2abb5; --grid: #343b44;
    --ours: #6ea8e6; --default: #4fc39a; --base: #8d96a1; --peer: #e2a052; --fail: #ff7d70;
    --default-row: #17302a; --fail-row: #3a1f1d;
    --s0: #4fc39a; --s1: #6ea8e6; --s2: #e2a052; --s3: #e08ad0;
  --s4: #a3a6ff; --s5: #cdb94a; --s6: #ff8a98; --s7: #a2abb5;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 var(--font); }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 25px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 46px 0 10px; padding-top: 14px; border-top: 1px solid var(--grid); }
h3 { font-size: 16px; margin: 26px 0 6px; }
p { margin: 8px 0; max-width: 860px; }
p.note, .caption, .table-note { color: var(--muted); font-size: 13.5px; }
p.fail { color: var(--fail); font-weight: 600; }
p.lead { color: var(--muted); margin-top: 0; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 16px 0 0; font-size: 14px; }
a { color: var(--ours); }
ul { margin: 8px 0; padding-left: 20px; max-width: 860px; }
li { margin: 4px 0; }
li.fail { color: var(--fail); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 8px 0; max-width: 860px; }
dt { color: var(--muted); } dd { margin: 0; }
.table { margin: 18px 0 22px; }
.scroll { overflow-x: auto; }
caption, .title { text-align: left; font-weight: 600; padding: 0 0 6px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 9px 4px 7px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }
th { background: var(--panel); font-weight: 600; vertical-align: bottom; line-height: 1.25; }
th span { display: block; font-weight: 400; color: var(--muted); font-size: 12px; }
th.n, td.n { text-align: right; white-space: nowrap; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 150px; }
tr.default td { background: var(--default-row); font-weight: 600; }
tr.default td:first-child { box-shadow: inset 3px 0 var(--default); }
tr.base td:first-child { box-shadow: inset 3px 0 var(--base); }
tr.peer td:first-child { box-shadow: inset 3px 0 var(--peer); }
tr.fail td { background: var(--fail-row); color: var(--fail); }
tr.fail td:first-child { box-shadow: inset 3px 0 var(--fail); }
tr.total td { font-weight: 600; }
.table-note { margin: 6px 0 0; }
figure { margin: 20px 0 26px; }
figure svg { display: block; width: 100%; height: auto; }
.caption { margin: 4px 0 0; max-width: 860px; }
.key { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; color: var(--muted); margin: 0 0 6px; }
.key i { display: inline-block; width: 11px; height: 11px; margin-right: 6px; border-radius: 2px; }
.key i.failed {
  border: 1px solid var(--fail);
  background: repeating-linear-gradient(135deg, var(--fail) 0 1px, transparent 1px 4px);
}
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .scroll { overflow: visible; } table { font-size: 7.8pt; } th span { font-size: 6.8pt; }
  th, td { padding: 2px 6px 2px 4px; } td { white-space: normal; }
  h2, h3 { break-after: avoid; } figure, tr, .table { break-inside: avoid; } thead { display: table-header-group; }
  .title { break-after: avoid; }
}
"""

KEY = (
    '<p class="key"><span><i style="background:var(--default)"></i>default</span>'
    '<span><i style="background:var(--ours)"></i>ours</span>'
    '<span><i style="background:var(--base)"></i>baseline</span>'
    '<span><i style="background:var(--peer)"></i>peer</span>'
    '<span><i class="failed"></i>FAILED the count check</span></p>'
)


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def text_html(text: str) -> str:
    return html.escape(text).replace(" %", "\u00a0%")


def cell_class(column: Column, text: str) -> str:
    return " class=n" if column.number else " class=long" if len(text) > 26 else ""


def html_table(block: Table) -> str:
    e = text_html
    heads = "".join(
        f'<th scope="col"{" class=n" if c.number else ""}>{e(c.name)}'
        + (f"<span>{e(c.unit)}</span>" if c.unit else "")
        + "</th>"
        for c in block.columns
    )
    body = []
    for cells, style in block.rows:
        tds = "".join(f"<td{cell_class(c, t)}>{e(t)}</td>" for c, t in zip(block.columns, cells))
        body.append(f"<tr{f' class={style}' if style else ''}>{tds}</tr>")
    note = f'<p class="table-note">{e(block.note)}</p>' if block.note else ""
    rows = "\n".join(body)
    return (
        f'<div class="table"><div class="title">{e(block.title)}</div><div class="scroll"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>{note}</div>"
    )


def html_bullets(block: Bullets) -> str:
    e = text_html
    if all(lead and len(lead) <= 14 and not style for lead, _, style in block.items):
        return "<dl>" + "".join(f"<dt>{e(lead)}</dt><dd>{e(words)}</dd>" for lead, words, _ in block.items) + "</dl>"
    items = []
    for lead, words, style in block.items:
        mark = f' class="{style}"' if style else ""
        if "\n" in words:
            lines = "".join(f"<br>{e(line)}" for line in words.split("\n"))
            items.append(f"<li{mark}><b>{e(lead)}</b>{lines}</li>")
        else:
            items.append(f"<li{mark}>" + (f"<b>{e(lead)}:</b> " if lead else "") + f"{e(words)}</li>")
    return "<ul>" + "\n".join(items) + "</ul>"


def render_html(blocks: list, title: str, lead: str) -> str:
    e = text_html
    plt = pyplot() if any(isinstance(b, Chart) for b in blocks) else None
    links = [b for b in blocks if isinstance(b, Section) and b.level == 1]
    parts = [
        f"<h1>{e(title)}</h1>",
        f'<p class="lead">{e(lead)}</p>',
        "<nav>" + "".join(f'<a href="#{slug(s.title)}">{e(s.title)}</a>' for s in links) + "</nav>",
    ]
    for b in blocks:
        if isinstance(b, Section):
            tag = "h2" if b.level == 1 else "h3"
            parts.append(f'<{tag} id="{slug(b.title)}">{e(b.title)}</{tag}>')
        elif isinstance(b, Text):
            parts.append(f"<p{f' class={b.style}' if b.style else ''}>{e(b.text)}</p>")
        elif isinstance(b, Bullets):
            parts.append(html_bullets(b))
        elif isinstance(b, Table):
            parts.append(html_table(b))
        elif isinstance(b, Chart):
            key = KEY if b.legend else ""
            parts.append(
                f'<figure><div class="title">{e(b.title)}</div>{key}{svg_of(plt, b)}'
                f'<figcaption class="caption">{e(b.caption)}</figcaption></figure>'
            )
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{e(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


# --------------------------------------------------------------------------------------------
# Command line
# --------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"report.py: {message}: see report.py --help\n")


def need(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        where = HERE / "requirements.txt"
        raise InputError(f"the Python package '{module}' is not installed: pip install -r {where}") from None


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="report.py", description="Show what the Holdfast lab measured.")
    parser.add_argument("results", metavar="RESULTS.json", help="written by `hf-lab all --json`")
    parser.add_argument("--html", metavar="FILE", help="also write one self-contained HTML page")
    parser.add_argument(
        "--published",
        metavar="FILE",
        default=str(PUBLISHED),
        help="published figures (default: lab/reference/published.csv)",
    )
    parser.add_argument(
        "--tables-only",
        action="store_true",
        help="the measured tables only: no verdict, no published figures, no charts (and so no matplotlib)",
    )
    return parser.parse_args(argv)


def run(argv: list[str], stream) -> int:
    args = arguments(argv)
    need("rich")
    if args.html and not args.tables_only:
        need("matplotlib")
    results = load_results(args.results)
    published = [] if args.tables_only else load_published(args.published)
    title = "Holdfast lab report"
    blocks = build(results, published, args.tables_only)
    page = None
    if args.html:
        cpu, date = results.machine.get("cpu"), results.machine.get("date")
        lead = ", ".join(str(x) for x in (f"Holdfast {results.version}", cpu, date) if x)
        page = render_html(blocks, title, lead)
    render_terminal(blocks, f"{title} (Holdfast {results.version})", stream)
    if page is not None:
        try:
            Path(args.html).write_text(page, encoding="utf-8")
        except OSError as e:
            raise InputError(f"cannot write {args.html} ({e.strerror}): name a file in a folder that exists") from None
        print(f"\nHTML: {args.html}", file=stream)
    return 0


def main(argv: list[str] | None = None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        return run(sys.argv[1:] if argv is None else argv, sys.stdout)
    except InputError as e:
        print(f"report.py: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
