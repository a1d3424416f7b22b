# SPDX-License-Identifier: MIT
"""The file system that is made of the primitives."""

from __future__ import annotations

from ..blocks import fmt
from ..family import Family
from ..rows import Results, Row


class OpenClose(Family):
    name = "openclose"
    order = 190
    about = (
        "open, read 64 bytes and close in the file system that is made of the primitives (tmpfs/), built once with each"
        " implementation; each thread has its own table of descriptors. hot file: one file for all threads. file each: a"
        " file per thread, in one directory. 4 deep: one file, four directories down. After each run the tree is walked"
        " and every count checked against the references found. The kernel's tmpfs is reached by system calls: a"
        " different road, for scale."
    )
    other_contract = {"refcount=unchecked": "catches no misuse"}

    def own_words(self, results: Results) -> list[str]:
        """How far the same code differs from itself by another name, which is what a comparison here can show."""
        default = next((r for r in results.of(self.name, "default") if (r.case, r.threads) == ("hot file", 2)), None)
        if default is None or not default.valid:
            return ["No valid figures."]
        here = [r for r in results.of(self.name, "ours") if (r.case, r.threads) == (default.case, default.threads)]
        here = [r for r in here if results.ratio(r) and r.variant not in self.other_contract]
        same = [results.ratio(r) for r in here if self.is_implementation(r, default.implements)]
        others: list[Row] = [r for r in here if not self.is_implementation(r, default.implements)]
        words = []
        if others:
            best = min(others, key=results.ratio)
            text = f"hot file, 2 threads: the default has {fmt(results.ratio(best))} times the throughput of the best"
            text += f" other, {best.variant}"
            if same:
                text += f"; the same code by other names: {fmt(min(same))} to {fmt(max(same))}"
            words.append(text + ".")
        return words


TABLE = OpenClose()
