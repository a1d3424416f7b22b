#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that the manual page of a program lists exactly the options of its --help.

usage: run.py PAGE PROGRAM [--also ARGUMENTS]...

--also: other arguments that print help, such as "simulate --help". libfuse's options differ between versions: the page may
lack some, but may have none that this version lacks.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks  # noqa: E402

OPTION = r"(?<![\w-])(--[a-z][a-z-]*)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("program")
    parser.add_argument("--also", action="append", default=[])
    args = parser.parse_args()

    def output(*words):
        return subprocess.run([args.program, *words], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout

    with open(args.page, encoding="utf-8") as file:
        page = re.sub(r"\bFl Fl (?=\w)", "--", file.read())
    help_text = output("--help")
    ours, _, of_fuse = help_text.partition("FUSE options:")
    ours += "".join(output(*words.split()) for words in args.also)
    checks, page_name, bad, missing = Checks(), os.path.basename(args.page), [], []

    in_page = set(re.findall(OPTION, page))
    in_help = set(re.findall(OPTION, ours)) | {"--help"}
    names = {"-o " + name for name in re.findall(r"-o ([a-z_]{2,})", ours)}
    page_names = {"-o " + name for name in re.findall(r"Fl o Cm ([a-z_]+)", page)}
    more = {"-o " + name for name in re.findall(r"-o ([a-z_]{2,})", of_fuse)} | \
        set(re.findall(OPTION, of_fuse))
    if os.path.basename(args.program) == "hf-lab":
        missing = [line for line in output("list").splitlines() if re.match(r"missing .*(table|hf-lab)", line)]
    if len(in_help | names) < 4:
        bad.append("--help prints too little: %s" % help_text)
    for name in sorted((in_help | names) - (in_page | page_names)):
        bad.append("--help has %s, and the page does not" % name)
    for line in missing:
        checks.skip("man hf-lab: options that the page has and --help lacks", line)
    for name in sorted((in_page | page_names) - (in_help | names | more)) if not missing else []:
        bad.append("the page has %s, and --help does not" % name)

    # man warns of misspelt macros.
    if shutil.which("man"):
        warned = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", args.page],
                                check=False, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C.UTF-8")).stderr
        bad += warned.splitlines()
    else:
        checks.skip("man " + page_name, "no man, which warns of misspelt macros")
    checks.wrong(page_name, "\n".join(bad))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
