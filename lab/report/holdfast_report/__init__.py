# SPDX-License-Identifier: MIT
"""holdfast_report - what the lab measured, in words, tables and charts.

Use when     `hf-lab all --json` has written its results and a person is to read them.
Not when     a program is to read them: RESULTS.json is the raw data, and docs/results/README.md says what is in it.

Data flows from rows (input reads them) through verdict, measured, charts, family and tables (the declarations; to add
a table, declare it there) to document, a list of blocks, which page and terminal show. results_page, machines_page
and simulation are other pages of the same blocks.

Rules, cited in the code
    R1  A row whose count was wrong (checked = false) is shown as FAILED wherever it would have stood. It never wins, and
        no ratio to it is shown. A row without a figure is "not measured", and never wins either.
    R2  A winner that is compared with the default has fairness >= 0.95. The fastest of all is named with its fairness.
    R3  A difference no larger than the noise is neither gain nor loss: the noise is the spread of the two rows, the gap
        between the default and the same code measured again or under its own name, or 1 %, whichever is largest.
    R4  A variant with another contract (it catches no misuse, or needs memory that outlives the count) is no
        candidate for "best of ours"; the declaration of its table names it, with the reason.
    R5  Each row of the results stands in exactly one table of measured figures.
"""

import importlib.util
import sys

for _package in ("msgspec", "jinja2", "vl_convert"):
    if importlib.util.find_spec(_package) is None:
        print(f"The Python package '{_package}' is not installed: run `make venv`", file=sys.stderr)
        raise SystemExit(2)
