# SPDX-License-Identifier: MIT
"""Shared by the command lines: reading and writing files; an error is one line, and the status is 2."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from .rows import InputError

ROOT = Path(__file__).resolve().parents[3]  # of the repository


def read_bytes(path: str | Path, what_next: str) -> bytes:
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if str(path).endswith(".gz") else data
    except (EOFError, gzip.BadGzipFile) as e:
        raise InputError(f"{path} is not a whole gzip file ({e}): {what_next}") from None
    except OSError as e:  # missing, or a folder
        raise InputError(f"cannot read {path} ({e.strerror}): {what_next}") from None


def write_file(path: str | Path, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def guarded(prog: str, run, argv: list[str] | None = None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        run(argv)
    except (InputError, OSError) as e:
        print(f"{prog}: {e}", file=sys.stderr)
        return 2
    return 0
