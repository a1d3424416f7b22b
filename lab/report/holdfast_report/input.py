# SPDX-License-Identifier: MIT
"""Files -> Results, Published; every complaint is an InputError."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from pathlib import Path

from . import tables
from .rows import KINDS, Aim, InputError, Published, Results, Row

SCHEMA = 3  # of RESULTS.json
REPORTED = (2, 3)  # 2 measures nothing twice: it has no rows of kind "again"
ARCHIVED = (1, *REPORTED)  # 1 has no aims
BOUNDS = ("at least", "at most", "")
CLASSES = ("fifo", "random", "nearest", "sticky", "nearest-held", "unknown")  # of lab/sim/machine.hpp
AGAIN = "write the results again with `hf-lab all --json`"
ROW_FIELDS = (  # all others of a row are numbers that its table alone has
    "table variant kind case threads ns_per_op spread baseline ratio fairness checked rounds is wait base_variant why"
    " starved waiter version"
).split()


def read_bytes(path: str, what_next: str) -> bytes:
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if str(path).endswith(".gz") else data
    except FileNotFoundError:
        raise InputError(f"no such file: {path}: {what_next}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory, not a file: {what_next}") from None
    except (EOFError, gzip.BadGzipFile) as e:
        raise InputError(f"{path} is not a whole gzip file ({e}): {what_next}") from None
    except OSError as e:
        raise InputError(f"cannot read {path} ({e.strerror}): {what_next}") from None


def decoded(path: str, data: bytes, what_next: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise InputError(f"{path} is not UTF-8 text (byte {e.start}): {what_next}") from None


def read_text(path: str, what_next: str) -> str:
    return decoded(path, read_bytes(path, what_next), what_next)


def printable(text: str) -> str:
    """Results come from a file: no control character of theirs reaches the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


class Fields:
    """Typed access to one JSON object, with the complaint made here."""

    def __init__(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise InputError(f"{where} is not an object: {AGAIN}")
        self.where, self.value = where, value

    def bad(self, name: str, wanted: str) -> InputError:
        found = "missing" if self.value.get(name) is None else f"{json.dumps(self.value[name])[:40]}"
        return InputError(f"{self.where}: '{name}' is {found}, but must be {wanted}: {AGAIN}")

    def text(self, name: str, empty: bool = False) -> str:
        value = self.value.get(name)
        if not isinstance(value, str) or not (empty or value.strip()):
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

    def whole_or_none(self, name: str) -> int | None:
        value = self.value.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self.bad(name, "a whole number")
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
    if "ns_per_op" not in f.value:
        raise f.bad("ns_per_op", "a number, or null where there was nothing to measure")
    more = [k for k, v in f.value.items() if k not in ROW_FIELDS and not isinstance(v, (str, bool, list, dict))]
    row = Row(
        table=f.text("table"),
        variant=f.text("variant"),
        kind=f.one_of("kind", KINDS),
        case=f.text("case"),
        threads=f.count("threads"),
        checked=checked,
        ns=f.number_or_none("ns_per_op"),  # 0: shorter than the clock can tell
        spread=f.number_or_none("spread"),
        baseline=f.text_or_none("baseline"),
        ratio=f.number_or_none("ratio"),
        fairness=f.number_or_none("fairness", high=1.0),
        rounds=f.whole_or_none("rounds"),
        implements=f.text_or_none("is"),
        wait=f.text_or_none("wait"),
        base_variant=f.text_or_none("base_variant"),
        waiter=f.text_or_none("waiter"),
        why=f.text_or_none("why") if f.value.get("why") else None,
        starved=f.value.get("starved") is True,
        more={k: f.number_or_none(k, high=1.0 if k.endswith("_share") else math.inf) for k in more},
    )
    for needed in tables.family(row.table).needs:
        f.number(needed, low=1)
    return row


def parse_aim(where: str, value: object) -> Aim:
    f = Fields(where, value)
    met = f.value.get("met")
    if met not in (True, False, None):
        raise f.bad("met", "true, false or null")

    def number(name: str) -> float | None:
        return f.number_or_none(name, low=-math.inf)

    return Aim(
        table=f.text("table"),
        group=f.text("group", empty=True),
        what=f.text("what"),
        value=number("value"),
        unit=f.text("unit", empty=True),
        bound=f.one_of("bound", BOUNDS),
        aim=number("aim"),
        met=met,
        detail=f.text("detail", empty=True),
        why=f.text("why", empty=True),
    )


def schema_of(top: Fields, accepted: tuple[int, ...]) -> int:
    schema = top.value.get("schema", 1)
    if schema in accepted:
        return schema
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise top.bad("schema", "a whole number")
    if schema > SCHEMA:
        raise InputError(
            f"the results are of schema {schema}, which a newer hf-lab wrote; this report reads schema {SCHEMA}:"
            " take the report of that Holdfast"
        )
    by = printable(str(top.value.get("holdfast", "unknown version")))
    raise InputError(
        f"the results are of schema {schema}, which states no aims (written by hf-lab of Holdfast {by}); this report"
        f" reads schema {SCHEMA}: measure again with `make lab`, or take the report of the Holdfast that wrote them"
    )


def parse_results(data: object, accepted: tuple[int, ...] = REPORTED, raw: bytes = b"") -> Results:
    top = Fields("the top level", data)
    schema = schema_of(top, accepted)
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
    aims = top.value.get("aims", [] if schema == 1 else None)
    if not isinstance(aims, list):
        raise top.bad("aims", "a list")

    if "many_core" in top.value:  # of `make many-core`
        many_core = Fields("'many_core'", top.value["many_core"])
        many_core.text("classify"), many_core.text("machine_file")
        machine = {**machine, "class": many_core.one_of("class", CLASSES)}

    def plain(value: object) -> object:
        if isinstance(value, (list, tuple)):
            return printable(", ".join(map(str, value)))
        return printable(str(value)) if not isinstance(value, (int, float)) else value

    return Results(
        version=printable(str(top.value.get("holdfast", "unknown version"))),
        schema=schema,
        machine={printable(k): plain(v) for k, v in machine.items()},
        settings={printable(k): plain(v) for k, v in settings.items()},
        limits=[printable(x) for x in limits],
        missing_peers=[{k: printable(str(v)) for k, v in x.items()} for x in peers],
        aims=[parse_aim(f"aim {n}", value) for n, value in enumerate(aims, 1)],
        rows=[parse_row(f"row {n}", value) for n, value in enumerate(rows, 1)],
        raw=raw,
    )


def load_results(path: str, accepted: tuple[int, ...] = REPORTED) -> Results:
    what_next = "write one with `hf-lab all --json` and give its name"
    raw = read_bytes(path, what_next)
    try:
        data = json.loads(decoded(path, raw, what_next))
    except json.JSONDecodeError as e:
        raise InputError(f"{path} is not JSON (line {e.lineno}, column {e.colno}: {e.msg}): {AGAIN}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply: {AGAIN}") from None
    try:
        return parse_results(data, accepted, raw)
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
