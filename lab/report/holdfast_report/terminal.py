# SPDX-License-Identifier: MIT
"""Blocks -> the terminal, or plain text where there is none."""

from __future__ import annotations

import shutil
import textwrap

from .blocks import Bullets, Column, Section, Table, Text

STYLES = {"base": "cyan", "default": "bold", "peer": "yellow", "fail": "bold red", "missed": "red", "total": "bold"}


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
            grid.add_row(*[RichText(c) for c in cells], style=STYLES.get(style, ""))
        console.print(grid)

    if title:
        console.print(RichText(title, style="bold"), soft_wrap=True)
    for block in blocks:
        if isinstance(block, Section):
            console.print()
            say(block.title, "bold")
            say(("=" if block.level == 1 else "-") * len(block.title))
        elif isinstance(block, Text):
            say(block.text, {"fail": "bold red", "note": "dim"}.get(block.style, ""))
        elif isinstance(block, Bullets):
            for lead, words, style in block.entries:
                colour = STYLES.get(style, "")
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
