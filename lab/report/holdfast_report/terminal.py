# SPDX-License-Identifier: MIT
"""Blocks -> the terminal, or plain text where there is none."""

from __future__ import annotations

import shutil
import textwrap

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text as Styled

from .blocks import Bullets, Section, Table, Text

STYLES = {"base": "cyan", "default": "bold", "peer": "yellow", "fail": "bold red", "missed": "red", "total": "bold"}


def grid_of(table: Table, tty: bool) -> Grid:
    grid = Grid(box=box.SIMPLE if tty else box.ASCII, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0 if tty else 1))
    for n, c in enumerate(table.columns):
        longest = max((len(cells[n]) for cells, _ in table.rows), default=0)
        head = [line for t in (c.name, c.unit) for line in textwrap.wrap(t, max(longest, 12), break_long_words=False)]
        fold = 30 if tty and not c.number and longest > 30 else None
        options = {"overflow": "fold", "no_wrap": fold is None, "max_width": fold}
        grid.add_column(Styled("\n".join(head)), justify="right" if c.number else "left", **options)
    for cells, style in table.rows:
        grid.add_row(*map(Styled, cells), style=STYLES.get(style, ""))
    return grid


def render_terminal(blocks: list, title: str, stream) -> None:
    tty = stream.isatty()
    # Rich cuts or folds what is wider than its console. So its console is wide, and where a table is wider than the
    # terminal, the terminal wraps the lines.
    plain = {"highlight": False, "markup": False, "emoji": False, "no_color": None if tty else True}
    console = Console(file=stream, width=1000, **plain)
    width = min(shutil.get_terminal_size().columns, 100) if tty else 100

    def say(text: str, style: str = "", first: str = "", rest: str = "") -> None:
        options = {"break_on_hyphens": False, "break_long_words": False}
        for line in textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, **options):
            console.print(Styled(line, style=style), soft_wrap=True)

    if title:
        console.print(Styled(title, style="bold"), soft_wrap=True)
    for block in blocks:
        if isinstance(block, Section):
            console.print()
            say(block.title, "bold")
            say(("=" if block.level == 1 else "-") * len(block.title))
        elif isinstance(block, Text):
            say(block.text, {"fail": "bold red", "note": "dim"}.get(block.style, ""))
        elif isinstance(block, Bullets):
            for lead, words, style in block.entries:
                first, *more = words.split("\n")
                say(f"{lead}: {first}" if lead else first, STYLES.get(style, ""), "  - ", "    ")
                for line in more:
                    say(line, STYLES.get(style, ""), "      ", "        ")
        elif isinstance(block, Table):
            console.print()
            say(block.title, "bold")
            console.print(grid_of(block, tty))
            if block.note:
                say(block.note, "dim")
