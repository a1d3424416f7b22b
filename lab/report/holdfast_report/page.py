# SPDX-License-Identifier: MIT
"""Cards and blocks -> one self-contained HTML page that needs no network."""

from __future__ import annotations

import base64
import gzip
import html
import re
from pathlib import Path

from .blocks import Bullets, Chart, Column, Download, Section, Table, Text
from .cards import Card
from .charts import svg_of

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")

# Makes the contents of a section when it is opened, from text that is compressed in the page.
SCRIPT = """
async function made(box) {
  const packed = box.querySelector('script[type="text/plain"]');
  if (!packed) return;
  const bytes = Uint8Array.from(atob(packed.textContent), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  packed.remove();
  box.insertAdjacentHTML('beforeend', await new Response(stream).text());
}
document.querySelectorAll('details').forEach(d => d.addEventListener('toggle', () => d.open && made(d)));
function follow() {
  const box = location.hash && document.getElementById(location.hash.slice(1));
  if (box && box.tagName === 'DETAILS') box.open = true;
}
addEventListener('hashchange', follow);
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => d.open = true));
// A page without cards would be a list of closed lines.
if (!document.querySelector('.cards'))
  [...document.querySelectorAll('details')].slice(0, 5).forEach(d => d.open = true);
follow();
"""


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


def html_block(b) -> str:
    e = text_html
    if isinstance(b, Section):
        return f"<h3>{e(b.title)}</h3>"
    if isinstance(b, Text):
        return f"<p{f' class={b.style}' if b.style else ''}>{e(b.text)}</p>"
    if isinstance(b, Bullets):
        return html_bullets(b)
    if isinstance(b, Table):
        return html_table(b)
    if isinstance(b, Chart):
        names = [f"<b>{e(panel['title'])}</b>" if "title" in panel else "" for panel in b.panels]
        panels = "".join(f"<div>{name}{svg_of(panel, b.title)}</div>" for name, panel in zip(names, b.panels))
        caption = f'<figcaption class="caption">{e(b.caption)}</figcaption>'
        return f'<figure><div class="title">{e(b.title)}</div><div class="panels">{panels}</div>{caption}</figure>'
    return ""


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def html_card(card: Card) -> str:
    e = text_html
    return (
        f'<section class="card"><h2>{e(card.title)}</h2><p class="use">{e(card.use)}</p>{svg_of(card.panel, card.title)}'
        f'<p class="number"><b>{e(card.number)}</b> {e(card.words)}</p></section>'
    )


def sections_of(blocks: list) -> list[tuple[str, list]]:
    out: list[tuple[str, list]] = []
    for b in blocks:
        if isinstance(b, Section) and b.level == 1:
            out.append((b.title, []))
        elif out:
            out[-1][1].append(b)
    return out


def render_html(blocks: list, title: str, lead: str, cards: list[Card] = ()) -> str:
    """Cards, open; then a line per section, whose contents are made when it is opened."""
    e = text_html
    parts = [f"<h1>{e(title)}</h1>", f'<p class="lead">{e(lead)}</p>']
    if cards:
        key = '<p class="key"><span><i style="background:var(--ours)"></i>Holdfast</span>'
        key += '<span><i style="background:var(--peer)"></i>the others; shorter is faster</span></p>'
        parts += [key, '<div class="cards">' + "\n".join(html_card(c) for c in cards) + "</div>"]
    first = next((n for n, b in enumerate(blocks) if isinstance(b, Section) and b.level == 1), len(blocks))
    parts += [html_block(b) for b in blocks[:first]]
    for name, inside in sections_of(blocks):
        files = "".join(html_download(b) for b in inside if isinstance(b, Download))
        text = "\n".join(html_block(b) for b in inside)
        script = f'<script type="text/plain">{packed(text)}</script>'
        parts.append(f'<details id="{slug(name)}"><summary>{e(name)}</summary>{files}{script}</details>')
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{e(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def html_download(b: Download) -> str:
    """A whole file as a link; compressed, since the page has to stay small."""
    data = base64.b64encode(gzip.compress(b.data, mtime=0)).decode("ascii")
    name = html.escape(f"{b.name}.gz")
    return f'<p>{text_html(b.words)}: <a download="{name}" href="data:application/gzip;base64,{data}">{name}</a></p>'
