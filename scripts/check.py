#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the quick tests before a commit. Takes two minutes on two processors if a build exists.

    check.py [FILE...]          default: the files that differ from the main branch

Builds the targets that it needs of the release preset, and runs the quick native tests, the tests of the areas to which
the changed files belong, and the checks of headers and format. `make test-all` runs the others: emulators, sanitizers,
ports and so on. Prints the failures and then a summary line; the log is build/test/check.log. Exits with 1 on a failure.
"""
import os
import re
import subprocess
import sys
import time

from test import LOGS, ROOT, Stage, ctest, format_check

# (targets, tests) of each run
QUICK = (["battery", "unit_tests", "unit_validate_tests",
          "holdfast", "holdfast_shared", "holdfast_extern", "holdfast_extern_shared",
          "abi_program"],
         ["battery$", "unit_", "abi", "codegen", "docs", "extern", "headers", "runners"])

# area: (files, targets, tests). A changed file adds the targets and tests of its areas: none, one or several.
AREAS = {
    "refcount": (r"refcount|rcuref",
                 ["stress_refcount", "model_refcount", "model_refcount_asm",
                  "model_refcount_cmpxchg", "model_refcount_unchecked", "model_rcuref", "model_refcount_lock",
                  "battery.refcount.cmpxchg", "battery.refcount.unchecked", "battery.refcount.asm"],
                 ["battery.refcount", "stress.refcount", "model.refcount", "model.rcuref"]),
    "spinlock": (r"spinlock|handoff",
                 ["stress_spinlock", "model_spinlock", "model_spinlock_variants", "battery.spinlock.variants"],
                 ["battery.spinlock", "stress.spinlock", r"model.spinlock(_variants)?(\.|$)"]),
    "queued": (r"internal/(spinlock_queued|node)|queued_watch|model/(spinlock_queued|locks)",
               ["model_spinlock_queued"], ["model.spinlock_queued"]),
    "lockref": (r"lockref",
                ["stress_lockref", "stress_lockref_spinning", "stress_lockref_waitfree",
                 "model_lockref", "model_lockref_locked",
                 "model_lockref_unbounded", "model_lockref_waitfree", "battery.lockref.locked",
                 "battery.lockref.unbounded", "battery.lockref.queued", "battery.lockref_waitfree.queued"],
                ["battery.lockref", "stress.lockref", "model.lockref"]),
    "mutex": (r"mutex|park|cond|process",
              ["stress_mutex", "stress_mutex_parks", "stress_mutex_litmus", "stress_mutex_bucket",
               "stress_mutex_calls", "stress_mutex_seccomp", "stress_cond", "model_mutex", "model_cond"],
              ["stress.mutex", "stress.cond", "model.mutex", "model.cond"]),
    "nofault": (r"nofault|cpu|grace|latch",
                ["nofault.sweep", "nofault.gone", "nofault.objects", "nofault_linked", "nofault_own",
                 "model_grace", "model_latch"],
                ["nofault.sweep$", "nofault.sweep.mutants", "nofault.gone", "nofault.objects",
                 "model.grace", "model.latch"]),
    "region": (r"region|safe", ["nofault.region", "model_region"], ["nofault.region", "model.region"]),
    "waiting": (r"include/holdfast/(internal/(arch|env|wait|atomic|compiler)|validate)",
                ["stress_refcount", "stress_spinlock", "stress_lockref", "stress_mutex"],
                ["stress.refcount", "stress.spinlock", "stress.lockref$", "stress.mutex$"]),
    "tmpfs": (r"tmpfs|fuse",
              ["tmpfs_tests", "tmpfs_compare", "tmpfs_stress"],
              ["tmpfs_tests", "tmpfs.compare", "tmpfs.stress$"]),
    "lab": (r"^lab/(?!report|sim)|^tmpfs/lab|^tests/lab", ["hf-lab"], ["lab$"]),
    "simulate": (r"^lab/sim/", ["hf-lab"], ["lab.simulate$"]),
    "examples": (r"^(tests/)?examples/", ["examples/all"], ["example"]),
    "guide": (r"^docs/(guide|diagrams)/|^tests/guide", [], ["guide$"]),
    "tools": (r"^packaging/share/gdb|profile|probe|tests/tools|guide/tools",
              ["tools_profile", "tools_profile_host", "tools_profile_a", "tools_profile_b",
               "tools_profile_shared", "tools_gdb_static", "tools_gdb_dynamic", "tools_probes_static",
               "tools_probes_dynamic"], [r"tools\.(profile|gdb|probes|cost)"]),
    "hf-run": (r"^tools/hf-run|mutex|park|cond|validate",
               ["hf-run", "run_conform", "run_counts", "run_faults", "run_shop", "run_names", "run_preloads"], [r"tools\.hf-run$"]),
    "man": (r"^docs/man|^tmpfs/docs/.*[.]1|^tests/man|^lab/main|^lab/sim/command|fuse_(main|options)",
            ["hf-lab", "hf-tmpfs-fuse"], [r"man\."]),
    "install": (r"^packaging/cmake/|^CMake|^tests/install", [], ["install"]),
    "single": (r"^packaging/single/|^tests/single", [], ["single"]),
    "zephyr": (r"^(tests/)?zephyr/|env/bare", [], ["zephyr.seam"]),
}


def choose(files):
    """The areas to which the files belong."""
    return [area for area, (pattern, _, _) in AREAS.items()
            if any(re.search(pattern, file) for file in files)]


def plan(areas):
    """(targets, regular expression for the tests)"""
    parts = [QUICK, *[AREAS[area][1:] for area in areas]]
    targets = list(dict.fromkeys(target for part in parts for target in part[0]))
    tests = list(dict.fromkeys(test for part in parts for test in part[1]))
    return targets, "^(%s)" % "|".join(tests)


def git(*arguments):
    """The lines of git's output; none if it fails."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed():
    """The files that differ from the merge base with the main branch, and untracked files."""
    base = next((line for name in ("main", "origin/main")
                 for line in git("merge-base", name, "HEAD")), "HEAD")
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


def there_are(targets):
    """Those targets that this build has: the models need a package, some tests a certain processor."""
    listed = subprocess.run(["ninja", "-C", os.path.join(ROOT, "build", "release"), "-t", "targets",
                             "all"], stdout=subprocess.PIPE, text=True, check=False).stdout
    known = set(re.findall(r"^(\S+): phony", listed, re.MULTILINE))
    return [target for target in targets if target in known]


def run(stage, areas):
    targets, tests = plan(areas)
    if not stage.step("configure", "cmake", "--preset", "release"):
        return
    if stage.step("build", "cmake", "--build", "--preset", "release", "--target", *there_are(targets),
                  "--", "-k", "0"):
        ctest(stage, "release", "-R", tests)
    format_check(stage)


def main(files):
    files = files or changed()
    areas = choose(files)
    os.makedirs(LOGS, exist_ok=True)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(ROOT, "build", "pycache")
    os.environ.pop("MAKEFLAGS", None)
    stage, start = Stage("check"), time.monotonic()
    open(stage.log, "w", encoding="utf-8").close()
    print("%d changed files; running the quick tests, and those of: %s"
          % (len(files), ", ".join(areas) or "no area"), flush=True)
    run(stage, areas)
    for text in stage.shown:
        print(text)
    for name in stage.skipped:
        print("skipped: " + name)
    for name in stage.failed:
        print("failed: " + name)
    print("check: %d passed, %d failed, %d skipped in %.0f s; `make test-all` runs the other tests"
          % (stage.passed, len(stage.failed), len(stage.skipped), time.monotonic() - start))
    return 1 if stage.failed or not stage.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
