# SPDX-License-Identifier: MIT
"""The data: what a file of results holds, whatever its tables are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FAIR = 0.95
KINDS = ("ours", "default", "peer", "sweep", "again")


class InputError(Exception):
    """What happened, to what, and what to do next; one line."""


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
    implements: str | None = None  # "is" in the file
    wait: str | None = None
    base_variant: str | None = None
    waiter: str | None = None  # of a lock: "parks" or "spins"
    why: str | None = None  # why it failed or has no figure
    starved: bool = False  # a window had no operation, though measured again, and is left out
    more: dict[str, float | None] = field(default_factory=dict, hash=False)  # what its table alone has

    @property
    def failed(self) -> bool:
        return not self.checked

    @property
    def valid(self) -> bool:
        """Whether it may be compared with others (R1)."""
        return self.checked and self.ns is not None

    @property
    def status(self) -> str:
        return "FAILED" if self.failed else "ok" if self.ns is not None else "not measured"

    @property
    def fair(self) -> bool:
        if self.fairness is None:
            return self.threads == 1
        return self.fairness >= FAIR

    @property
    def name(self) -> str:
        """The variant, without the word that its place says already."""
        return self.variant.removeprefix("peer:")

    @property
    def label(self) -> str:
        if self.kind == "default" and self.implements:
            return f"{self.variant} ({self.made_of})"
        return self.variant

    @property
    def made_of(self) -> str | None:
        """What it implements, each by its bare name: 'x=asm, y=bounded' -> 'asm, bounded'."""
        return self.implements and re.sub(r"\w+=", "", self.implements)

    @property
    def lock(self) -> str:
        """For a sweep row: the implementation that is swept."""
        if self.base_variant:
            return self.base_variant
        return re.sub(r"\s+wait=.*$", "", self.variant)

    @property
    def gap(self) -> float | None:
        """By how much a second measurement of the same differs, as a share."""
        return self.more.get("gap")

    @property
    def key(self) -> tuple:
        return (self.table, self.case, self.threads, self.variant, self.kind == "sweep")


@dataclass(frozen=True)
class Aim:
    """One aim, judged by hf-lab: the report repeats it."""

    table: str
    group: str
    what: str
    value: float | None
    unit: str
    bound: str  # "at least", "at most", or "": a figure without an aim
    aim: float | None
    met: bool | None
    detail: str
    why: str


@dataclass
class Results:
    version: str
    schema: int
    machine: dict
    settings: dict
    limits: list[str]
    missing_peers: list[dict]
    aims: list[Aim]
    rows: list[Row]
    raw: bytes = b""  # the file
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

    def table_names(self) -> list[str]:
        return list(dict.fromkeys([r.table for r in self.rows] + [a.table for a in self.aims]))

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
        """ns of the row over ns of its baseline; None where either is not valid (R1)."""
        base = self.baseline_of(row)
        if not row.valid or (base is not None and not base.valid):
            return None
        if row.ratio is not None:
            return row.ratio
        if base is not None and base.ns:
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
