# SPDX-License-Identifier: MIT
"""Cards and blocks -> one self-contained HTML page that needs no network; page.html is its template."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import jinja2
from markupsafe import escape

from .blocks import Section

HERE = Path(__file__).parent


def packed(data: str | bytes) -> str:
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    return base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
TEMPLATES.filters["words"] = lambda text: escape(text).replace(" %", "\u00a0%")
TEMPLATES.filters["together"] = lambda text: escape(text).replace(" ns", "\u00a0ns").replace(" or ", "\u00a0or ")
TEMPLATES.filters["packed"] = packed


def blocks_html(blocks: list) -> str:
    return TEMPLATES.get_template("page.html").render(blocks=[(type(b).__name__, b) for b in blocks])


def render_html(blocks: list, title: str, lead: str, cards: list = (), raw: bytes = b"") -> str:
    """Cards first, then sections that unpack their contents when they are opened; raw: results.json."""
    starts = [n for n, b in enumerate(blocks) if isinstance(b, Section) and b.level == 1] + [len(blocks)]
    sections = []
    for start, end in zip(starts, starts[1:]):
        inside = blocks[start + 1 : end]
        name = blocks[start].title
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        sections.append({"id": slug, "title": name, "text": blocks_html(inside)})
    css = (HERE / "page.css").read_text(encoding="utf-8")
    page = TEMPLATES.get_template("page.html")
    first = blocks_html(blocks[: starts[0]])
    return page.render(title=title, lead=lead, cards=cards, first=first, sections=sections, css=css, raw=raw).lstrip()
