# SPDX-License-Identifier: MIT
"""The data of a file of results."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

FAIR = 0.95
WITHIN = "by less than"  # begins the detail of an aim whose miss is noise; also where hf-lab judged it (schema 2 to 4)
Text = Annotated[str, Meta(pattern=r"\S")]
Positive = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class InputError(Exception):
    """One line: what happened to which file or row, and what to do."""


class Level(Struct, frozen=True):
    """One of two levels between which a row's runs alternate."""

    ns_per_op: Positive
    share: Share  # of the runs


class Row(Struct, frozen=True, kw_only=True, rename={"ns": "ns_per_op", "implements": "is"}):
    """One measured case of one variant; the fields are those of RESULTS.json."""

    table: Text
    variant: Text
    kind: Literal["ours", "default", "peer", "sweep", "again"]
    case: Text
    threads: Annotated[int, Meta(ge=1)]
    checked: bool
    ns: Positive | None  # 0: shorter than the clock can measure
    spread: Positive | None = None
    baseline: Text | None = None
    ratio: Positive | None = None
    fairness: Share | None = None
    rounds: Annotated[int, Meta(ge=0)] | None = None
    implements: Text | None = None
    wait: Text | None = None
    base_variant: Text | None = None
    waiter: str | None = None  # of a lock: "parks" or "spins"
    version: str | None = None  # of a peer
    why: str | None = None  # why it failed or has no figure
    starved: bool = False  # a window had no operation even when repeated, and is left out
    disturbed: bool = False  # others had the processors in half of its runs or more
    levels: list[Level] = []  # two or none: then the median depends on chance
    more: dict[str, Positive | None] = {}  # figures that only its table has

    @property
    def failed(self) -> bool:
        return not self.checked

    @property
    def valid(self) -> bool:
        """Whether the row may be compared (R1)."""
        return self.checked and self.ns is not None

    @property
    def status(self) -> str:
        return "FAILED" if self.failed else "ok" if self.ns is not None else "not measured"

    @property
    def parks(self) -> bool:
        """Whether it may be compared with ours: of the mutexes those that are known to park."""
        return self.waiter == "parks" if self.table == "mutex" else self.waiter != "spins"

    @property
    def shares_processors(self) -> bool:
        """Whether its threads share processors with each other or with others, as the lab's Placement says."""
        return self.case.startswith(("one processor", "not pinned", "beside busy processes"))

    @property
    def cost(self) -> float:
        """The time that is compared: processor time where others compete for the processors."""
        cpu = self.more.get("cpu_ns") if self.case.startswith(("one processor", "beside")) else None
        return cpu or self.ns

    @property
    def fair(self) -> bool:
        return self.threads == 1 if self.fairness is None else self.fairness >= FAIR

    @property
    def name(self) -> str:
        return self.variant.removeprefix("peer:")

    @property
    def label(self) -> str:
        single = self.kind == "default" and "," not in (self.implements or ",")
        return f"{self.variant} ({self.made_of})" if single else self.variant

    @property
    def made_of(self) -> str | None:
        """The names of its implementations: 'x=asm, y=bounded' -> 'asm, bounded'."""
        return self.implements and re.sub(r"\w+=", "", self.implements)

    @property
    def lock(self) -> str:
        """Of a sweep row: the implementation."""
        return self.base_variant or re.sub(r"\s+wait=.*$", "", self.variant)

    @property
    def place(self) -> tuple[str, int]:
        return (self.case, self.threads)

    @property
    def gap(self) -> float | None:
        """The difference from a second measurement, as a share."""
        return self.more.get("gap")

    @property
    def key(self) -> tuple:
        return (self.table, self.case, self.threads, self.variant)


class Aim(Struct, frozen=True):
    """An aim beside the figure that was measured."""

    table: Text
    group: str
    what: Text
    value: float | None
    unit: str
    bound: Literal["at least", "at most", ""]  # "": a figure without an aim
    aim: float | None
    met: bool | None
    detail: str
    why: str
    reason: str = ""  # of the bound: in words, or a page of docs/design

    @property
    def status(self) -> str:
        if self.met is False and WITHIN in self.detail:
            return "level"
        if self.met is not None:
            return "met" if self.met else "missed"
        return "not measured" if self.bound or self.value is None else "-"


class ManyCore(Struct):
    """What `make many-core` found beside the rows."""

    # of lab/sim/machine.hpp
    class_: Literal["fifo", "random", "nearest", "sticky", "nearest-held", "unknown"] = field(name="class")
    classify: Text
    lscpu: str = ""
    machine_file: str = ""


class Quality(Struct, frozen=True):
    """How much of what was planned can be used."""

    rows: int
    missing: int
    disturbed: int
    others_before: float = 0.0
    words: str = ""  # why no table decides anything
    withheld: dict[str, str] = {}  # a table that decides nothing, and why


class File(Struct):
    """A file of results; its rows and aims are read one by one, so that an error names them."""

    rows: Annotated[list[dict], Meta(min_length=1)]
    schema: int = 1
    holdfast: str = "unknown version"
    machine: dict = {}
    settings: dict = {}
    limits: list[str] = []
    missing_peers: list[dict[str, str | None]] = []
    aims: list[dict] | None = None
    quality: Quality | None = None
    many_core: ManyCore | None = None


class Results(File):
    rows: list[Row]
    aims: list[Aim] = []
    raw: bytes = b""  # the file
    index: dict[tuple, Row] = {}

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if row.key in self.index:
                where = f"{row.table} / {row.variant} / {row.case} / {row.threads} threads"
                raise InputError(f"row {number} repeats {where}: remove one of the two and run the report again")
            self.index[row.key] = row

    @property
    def busy(self) -> str:
        """Why these results decide nothing, or ""."""
        return self.quality.words if self.quality else ""

    def withheld(self, table: str) -> str:
        """Why this table decides nothing, or ""."""
        return self.busy or (self.quality.withheld.get(table, "") if self.quality else "")

    @property
    def cpus(self) -> int | None:
        cpus = self.machine.get("cpus")
        return cpus if isinstance(cpus, int) and cpus > 0 else None

    @property
    def rounds(self) -> int | None:
        """The number of rounds, if it is the same for every row."""
        counts = {r.rounds for r in self.rows}
        return counts.pop() if len(counts) == 1 else None

    def of(self, table: str, *kinds: str) -> list[Row]:
        return [r for r in self.rows if r.table == table and (not kinds or r.kind in kinds)]

    def compared(self, table: str) -> list[Row]:
        """The rows except sweeps and second measurements."""
        return self.of(table, "ours", "default", "peer")

    def find(self, table: str, case: str, threads: int, variant: str) -> Row | None:
        return self.index.get((table, case, threads, variant))

    def baseline_of(self, row: Row) -> Row | None:
        return self.find(row.table, row.case, row.threads, row.baseline)

    def is_baseline(self, row: Row) -> bool:
        return row.variant == row.baseline

    def ratio(self, row: Row) -> float | None:
        """ns of the row over ns of its baseline; None where either is not valid (R1)."""
        base = self.baseline_of(row)
        if not row.valid or (base is not None and not base.valid):
            return None
        if row.ratio is not None:
            return row.ratio
        return row.ns / base.ns if base is not None and base.ns else None
