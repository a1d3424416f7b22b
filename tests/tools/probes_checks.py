# SPDX-License-Identifier: MIT
"""Run by probes.py within gdb: stops probes.c at each probe, and checks the arguments."""
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks  # noqa: E402

checks = Checks()
met = {}


def check(name, good, *what):
    checks.check(name, good, " ".join(str(word) for word in what))


def number(expression):
    return int(gdb.parse_and_eval(expression)) & (1 << 64) - 1


def address(expression):
    return number("(unsigned long)(%s)" % expression)


class Probe(gdb.Breakpoint):
    """Records the arguments, and continues."""

    def __init__(self, name):
        super().__init__("-probe-stap holdfast:" + name)
        self.name = name
        self.silent = True

    def stop(self):
        arguments = [number("$_probe_arg%d" % i) for i in range(int(gdb.parse_and_eval("$_probe_argc")))]
        met.setdefault(self.name, []).append(arguments)
        return False


gdb.execute("break main")
gdb.execute("run")
print(gdb.execute("info probes stap holdfast", to_string=True))
for name in ("contended", "acquired", "park", "wake", "misuse", "fault", "region_fault"):
    Probe(name)
gdb.execute("break at_end")
gdb.execute("continue")
check("the program reached at_end()", gdb.selected_frame().name() == "at_end", gdb.selected_frame().name())

mutex, shared, cond = address("&mutex"), address("&shared"), address("&cond")
forever = (1 << 64) - 1
check("contended", [mutex, 0] in met["contended"] and [shared, 1] in met["contended"], met["contended"])
check("acquired", [mutex, 0, 1] in met["acquired"] and [shared, 1, 1] in met["acquired"], met["acquired"])
check("as many acquired as contended", len(met["contended"]) == len(met["acquired"]), met)
parks, wakes = met["park"], met["wake"]
check("park, mutex", any(at == mutex for at, _, _ in parks), parks)
check("park, cond", any(at == cond and deadline == forever for at, _, deadline in parks), parks)
check("park, shared", any(at == word == shared and deadline < forever for at, word, deadline in parks),
      parks)
check("park, nothing else", {at for at, _, _ in parks} == {mutex, cond, shared}, parks)
check("wake, shared", [shared, shared] in wakes, wakes)
words = {word for at, word, _ in parks if at in (mutex, cond)}
check("wake, by the word of a park", all(at in (mutex, cond) and word in words for at, word in wakes
                                         if at != shared), wakes, parks)
check("wake, mutex", any(at == mutex for at, _ in wakes), wakes)
check("wake, cond", any(at == cond for at, _ in wakes), wakes)
text = gdb.Value(met["misuse"][0][3]).cast(gdb.lookup_type("char").pointer()).string()
check("misuse", len(met["misuse"]) == 1 and met["misuse"][0][0] == 2 and
      met["misuse"][0][1] == address("&count") and "addition on 0" in text, met["misuse"], text)
block, functions = gdb.block_for_pc(met["misuse"][0][2]), []
while block:
    functions.append(str(block.function))
    block = block.superblock
check("misuse, its site", "main" in functions, functions)
check("fault", met["fault"] == [[address("nowhere"), 11, 2]], met["fault"])
check("region_fault", met["region_fault"] == [[address("lost + 8"), address("&region"), 7]],
      met["region_fault"])
checks.end()
