# SPDX-License-Identifier: MIT
"""Files -> Results; every complaint is an InputError."""

from __future__ import annotations

import msgspec

from . import tables
from .program import read_bytes
from .rows import Aim, File, InputError, Positive, Results, Row, Share

SCHEMA = 5  # of RESULTS.json; 4 and older have the aims as hf-lab judged them, 3 has no `quality`, 2 has no rows of kind "again", 1 has no aims either
AGAIN = "write the results again with `hf-lab all --json`"
ROW_FIELDS = {f.encode_name for f in msgspec.structs.fields(Row)} - {"more"}  # other fields of a row are in Row.more


def printable(value):
    """Replaces control characters, so that none from a file reaches the terminal."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else " " for c in value)
    if isinstance(value, dict):
        return {printable(k): printable(v) for k, v in value.items()}
    return [printable(v) for v in value] if isinstance(value, list) else value


def convert(where: str, value: object, wanted):
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as e:
        raise InputError(f"{where}: {e}: {AGAIN}") from None


def parse_row(number: int, value: dict) -> Row:
    where = f"row {number} ({'/'.join(str(value.get(k, '?')) for k in ('table', 'variant', 'case'))})"
    more = {k: v for k, v in value.items() if k not in ROW_FIELDS and not isinstance(v, (str, bool, list, dict))}
    for name, figure in more.items():
        convert(f"{where}: '{name}'", figure, Share | None if name.endswith("_share") else Positive | None)
    row = convert(where, {k: v for k, v in value.items() if k in ROW_FIELDS} | {"more": more}, Row)
    for needed in tables.family(row.table).needs:
        if not more.get(needed):
            raise InputError(f"{where}: '{needed}' is missing: {AGAIN}")
    return row


def parse_results(data: object, raw: bytes = b"") -> Results:
    file = convert("the top level", printable(data), File)
    if not 1 <= file.schema <= SCHEMA:
        raise InputError(
            f"the results are of schema {file.schema}, which the hf-lab of Holdfast {file.holdfast} wrote; this report reads"
            f" schemas 1 to {SCHEMA}: measure again with `make lab`, or use the report of that Holdfast"
        )
    if file.aims is None and 1 < file.schema < 5:
        raise InputError(f"'aims' is missing: {AGAIN}")
    rows = [parse_row(n, value) for n, value in enumerate(file.rows, 1)]
    aims = [convert(f"aim {n}", value, Aim) for n, value in enumerate(file.aims or [], 1)]
    machine = {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in file.machine.items()}
    if file.many_core:
        machine["class"] = file.many_core.class_
    return Results(**msgspec.structs.asdict(file) | {"machine": machine, "rows": rows, "aims": aims, "raw": raw})


def load_results(path: str) -> Results:
    raw = read_bytes(path, "write one with `hf-lab all --json` and give its name")
    try:
        return parse_results(msgspec.json.decode(raw), raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise InputError(f"{path} is not JSON ({e}): {AGAIN}") from None
    except InputError as e:
        raise InputError(f"{path}: {e}") from None
