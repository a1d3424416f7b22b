# SPDX-License-Identifier: MIT
"""What the command lines share: complaints are one line, and the status is 2."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .rows import InputError

ROOT = Path(__file__).resolve().parents[3]  # of the repository


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}: see {self.prog} --help\n")


def write_file(path: str | Path, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as e:
        raise InputError(f"cannot write {path} ({e.strerror}): name a file in a folder that exists") from None


def guarded(prog: str, run, argv: list[str] | None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        run(sys.argv[1:] if argv is None else argv)
    except (InputError, OSError) as e:
        print(f"{prog}: {e}", file=sys.stderr)
        return 2
    return 0
