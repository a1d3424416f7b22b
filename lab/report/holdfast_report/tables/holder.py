# SPDX-License-Identifier: MIT
"""A lockref whose lock half is held for long: waiters that spin beside waiters that park."""

from ..blocks import fmt_ms, fmt_time
from ..family import Family
from ..measured import Field

OUTLIVES = "needs memory that outlives the count"


class Holder(Family):
    name = "holder"
    order = 110
    about = (
        "get+put by all threads but one, the holder, which works for 1 ms under the lock and for 1 ms without, again"
        " and again. spins, parks: what waiters for the lock half do. CPU time: what an operation costs the other"
        " threads, waiting included. Hold: how long the millisecond of work takes."
    )
    fields = (
        Field("cpu_ns", "CPU time", "ns/op", fmt_time),
        Field("hold_ns", "hold", "ms", fmt_ms),
    )
    other_contract = {"waitfree, spins": OUTLIVES, "waitfree, parks": OUTLIVES}


TABLE = Holder()
