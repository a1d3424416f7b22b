# SPDX-License-Identifier: MIT
"""What a waiter does between two looks at a fair lock."""

from __future__ import annotations

from ..blocks import Chart, fmt_share
from ..charts import wait_chart
from ..family import Family
from ..measured import Field
from ..rows import Results


class Handoff(Family):
    name = "handoff"
    order = 120
    about = (
        "contended: all threads share one ticket or mcs lock; only what a waiter does between two looks at it differs."
        " Hand-off: operations that got the lock from another thread. Waiters: releases that found a waiter."
    )
    fields = (
        Field("handoff_share", "hand-off", "% of ops", fmt_share),
        Field("waiter_share", "waiters", "% of releases", fmt_share),
    )

    def wait_charts(self, results: Results) -> list[Chart | None]:
        title = "handoff: operations that got the lock from another thread"
        about = "More is not better or worse by itself: it shows how often the lock's cache line had to move."

        def percent(row):
            share = row.more.get("handoff_share")
            return None if share is None else share * 100

        share = wait_chart(results, self.name, "handoff-share", title, percent, "% of operations", about)
        return [*super().wait_charts(results), share]


TABLE = Handoff()
