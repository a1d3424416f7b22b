#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""results_page.py: docs/results/ -> docs/results.md and README.md's table; see holdfast_report/results_page.py."""

import sys

from holdfast_report.results_page import main

if __name__ == "__main__":
    sys.exit(main())
