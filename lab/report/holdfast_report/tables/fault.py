# SPDX-License-Identifier: MIT
"""One fault and its recovery."""

from __future__ import annotations

from ..blocks import fmt
from ..family import Family
from ..rows import Results


class Fault(Family):
    name = "fault"
    order = 170
    about = "One fault and its recovery. bare SIGSEGV: a handler that does nothing but step over the instruction."
    judged = False

    def own_words(self, results: Results) -> list[str]:
        words = []
        for row in results.of(self.name, "ours"):
            ratio = results.ratio(row)
            of = "no valid figure" if ratio is None else f"{fmt(ratio)} of a bare delivery and return"
            words.append(f"{row.variant}: {of}.")
        return words or ["No valid figures."]


TABLE = Fault()
