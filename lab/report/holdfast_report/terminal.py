# SPDX-License-Identifier: MIT
"""Blocks -> plain text for the terminal."""

from __future__ import annotations

import shutil
import textwrap

from .blocks import Bullets, Plain, Section, Table, Text


def grid(table: Table) -> list[str]:
    """The lines of a table. They are not cut: the terminal wraps long ones."""
    lines = [[c.name for c in table.columns], [c.unit for c in table.columns], *(cells for cells, _ in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(2, ["-" * width for width in widths])
    sides = [str.rjust if c.number else str.ljust for c in table.columns]
    return [" ".join(side(*cell) for side, *cell in zip(sides, cells, widths)).rstrip() for cells in lines]


def render_terminal(blocks: list, stream) -> None:
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)

    def say(text: str, first: str = "", rest: str = "") -> None:
        options = {"break_on_hyphens": False, "break_long_words": False}
        print(textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, **options), file=stream)

    for block in blocks:
        if isinstance(block, Section):
            say(block.title, "\n")
            say(("=" if block.level == 1 else "-") * len(block.title))
        elif isinstance(block, Plain):
            print(*block.lines, sep="\n", file=stream)
        elif isinstance(block, Text):
            say(block.text)
        elif isinstance(block, Bullets):
            for lead, words, _ in block.entries:
                first, *more = words.split("\n")
                say(f"{lead}: {first}" if lead else first, "  - ", "    ")
                for line in more:
                    say(line, "      ", "        ")
        elif isinstance(block, Table):
            say(block.title, "\n")
            print(*grid(block), sep="\n", file=stream)
            say(block.note)
