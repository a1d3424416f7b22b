# SPDX-License-Identifier: MIT
"""One fault and its recovery."""

from ..family import Family


class Fault(Family):
    name = "fault"
    order = 170
    about = "One fault and its recovery. bare SIGSEGV: a handler that does nothing but step over the instruction."
    judged = False


TABLE = Fault()
