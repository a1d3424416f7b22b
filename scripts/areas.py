# SPDX-License-Identifier: MIT
"""Areas of the project: which files belong to them (tests/areas.txt), which tests (ctest's labels), which programs tests need."""
import glob
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def patterns():
    """{area: regular expression for the paths of its files}, without the sets of tests that belong to no files."""
    with open(os.path.join(ROOT, "tests", "areas.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: files for name, files, _ in rows if files != "-"}


def of_files(files):
    """(the areas to which the files belong, the files that belong to none)"""
    areas = patterns()
    return ([area for area, pattern in areas.items() if any(re.search(pattern, file) for file in files)],
            [file for file in files if not any(re.search(pattern, file) for pattern in areas.values())])


class Test:
    def __init__(self, row):
        self.name = row["name"]
        self.labels = next((entry["value"] for entry in row["properties"] if entry["name"] == "LABELS"), [])


def tests(preset, *options):
    """The tests that ctest lists for a preset; none if it has not been configured."""
    done = subprocess.run(["ctest", "--preset", preset, *options, "--show-only=json-v1"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode or "{" not in done.stdout:
        return []
    return [Test(row) for row in json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{"):])[0]["tests"]]


def labelled(areas):
    """The regular expression of ctest's -L for these labels."""
    return "^(%s)$" % "|".join(map(re.escape, areas))


def targets(preset, areas):
    """What the tests of these areas need of a configured build: the files in their commands that it makes."""
    build = os.path.join(ROOT, "build", preset)
    made = set(re.findall(r"^(.+): (?!phony)", subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], text=True,
                                                              stdout=subprocess.PIPE, check=False).stdout, re.MULTILINE))
    commands = {}  # ctest itself does not list those of programs that have not been built
    for path in glob.glob(os.path.join(build, "**", "CTestTestfile.cmake"), recursive=True):
        with open(path, encoding="utf-8") as file:
            commands.update(re.findall(r"^add_test\((?:\[=+\[)?([^\s\]]+)(?:\]=+\])? (.*)\)$", file.read(), re.MULTILINE))
    found = {}
    for test in tests(preset, "-L", labelled(areas)):
        if test.name not in commands:  # of a program of unit tests, which lists its tests itself: PROGRAM.SUITE.CASE
            found[re.sub(r"_NOT_BUILT$|[.].*", "", test.name)] = True
        for path in re.findall(re.escape(build) + r"/([^\s,;=\"]+)", commands.get(test.name, "")):
            if path in made:
                found[path] = True
    return list(found)
