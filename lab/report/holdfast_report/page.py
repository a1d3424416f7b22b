# SPDX-License-Identifier: MIT
"""Blocks -> one self-contained HTML page. Each chart is in it twice, wide and narrow; the style sheet shows one."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

from .blocks import Bullets, Chart, Column, Download, Section, Table, Text
from .charts import pyplot, svg_of

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")

KEY = (
    '<p class="key"><span><i style="background:var(--default)"></i>default</span>'
    '<span><i style="background:var(--ours)"></i>ours</span>'
    '<span><i style="background:var(--base)"></i>baseline</span>'
    '<span><i style="background:var(--peer)"></i>peer</span>'
    '<span><i class="failed"></i>FAILED the count check</span></p>'
)


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def text_html(text: str) -> str:
    return html.escape(text).replace(" %", "\u00a0%")


def cell_class(column: Column, text: str) -> str:
    return " class=n" if column.number else " class=long" if len(text) > 26 else ""


def html_table(block: Table) -> str:
    e = text_html
    heads = "".join(
        f'<th scope="col"{" class=n" if c.number else ""}>{e(c.name)}'
        + (f"<span>{e(c.unit)}</span>" if c.unit else "")
        + "</th>"
        for c in block.columns
    )
    body = []
    for cells, style in block.rows:
        tds = "".join(f"<td{cell_class(c, t)}>{e(t)}</td>" for c, t in zip(block.columns, cells))
        body.append(f"<tr{f' class={style}' if style else ''}>{tds}</tr>")
    note = f'<p class="table-note">{e(block.note)}</p>' if block.note else ""
    rows = "\n".join(body)
    return (
        f'<div class="table"><div class="title">{e(block.title)}</div><div class="scroll"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>{note}</div>"
    )


def html_bullets(block: Bullets) -> str:
    e = text_html
    if all(lead and len(lead) <= 14 and not style for lead, _, style in block.items):
        return "<dl>" + "".join(f"<dt>{e(lead)}</dt><dd>{e(words)}</dd>" for lead, words, _ in block.items) + "</dl>"
    items = []
    for lead, words, style in block.items:
        mark = f' class="{style}"' if style else ""
        if style == "use":
            first, *rest = words.split("\n")
            small = "".join(f"<small>{e(line)}</small>" for line in rest)
            items.append(f"<li{mark}><b>{e(lead)}.</b> {e(first)}{small}</li>")
        elif "\n" in words:
            lines = "".join(f"<br>{e(line)}" for line in words.split("\n"))
            items.append(f"<li{mark}><b>{e(lead)}</b>{lines}</li>")
        else:
            items.append(f"<li{mark}>" + (f"<b>{e(lead)}:</b> " if lead else "") + f"{e(words)}</li>")
    return "<ul>" + "\n".join(items) + "</ul>"


def render_html(blocks: list, title: str, lead: str) -> str:
    e = text_html
    plt = pyplot() if any(isinstance(b, Chart) for b in blocks) else None
    links = [b for b in blocks if isinstance(b, Section) and b.level == 1]
    parts = [
        f"<h1>{e(title)}</h1>",
        f'<p class="lead">{e(lead)}</p>',
        "<nav>" + "".join(f'<a href="#{slug(s.title)}">{e(s.title)}</a>' for s in links) + "</nav>",
    ]
    for b in blocks:
        if isinstance(b, Section):
            tag = "h2" if b.level == 1 else "h3"
            parts.append(f'<{tag} id="{slug(b.title)}">{e(b.title)}</{tag}>')
        elif isinstance(b, Text):
            parts.append(f"<p{f' class={b.style}' if b.style else ''}>{e(b.text)}</p>")
        elif isinstance(b, Bullets):
            parts.append(html_bullets(b))
        elif isinstance(b, Table):
            parts.append(html_table(b))
        elif isinstance(b, Download):
            data = base64.b64encode(b.data).decode("ascii")
            link = f'<a download="{e(b.name)}" href="data:{b.kind};base64,{data}">{e(b.name)}</a>'
            parts.append(f"<p>{e(b.words)}: {link} ({len(b.data) / 1000:.0f} kB).</p>")
        elif isinstance(b, Chart):
            key = KEY if b.legend else ""
            parts.append(
                f'<figure><div class="title">{e(b.title)}</div>{key}{svg_of(plt, b, False)}{svg_of(plt, b, True)}'
                f'<figcaption class="caption">{e(b.caption)}</figcaption></figure>'
            )
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{e(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
