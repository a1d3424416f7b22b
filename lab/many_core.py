#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure a machine with many cores, in ten minutes, and write one file that can be sent in.

many_core.py --hf-lab FILE --out FOLDER [--seconds N]

Runs `hf-lab classify`, then the tables of counts and locks with 1, 2, 4, ... threads up to all processors. Writes a
result file as `hf-lab --json` does and docs/results keeps them, with one more member, `many_core`: the output of
classify, the machine file that it wrote, and the class that it found.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "report"))
from holdfast_report.input import load_results  # noqa: E402
from holdfast_report.rows import InputError  # noqa: E402

TABLES = ("refcount", "lockref", "spinlock", "mutex")


def hf_lab(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 3:
        sys.exit("many_core.py: this machine was too busy; measure again on an idle one, or with --anyway")
    if done.returncode:
        sys.exit("many_core.py: hf-lab %s failed with exit status %d" % (words[0], done.returncode))
    return done.stdout


def doubled(processors):
    """1, 2, 4, ... and all of them."""
    threads = [1 << n for n in range(processors.bit_length()) if 1 << n < processors]
    return [*threads, processors]


def file_name(machine):
    words = re.sub(r"\(r\)|\(tm\)|processor|family|model", lambda m: m[0] if m[0] in ("family", "model") else "",
                   machine["cpu"].lower())
    name = re.sub(r"[^a-z0-9]+", "-", words.replace("family ", "family").replace("model ", "model")).strip("-")
    return "%s-%dcpu-%s.json.gz" % (name, machine["cpus"], machine["date"][:10])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-lab", required=True, metavar="FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=570, metavar="N", help="for all of it (default: 570)")
    parser.add_argument("--anyway", action="store_true", help="write the file even if the machine was busy")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    toml, results = args.out / "this-machine.toml", args.out / "many-core-results.json"
    processors = len(os.sched_getaffinity(0))
    if processors < 8:
        print("only %d processors: this is a trial; please send in files of machines with 8 or more" % processors)
    start = time.monotonic()
    window = max(1, min(20, args.seconds // 10))
    classified = hf_lab(args.hf_lab, "classify", "--window-ms", str(window), "--out", str(toml))
    print(classified, end="", flush=True)
    left = max(5, int(args.seconds - (time.monotonic() - start)))
    hf_lab(args.hf_lab, *TABLES, "--threads", ",".join(map(str, doubled(processors))), "--seconds", str(left),
           "--json", str(results), *(["--anyway"] if args.anyway else []))
    data = json.loads(results.read_text(encoding="utf-8"))
    data["many_core"] = {"class": re.search(r"^class: (\S+)", classified, re.MULTILINE)[1], "classify": classified,
                         "machine_file": toml.read_text(encoding="utf-8")}
    archive = args.out / file_name(data["machine"])
    archive.write_bytes(gzip.compress(json.dumps(data).encode(), 9, mtime=0))
    try:
        load_results(str(archive))
    except InputError as error:
        sys.exit("many_core.py: %s" % error)
    print("\nWrote %s; `zcat` shows its contents. Please send it in: docs/results/README.md says how.\n"
          "`make machines` draws it over the archived machines." % archive)


if __name__ == "__main__":
    main()
