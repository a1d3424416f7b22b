#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure a machine with many cores, in ten minutes, or take what was measured there; write its file for docs/results.

many_core.py FOLDER --hf-lab FILE [--seconds N]   measure: write classify.txt, lscpu.txt and results.json to FOLDER
many_core.py FOLDER [--out docs/results]          take these three, from FOLDER, as one file that can be sent in

To measure, run `hf-lab classify`, then the tables of counts and locks with 1, 2, 4, ... threads up to all processors. The
file has what `hf-lab --json` writes, with one more member, `many_core`: the class that classify found, what it printed, what
lscpu printed, and the machine file that classify wrote, if FOLDER has it.
"""

import argparse
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TABLES = ("refcount", "lockref", "spinlock", "mutex", "cond")


def stop(words):
    sys.exit("many_core.py: " + words)


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 3:
        stop("this machine was too busy; measure again on an idle one, or with --anyway")
    if done.returncode:
        stop("%s: exit status %d" % (" ".join(map(str, words[:2])), done.returncode))
    return done.stdout


def doubled(processors):
    """1, 2, 4, ... and all of them."""
    threads = [1 << n for n in range(processors.bit_length()) if 1 << n < processors]
    return [*threads, processors]


def measure(args):
    args.folder.mkdir(parents=True, exist_ok=True)
    processors = len(os.sched_getaffinity(0))
    if processors < 8:
        print("only %d processors: this is a trial; please send in files of machines with 8 or more" % processors)
    start = time.monotonic()
    window = max(1, min(20, args.seconds // 10))
    (args.folder / "lscpu.txt").write_text(run("lscpu"), encoding="utf-8")
    classified = run(args.hf_lab, "classify", "--window-ms", str(window), "--out", args.folder / "this-machine.toml")
    (args.folder / "classify.txt").write_text(classified, encoding="utf-8")
    print(classified, end="", flush=True)
    left = max(5, int(args.seconds - (time.monotonic() - start)))
    run(args.hf_lab, *TABLES, "--threads", ",".join(map(str, doubled(processors))), "--seconds", str(left),
        "--json", args.folder / "results.json", *(["--anyway"] if args.anyway else []))


def file_name(machine):
    words = re.sub(r"\(r\)|\(tm\)|processor|family|model", lambda m: m[0] if m[0] in ("family", "model") else "",
                   machine["cpu"].lower())
    name = re.sub(r"[^a-z0-9]+", "-", words.replace("family ", "family").replace("model ", "model")).strip("-")
    return "%s-%dcpu-%s.json.gz" % (name, machine["cpus"], machine["date"][:10])


def taken(folder):
    """The three files as one."""
    try:
        text = {name: (folder / name).read_text(encoding="utf-8") for name in ("results.json", "classify.txt", "lscpu.txt")}
        data = json.loads(text["results.json"])
    except (OSError, ValueError) as error:
        stop("%s: %s" % (folder, error))
    found = re.search(r"^class: (\S+)", text["classify.txt"], re.MULTILINE)
    if not found:
        stop("%s/classify.txt has no line 'class:'; `hf-lab classify` prints it at its end" % folder)
    data["many_core"] = {"class": found[1], "classify": text["classify.txt"], "lscpu": text["lscpu.txt"]}
    machine_file = folder / "this-machine.toml"
    if machine_file.exists():
        data["many_core"]["machine_file"] = machine_file.read_text(encoding="utf-8")
    return data


def check(archive):
    """Whether the report can read it; without the report's packages that is left to whoever takes the file."""
    if importlib.util.find_spec("msgspec") is None:
        print("not checked: the report's packages are missing, and `make venv` installs them")
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent / "report"))
    from holdfast_report.input import load_results
    from holdfast_report.rows import InputError

    try:
        load_results(str(archive))
    except InputError as error:
        stop(str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--hf-lab", metavar="FILE", help="measure first")
    parser.add_argument("--seconds", type=int, default=570, metavar="N", help="for all of it (default: 570)")
    parser.add_argument("--anyway", action="store_true", help="write the file even if the machine was busy")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the file goes (default: FOLDER)")
    args = parser.parse_args()
    if args.hf_lab:
        measure(args)
    data = taken(args.folder)
    if data.get("quality", {}).get("words") and not args.anyway:
        stop("%s (--anyway takes it)" % data["quality"]["words"])
    archive = (args.out or args.folder) / file_name(data["machine"])
    if args.out and archive.exists():
        stop("%s is there already" % archive)
    archive.write_bytes(gzip.compress(json.dumps(data).encode(), 9, mtime=0))
    check(archive)
    print("\nWrote %s; `zcat` shows its contents. Please send it in: docs/results/README.md says how.\n"
          "In docs/results, `make readme` shows it beside the other machines." % archive)


if __name__ == "__main__":
    main()
