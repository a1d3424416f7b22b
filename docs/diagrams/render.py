#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw docs/diagrams/*.dot as SVG, by Graphviz, and check that drawings, texts and headers agree.

    render.py [STEM...]   draw these, or all whose text has changed; report errors

Drawings are narrow with large letters, for phones; they have a background of their own, and follow the
reader's choice of light or dark. The SVG contains the hash of its source, so that a stale one is found
without drawing it again.

A text (.dot) begins with the rules that it must satisfy:

    // all: FILE: PATTERN   every match of the pattern in FILE (or of its group) is in the text
    // in: FILE: WORD ...   these words are in FILE and in the text
"""
import hashlib
import inspect
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
WIDEST = 460  # of the drawing's own units: a phone shows 360
FONT = "Helvetica,Arial,sans-serif"
SIZE = 14  # of letters; edges have 13
# The colours of the texts, which are for light mode: their dark forms.
COLOURS = {
    "#ffffff": "#15191f",  # background
    "#111111": "#eceff4",  # letters
    "#555b66": "#9aa4b2",  # lines
    "#e6e9ee": "#333a45",  # neutral: parts of a word, anything else
    "#d5e6ff": "#1d3f6e",  # blue: locked, in use
    "#d4f0d8": "#1e4d2b",  # green: free, live
    "#ffe0d2": "#6b2f1a",  # red: dead, lost, fatal
    "#fff0bf": "#5a4a10",  # yellow: saturated, waiting, a question
}
DEFAULTS = """
	graph [bgcolor="#ffffff", margin=0.12, pad=0.1, nodesep=0.25, ranksep=0.35, fontname="{font}",
		fontsize={size}, fontcolor="#111111"];
	node [fontname="{font}", fontsize={size}, fontcolor="#111111", color="#555b66", shape=box,
		style="rounded,filled", fillcolor="#e6e9ee", margin="0.12,0.06", height=0.3];
	edge [fontname="{font}", fontsize=13, fontcolor="#111111", color="#555b66", arrowsize=0.8];
""".format(font=FONT, size=SIZE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def folder(source):
    return os.path.join(source, "docs", "diagrams")


def stems(source):
    return sorted(name[:-4] for name in os.listdir(folder(source)) if name.endswith(".dot"))


def digest(text):
    """A hash of a text and of the way in which it is drawn."""
    how = repr((text, DEFAULTS, sorted(COLOURS.items()), inspect.getsource(draw)))
    return hashlib.sha256(how.encode()).hexdigest()[:16]


def title(text):
    """The first comment line that is not a rule: the title."""
    return re.search(r"^// (?!SPDX|all:|in:)(.+)$", text, re.MULTILINE)[1]


def style():
    dark = "".join('[fill="%s"]{fill:%s}[stroke="%s"]{stroke:%s}' % (light, night, light, night)
                   for light, night in COLOURS.items())
    return "<style>@media (prefers-color-scheme:dark){%s}</style>" % dark


def draw(text):
    """The SVG of a text."""
    # A label keeps its distance from the line that it is beside.
    given = re.sub(r'label="([^"]*\\l)"',
                  lambda match: 'label="%s"' % re.sub(r"(^|\\l)(?=.)", r"\1&#160;", match[1]), text)
    given = re.sub(r"\{\n", lambda match: "{" + DEFAULTS, given, count=1)
    done = subprocess.run(["dot", "-Tsvg"], input=given, stdout=subprocess.PIPE, text=True,
                          check=True)
    svg = done.stdout[done.stdout.index("<svg"):]
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<title>.*?</title>\n?", "", svg)
    width, height = map(float, re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', svg).groups())
    head = '<svg width="%d" height="%d"' % (round(width), round(height))
    svg = re.sub(r'<svg width="\S+" height="\S+"', head, svg, count=1)
    words = title(text).replace("&", "&amp;").replace("<", "&lt;")
    svg = svg.replace(">", ' role="img" style="max-width:100%%;height:auto">\n<title>%s</title>\n%s'
                      % (words, style()), 1)
    svg = " ".join(svg.replace(">\n<", "><").split())  # a line, as in docs/charts: nobody reads it
    return "<!-- made by docs/diagrams/render.py, from %s -->\n%s\n" % (digest(text), svg)


def wrong_text(source, text):
    """The rules that a text breaks."""
    wrong = []
    body = "\n".join(line for line in text.split("\n") if not line.startswith("//"))
    body = re.sub(r"\\[lnr]", " ", body)

    def there(word):
        return re.search(r"(?<!\w)%s(?!\w)" % re.escape(word), body)

    rules = re.findall(r"^// (all|in): (\S+): (.+)$", text, re.MULTILINE)
    if not rules:
        wrong.append("it has no rule")
    for rule, name, words in rules:
        header = read(os.path.join(source, name))
        found = re.findall(words, header, re.MULTILINE) if rule == "all" else words.split()
        if not found:
            wrong.append("%s has no %s" % (name, words))
        for word in dict.fromkeys(found):
            if word not in header:
                wrong.append("%s has no %s" % (name, word))
            elif not there(word):
                wrong.append("%s of %s is missing" % (word, name))
    used = set(re.findall(r"#[0-9a-f]{6}\b", body)) - set(COLOURS)
    return wrong + ["no dark form of colour %s" % colour for colour in sorted(used)]


def wrong_drawing(text, svg):
    """The errors of a drawing."""
    wrong = []
    if digest(text) not in svg.split("\n", 1)[0]:
        wrong.append("stale: run docs/diagrams/render.py")
    root = xml.fromstring(svg)
    if float(root.get("width")) > WIDEST:
        wrong.append("%s wide, more than %d" % (root.get("width"), WIDEST))
    for element in root.iter():
        if element.tag.endswith("}text") and float(element.get("font-size")) < 13:
            wrong.append("small letters: %s" % element.text)
        for what in ("fill", "stroke"):
            colour = element.get(what)
            if colour not in (None, "none", "transparent", *COLOURS):
                wrong.append("no dark form of colour %s" % colour)
    return sorted(set(wrong))


def faults(source, stem):
    """All errors of one diagram."""
    text = read(os.path.join(folder(source), stem + ".dot"))
    path = os.path.join(folder(source), stem + ".svg")
    if not os.path.exists(path):
        return ["not drawn: run docs/diagrams/render.py"]
    return wrong_text(source, text) + wrong_drawing(text, read(path))


def main(wanted):
    source = os.path.dirname(os.path.dirname(HERE))
    bad = 0
    for stem in wanted or stems(source):
        text = read(os.path.join(HERE, stem + ".dot"))
        drawn = os.path.join(HERE, stem + ".svg")
        if wanted or not os.path.exists(drawn) or digest(text) not in read(drawn):
            with open(drawn, "w", encoding="utf-8") as file:
                file.write(draw(text))
            print("drawn: %s.svg" % stem)
        for fault in faults(source, stem):
            print("%s: %s" % (stem, fault))
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
