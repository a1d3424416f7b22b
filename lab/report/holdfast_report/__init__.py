# SPDX-License-Identifier: MIT
"""holdfast_report - the lab's results in words, tables and charts.

Use when     a person wants to read the results that `hf-lab all --json` has written.
Not when     a program reads them: RESULTS.json has the raw data, and docs/results/README.md documents it.

input reads the rows; measured, charts and family process them as tables.py declares (add a table there); document
makes a list of blocks, which page shows, and summary what the terminal shows. judge compares the figures of figures.py with
the bounds in aims.py. compare compares two files; results_page writes docs/results.md and README's table.

Rules, cited in the code
    R1  A row whose count was wrong (checked = false) is shown as FAILED. It never wins, and no ratio to it is shown. A row
        without a figure is "not measured", and never wins either.
    R2  A difference within the noise is neither gain nor loss. The noise is the spread of the two rows, the gap between
        two measurements of the same, or 1 %, whichever is largest.
    R3  The default is compared with those of ours that promise as much: they catch misuse, need no memory that outlives
        the object, and are as fair, or have a fairness of 0.95 (aims.py, best_fair).
    R4  Each row of the results is in exactly one table of measured figures.
"""

import importlib.util
import sys

for _package in ("msgspec", "jinja2", "vl_convert"):
    if importlib.util.find_spec(_package) is None:
        print(f"The Python package '{_package}' is not installed: run `make venv`", file=sys.stderr)
        raise SystemExit(2)
