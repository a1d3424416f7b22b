# SPDX-License-Identifier: MIT
"""The text of a comment as blocks, from how it is laid out.

    paragraph   lines at the margin
    table       lines whose cells begin in the same columns, two spaces or more apart: a row begins at the margin
    literal     what is indented after an empty line, and what is none of the others: drawings, code

A block is ("paragraph", text), ("table", heads or None, rows of lists of blocks' lines) or ("literal", lines).
"""
import re

GAP = re.compile(r"\S( {2,})\S")


def starts(line):
    """The columns in which cells begin."""
    return [0, *(match.end() - 1 for match in GAP.finditer(line))] if line.strip() else []


def margin(lines):
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


def dedent(lines, by=None):
    by = margin(lines) if by is None else by
    return [line[by:] for line in lines]


def as_table(lines):
    """Rows of cells, each a list of lines; or None."""
    columns = starts(lines[0])
    if len(columns) < 2:
        return None
    rows = []
    for line in lines:
        if any(line[at - 1:at + 1].strip() and line[at - 1] != " " for at in columns[1:] if at <= len(line)):
            return None
        bounds = [*columns, None]
        cells = [line[a:b].rstrip() for a, b in zip(bounds, bounds[1:])]
        if line[0] != " ":
            rows.append([[cell] for cell in cells])
        else:  # goes on
            for cell, more in zip(rows[-1], cells):
                cell.append(more)
    return rows


def chunks(lines):
    chunk = []
    for line in [*lines, ""]:
        if line.strip():
            chunk.append(line)
        elif chunk:
            yield chunk
            chunk = []


def parse(lines, heads=False):
    """heads: the first table's first row is its head."""
    out = []
    for chunk in chunks(dedent(lines)):
        out += parse_chunk(chunk, heads and not out)
    return merged(out)


def parse_chunk(chunk, heads):
    if chunk[0].startswith(" "):
        return [("literal", chunk)]
    rows = as_table(chunk)
    if rows and len(rows) == 1 and len(rows[0]) > 2:
        rows = None
    if rows:
        text = [[words(cell) for cell in row] for row in rows]
        named = heads or text[0][0] == "operation"
        return [("table", text[0] if named else None,
                 [[cell for cell in row] for row in (rows[1:] if named else rows)])]
    # A paragraph, and then perhaps what is indented under it.
    at = 1
    while at < len(chunk) and not (chunk[at].startswith("  ") and GAP.search(chunk[at].strip())):
        at += 1
    if any(GAP.search(line) for line in chunk[:at]):
        return [("literal", chunk)]
    out = [("paragraph", " ".join(line.strip() for line in chunk[:at]))]
    if at < len(chunk):
        out += parse(chunk[at:])
    return out


def words(lines):
    return " ".join(filter(None, (line.strip() for line in lines)))


def merged(blocks):
    """Literal blocks with nothing between are one drawing; tables of the same shape one table."""
    out = []
    for block in blocks:
        if out and block[0] == out[-1][0] == "literal":
            out[-1] = ("literal", [*out[-1][1], "", *block[1]])
        elif (out and block[0] == out[-1][0] == "table" and not block[1] and block[2] and out[-1][2]
              and len(block[2][0]) == len(out[-1][2][0])):
            out[-1] = ("table", out[-1][1], out[-1][2] + block[2])
        else:
            out.append(block)
    return out


def section(title, beside, lines, column):
    """The blocks of a section, and its title without what belongs to the table under it."""
    if not beside:
        return title, parse(lines)
    if not any(line.strip() for line in lines):
        return title, parse([beside]) if not GAP.search(beside) else parse([beside, ""])
    first = next(line for line in lines if line.strip())
    under = len(first) - len(first.lstrip())
    if under < column and lines[0].strip():  # the title is the head of the first column
        table = []
        while lines and lines[0].strip():
            table.append(lines[0])
            lines = lines[1:]
        by = margin(table)
        top = (title + " " * (column - len(title)) + beside)
        rows = as_table([top, *[line if line[:by + 1].strip() and line[by] != " " else line for line in
                                (dedent_first(line, by) for line in table)]])
        if rows:
            text = [words(cell) for cell in rows[0]]
            return title, [("table", text, rows[1:]), *parse(lines)]
        return title, [("literal", [top, *table]), *parse(lines)]
    block, rest = [" " * column + beside], list(lines)
    while rest and (not rest[0].strip() or len(rest[0]) - len(rest[0].lstrip()) >= column):
        block.append(rest.pop(0))
    heads = bool(GAP.search(beside)) and len(starts(beside)) > 1 and title.startswith("The family")
    return title, [*parse(block, heads), *(parse(rest) if any(line.strip() for line in rest) else [])]


def dedent_first(line, by):
    """The first cell to the margin; the others stay in their columns."""
    body = line[by:]
    gap = GAP.search(body)
    return body[:gap.start(1)] + " " * by + body[gap.start(1):] if gap else body


