# SPDX-License-Identifier: MIT
"""What the guard costs: one loop with its sites and without."""

from __future__ import annotations

from ..blocks import fmt, geometric_mean
from ..family import Family
from ..rows import Results


class Loop(Family):
    name = "loop"
    order = 160
    about = "The library's loop over words, compiled twice: with its sites, and with plain accesses in their place."
    judged = False

    def own_words(self, results: Results) -> list[str]:
        ratios = [results.ratio(r) for r in results.of(self.name, "ours")]
        ratios = [r for r in ratios if r]
        if not ratios:
            return ["No valid figures."]
        return [
            f"A loop with the guard takes {geometric_mean(ratios):.3f} of the time of the same loop without (geometric"
            f" mean of {len(ratios)} cases, from {fmt(min(ratios))} to {fmt(max(ratios))})."
        ]


TABLE = Loop()
