# SPDX-License-Identifier: MIT
"""What the guard costs: one loop with its sites and without."""

from ..family import Family


class Loop(Family):
    name = "loop"
    order = 160
    about = "The library's loop over words, compiled twice: with its sites, and with plain accesses in their place."
    judged = False


TABLE = Loop()
