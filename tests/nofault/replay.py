#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the choice of clear and copy implementations against the archived measurements of other machines.

    replay.py --policy PROGRAM --results DIR

For each archived result, PROGRAM computes the default for that processor. The archived times of that
implementation are compared with libc's, and with the best of all implementations. Nothing is timed, so the
result is the same on every machine.

  mean    geometric mean over the hot cases (aligned and misaligned): at most libc's time, and at most
          1.05 times that of the best implementation
  worst   in each case, at most 1.25 times libc's, and 1.25 times that of the best implementation, beyond the noise: twice
          the ratio's standard error, from the spread and the number of rounds of both rows, as if they were normal

The comparison with libc starts at 512 bytes: below, a quarter of the measured time is the call through a pointer,
which the named rows have and programs don't. (The lab itself judges its row `default`, which has no such call.)
An archive from before the current implementations (hand_...) is judged by the vector loop of the same width,
which is the same from 512 bytes on, and only from there on. Where the code of some sizes has changed, cases of older
archives are not judged: CHANGED. `erms` and `fsrm` execute the same instruction from
64 bytes on, so the mean of both is used.

Then AVX-512 is hidden from the policy, as on a processor without it: the same limits, relative to the best of ours that
does not need it. (libc's times with AVX-512 hidden are not archived: docs/design/0010 has the commands that measure them.)

Then each processor is taken for one that the policy does not know: the rule alone may take at most MEAN_REGRET times
the time of its row, and each machine's loss is printed.
"""
import glob
import gzip
import json
import math
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments  # noqa: E402

MEAN_LIBC, WORST_LIBC, MEAN_REGRET, WORST_REGRET = 1.00, 1.25, 1.05, 1.25
LARGE = 512  # bytes; from here on hand_... and vector_... are the same loop, and the cost of a call is small
# (table, implementation, from and up to so many bytes, since): a case of an archive from before that day is not judged.
CHANGED = [
    ("clear", "hand_avx2", 257, 512, "2026-11-27"),  # a loop in place of straight stores
    ("copy", "hand_avx2", 257, 512, "2026-11-27"),  # the same where the destination is unaligned
]
WITH_AVX512 = ("vector_avx512", "hand_avx512", "hand_mixed")
TABLES = ("clear", "copy")
ALL_FEATURES = ["erms", "fsrm", "fsrs", "avx2", "avx512f", "avx512vl"]


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def processor(machine):
    """Return (vendor as in CPUID, family, model), or None if it is not an x86-64. Reads old and new results."""
    if "vendor" in machine:
        return machine["vendor"], str(machine["family"]), str(machine["model"])
    words = machine["cpu"].replace(",", "").split()
    if machine.get("architecture") != "x86_64" or "family" not in words:
        return None
    vendor = "GenuineIntel" if "Intel" in machine["cpu"] else "AuthenticAMD"
    return vendor, words[words.index("family") + 1], words[words.index("model") + 1]


def features(results):
    """Return the processor's features: the recorded ones; in old results, those that the measured rows imply."""
    recorded = results["machine"].get("features")
    if recorded is not None:
        return [name for name in ALL_FEATURES if name in recorded]
    ran = {row["variant"] for row in results["rows"] if row["table"] == "clear"}
    found = ["erms"] if "erms" in ran else []
    found += ["fsrm", "fsrs"] if "fsrm" in ran else []
    found += ["avx2"] if "vector_avx2" in ran else []
    return found + (["avx512f", "avx512vl"] if "vector_avx512" in ran else [])


def choose(program, kind, has):
    said = subprocess.run([program, "choose", *kind, *has], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split(None, 4)
    limits = [math.inf if word == "never" else int(word) for word in said[2:4]]
    return dict(zip(TABLES, said)), dict(zip(TABLES, limits)), said[4].strip()


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def quotient(a, b):
    """The ratio of two lists' mean times, and the most that noise leaves of it: two standard errors less."""
    ratio = mean([row["ns_per_op"] for row in a]) / mean([row["ns_per_op"] for row in b])
    # The standard error of a median is .93 interquartile ranges / sqrt(rounds).
    error = math.sqrt(sum((0.93 * (row.get("spread") or 0) / len(rows)) ** 2 / max(row.get("rounds") or 1, 1)
                          for rows in (a, b) for row in rows))
    return ratio, ratio / (1 + 2 * error)


def has_changed(table, name, size, date):
    """Was the case measured before its code changed?"""
    return any((table, name) == change[:2] and change[2] <= size <= change[3] and date < change[4] for change in CHANGED)


def is_hot(case):
    return "cold" not in case and "read" not in case


def judge(checks, what, values, most_mean, most=math.inf):
    """values: {case: (ratio, what noise leaves of it)}"""
    worst, average = max(values, key=lambda case: values[case][1]), mean([ratio for ratio, _ in values.values()])
    checks.check("%s: mean %.3f (at most %.2f), worst %.2f at %s, of which noise leaves %.2f (at most %.2f), %d cases"
                 % (what, average, most_mean, values[worst][0], worst, values[worst][1], most, len(values)),
                 average <= most_mean and values[worst][1] <= most)


def replay(checks, program, path):
    """One archived result."""
    results = load(path)
    kind, has = processor(results["machine"]), features(results)
    name = os.path.basename(path)
    if kind is None:
        print("# %s: not an x86-64, so there is no choice" % name)
        return
    vectors, limits, why = choose(program, kind, has)
    print("# %s: %s family %s model %s: %s (%s)" % (name, *kind, vectors, why))
    for table in TABLES:
        rows = {}
        for row in results["rows"]:
            if row["table"] == table and row["kind"] != "again" and row.get("ns_per_op"):
                rows.setdefault(row["case"], {})[row["variant"]] = row
        if not rows:
            print("# %s has no table %s" % (name, table))
            continue
        by_hand = any("hand_" + vectors[table] in row for row in rows.values())

        def size_of(case):
            return rows[case]["libc"]["size"]  # pylint: disable=cell-var-from-loop

        def chosen(case, vectors, limits, row_of=rows, table=table):
            """The rows of what these vectors and limits choose: the repeated instruction, or a loop."""
            row = row_of[case]
            if size_of(case) >= limits[table]:
                return [row[one] for one in ("erms", "fsrm") if one in row]
            hand, loop = "hand_" + vectors[table], "vector_" + vectors[table].replace("mixed", "avx512")
            return [row[hand if hand in row else loop]]

        def best_of(case, *without, row_of=rows):
            row = row_of[case]
            others = [[one] for variant, one in row.items() if variant not in ("libc", "default", "erms", "fsrm", *without)]
            repeats = [row[one] for one in ("erms", "fsrm") if one in row]
            return min(others + ([repeats] if size_of(case) >= 64 else []),
                       key=lambda rows: mean([one["ns_per_op"] for one in rows]))

        def judged(vectors, row_of=rows, table=table):
            """The cases of memory that is in the cache, but for those whose code has changed since."""
            return [case for case in row_of if is_hot(case) and not has_changed(
                table, "hand_" + vectors[table], size_of(case), results["machine"].get("date", ""))]

        hot = [case for case in judged(vectors) if by_hand or size_of(case) >= LARGE]
        of = "%s of %s: time relative to " % (table, name)
        judge(checks, of + "libc", {case: quotient(chosen(case, vectors, limits), [rows[case]["libc"]])
                                    for case in hot if size_of(case) >= LARGE}, MEAN_LIBC, WORST_LIBC)
        judge(checks, of + "the best of ours", {case: quotient(chosen(case, vectors, limits), best_of(case)) for case in hot},
              MEAN_REGRET, WORST_REGRET)
        if by_hand and "avx512vl" in has:
            hidden, its_limits, _ = choose(program, kind, [one for one in has if "avx512" not in one])
            judge(checks, of + "the best of those without AVX-512, which is hidden: %s" % hidden[table],
                  {case: quotient(chosen(case, hidden, its_limits), best_of(case, *WITH_AVX512)) for case in judged(hidden)},
                  MEAN_REGRET, WORST_REGRET)
        other, its_limits, _ = choose(program, ("unknown", "0", "0"), has)
        judge(checks, of + "the choice with its row, without it: %s" % other[table],
              {case: quotient(chosen(case, other, its_limits), chosen(case, vectors, limits)) for case in hot}, MEAN_REGRET)


def rules(checks, program):
    """Check the choice on processors without measurements, for combinations of features that they report."""
    for kind, has, wanted in (
            (("GenuineIntel", "6", "1"), ALL_FEATURES, ("avx512", "mixed", 16 << 20, 32 << 20)),
            (("GenuineIntel", "6", "85"), ["erms", "avx2", "avx512f", "avx512vl"], ("avx2", "avx2", 16 << 20, 32 << 20)),
            (("AuthenticAMD", "25", "17"), ALL_FEATURES, ("avx512", "avx2", 16 << 20, 32 << 20)),
            (("AuthenticAMD", "25", "1"), ["erms", "fsrm", "avx2"], ("avx2", "avx2", 16 << 20, 32 << 20)),
            (("GenuineIntel", "6", "207"), ["erms", "fsrm", "fsrs"], ("sse2", "sse2", 16 << 20, 32 << 20)),
            (("GenuineIntel", "6", "207"), ["erms", "fsrm", "fsrs", "avx2"], ("avx2", "avx2", 16 << 20, 4096)),
            (("GenuineIntel", "6", "151"), ["erms", "avx2"], ("avx2", "avx2", 16 << 20, 32 << 20)),
            (("GenuineIntel", "6", "207"), ["avx2", "avx512f", "avx512vl"],
             ("avx512", "avx512", math.inf, math.inf)),
            (("AuthenticAMD", "26", "2"), ["erms", "avx2", "avx512f"],
             ("avx2", "avx2", 16 << 20, 32 << 20)),
            (("", "0", "0"), [], ("sse2", "sse2", math.inf, math.inf))):
        vectors, limits, _ = choose(program, kind, has)
        found = (*vectors.values(), limits["clear"], limits["copy"])
        checks.check("%s with %s: %s" % (" ".join(kind), " ".join(has) or "nothing", found), found == wanted,
                     "not %s" % (wanted,))


def main():
    args = arguments(__doc__, "policy", "results")
    files = sorted(glob.glob(os.path.join(args.results, "*.json")) +
                   glob.glob(os.path.join(args.results, "*.json.gz")))
    checks = Checks()
    rules(checks, args.policy)
    for path in files:
        replay(checks, args.policy, path)
    checks.check("the archive is not empty", files, "%s has no results" % args.results)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
