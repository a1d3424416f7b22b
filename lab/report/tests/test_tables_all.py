# SPDX-License-Identifier: MIT
"""A table is its module, and nothing else: no name of one stands in another, and a module that is added is found."""

import ast
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
import unittest
from pathlib import Path

from holdfast_report import tables

from .helpers import REPORT, results, row

PACKAGE = REPORT.with_name("holdfast_report")
# English, too: only a whole string is the table's name.
WORDS = {"clear", "copy", "loop", "fault", "guard", "holder", "region", "verbs"}


def names_in(source, wanted):
    """The tables' names that stand in the source of a module: in a name, a string or a comment."""
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.STRING:
            try:
                text = ast.literal_eval(text)
            except (SyntaxError, ValueError):  # an f-string
                text = text.strip("rbfRBF").strip("\"'")
            text = text if isinstance(text, str) else ""
        for name in wanted:
            exact = token.type == tokenize.STRING and text == name
            if exact or (name not in WORDS and re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", text)):
                found.add(name)
    return found


class Names(unittest.TestCase):
    def test_no_name_outside_of_its_module(self):
        paths = {*PACKAGE.glob("*.py"), PACKAGE / "tables" / "__init__.py"} - {PACKAGE / "results_page.py", PACKAGE / "cards.py"}
        for path in paths:
            self.assertEqual(names_in(path.read_text(encoding="utf-8"), tables.known()), set(), path.name)

    def test_no_table_asks_for_another(self):
        for path in (PACKAGE / "tables").glob("*.py"):
            others = set(tables.known()) - {path.stem}
            strings = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
            self.assertEqual(others & {s for s in strings if isinstance(s, str)}, set(), path.name)

    def test_it_would_be_found(self):
        for source in (
            'x = "mutex"',
            "rows.of('clear')",
            "# the spinlock is special",
            "mutex_words = 1",
            'f"hf_mutex {x}"',
        ):
            self.assertEqual(len(names_in(source, tables.known())), 1, source)
        for source in ('x = "clear of it"', "clear = {}", "# a copy of the holder"):
            self.assertEqual(names_in(source, tables.known()), set(), source)

    def test_each_module_is_its_table(self):
        for path in (PACKAGE / "tables").glob("[!_]*.py"):
            self.assertEqual(tables.known()[path.stem].name, path.stem)


class Added(unittest.TestCase):
    def test_a_module_that_is_added_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            lab = Path(folder) / "lab"
            shutil.copytree(REPORT.parents[1], lab, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copytree(REPORT.parents[2] / "tests" / "codegen", Path(folder) / "tests" / "codegen")
            (lab / "report" / "holdfast_report" / "tables" / "throwaway.py").write_text(
                "from ..blocks import fmt\nfrom ..family import Family\nfrom ..measured import Field\n\n"
                "class Throwaway(Family):\n    name = 'throwaway'\n    about = 'What is thrown away.'\n"
                "    fields = (Field('bends', 'bends', 'per op', fmt),)\n\nTABLE = Throwaway()\n"
            )
            path = Path(folder) / "r.json"
            path.write_text(json.dumps(results([row("throwaway", "base", "c", 3.0, bends=7.25)])))
            program = [sys.executable, "-B", str(lab / "report" / "report.py"), str(path)]
            done = subprocess.run(program, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.stderr, "")
            for words in ("What is thrown away.", "throwaway, c, 1 thread", "bends", "7.25"):
                self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
