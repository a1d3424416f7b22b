#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what `hf-lab simulate --json` wrote: simulation.py FILE.json... --html FILE."""

import sys

from holdfast_report.simulation import main

if __name__ == "__main__":
    sys.exit(main())
