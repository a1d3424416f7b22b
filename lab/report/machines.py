#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""machines.py: docs/results/ -> one page over which all machines are laid; see holdfast_report/machines_page.py."""

import sys

from holdfast_report.machines_page import main

if __name__ == "__main__":
    sys.exit(main())
