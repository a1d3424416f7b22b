#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the Debian packages and test them in a minimal system.

usage: deb.py --source-dir DIR --work-dir DIR [--noopt]

Writes WORK/holdfast-VERSION/, which includes debian/, and WORK/holdfast_VERSION.orig.tar.xz, from a git checkout with the tracked
files and uncommitted changes; runs dpkg-buildpackage (source and binary packages, as any user) and lintian; then makes a minimal
system of the same release (mmdebstrap), runs debian/tests there (autopkgtest), installs all packages, and removes them.

With --noopt nothing is optimised: compiling takes a third of the time. The minimal system, with all
dependencies of the packages and their tests, is downloaded once, as WORK/root-KEY.tar, and runs in memory (700 MB). Prints what
tests/checks.py says. Exits with 1 if a check failed, with 77 if none could run.

dpkg refuses a package without a maintainer's address, and the project has none: debian/ names one in .invalid, which
never receives mail (RFC 2606). DEBFULLNAME and DEBEMAIL in the environment replace it.
"""
import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

import versions  # noqa: E402
from checks import Checks, Printed, read, write  # noqa: E402

# Installed in the minimal system in addition to the dependencies of the packages and their tests: what autopkgtest
# uses, and what holdfast-doc depends on if `make docs` has run.
ROOT_PACKAGES = ["apt-utils", "libjs-sphinxdoc"]
TOOLS = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "lintian": "lintian"}
SKIP = 77
NOBODY = "The Holdfast authors <no-address@holdfast.invalid>"

checks = Checks()


class CantRun(Exception):
    pass


def run(*command, cwd=None, **environment):
    """Runs a command and prints its output at once. Returns (succeeded, output)."""
    print("+", " ".join(command), flush=True)
    child = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             env=dict(os.environ, LC_ALL="C.UTF-8", **environment))
    lines = []
    for line in child.stdout:
        sys.stdout.write(line)
        lines.append(line)
    return child.wait() == 0, "".join(lines)


def must(*command, cwd=None, **environment):
    worked, output = run(*command, cwd=cwd, **environment)
    if not worked:
        raise CantRun("failed: " + " ".join(command))
    return output


def files_of(source):
    """The files of the source package: those that git tracks, or without git all but build/ and debian/."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", source, "ls-files", "-z"],
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if listed.returncode == 0 and listed.stdout:
        names = os.fsdecode(listed.stdout).split("\0")[:-1]
    else:
        names = [os.path.relpath(os.path.join(where, name), source) for where, folders, files in os.walk(source)
                 for name in files + [folder for folder in folders if os.path.islink(os.path.join(where, folder))]]
        names = [name for name in names if not name.startswith(("build/", "debian/", ".git/")) and "__pycache__" not in name]
    return sorted(name for name in names if os.path.lexists(os.path.join(source, name)))


def make_source(source, work):
    """Writes the source tree and its archive. Returns the tree's path."""
    name, version = "holdfast", versions.version_of(source)
    for old in glob.glob(os.path.join(work, "*holdfast*")):
        if os.path.isdir(old):
            shutil.rmtree(old)
        else:
            os.remove(old)
    tree = os.path.join(work, "%s-%s" % (name, version))
    for file in files_of(source):
        to = os.path.join(tree, file)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy2(os.path.join(source, file), to, follow_symlinks=False)
    must("tar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--xz",
         "-cf", os.path.join(work, "%s_%s.orig.tar.xz" % (name, version)),
         "-C", work, os.path.basename(tree), XZ_OPT="-1")
    shutil.copytree(os.path.join(source, "packaging", "debian"), os.path.join(tree, "debian"))
    if os.environ.get("DEBEMAIL"):
        who = "%s <%s>" % (os.environ.get("DEBFULLNAME", "The Holdfast authors"), os.environ["DEBEMAIL"])
        for file in ("control", "changelog"):
            path = os.path.join(tree, "debian", file)
            write(path, read(path).replace(NOBODY, who))
    return tree


def build(source, work, noopt):
    """Builds the packages. Returns their paths."""
    tree = make_source(source, work)
    missing = subprocess.run(["dpkg-checkbuilddeps"], cwd=tree, check=False, text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    if missing:
        raise CantRun(missing.partition("error: ")[2].strip() or missing)
    # The output of `make docs` goes into the packages, not into the source package.
    docs = os.path.join(source, "build", "docs")
    if not os.path.isdir(os.path.join(docs, "html")):
        print("holdfast-doc has no HTML and libholdfast-dev no manual: `make docs` has not run")
        docs = ""
    elif not shutil.which("dh_sphinxdoc"):
        checks.skip("HTML in holdfast-doc, manual in libholdfast-dev", "needs sphinx-common")
        docs = ""
    jobs = len(os.sched_getaffinity(0))
    worked, output = run("dpkg-buildpackage", "-us", "-uc", "-j%d" % jobs, cwd=tree,
                    # debian/tests runs the examples, and debug symbols are not needed.
                    DEB_BUILD_OPTIONS="nocheck noautodbgsym" + (" noopt" if noopt else ""), DEB_BUILD_PROFILES="nocheck",
                    HOLDFAST_DOCS=docs, DEB_CFLAGS_STRIP="-g", DEB_CXXFLAGS_STRIP="-g",
                    GIT_CEILING_DIRECTORIES=work)  # else hf-lab would report the commit of the checkout around it
    if not worked:
        errors = re.findall(r".*(?:error: |undefined reference).*", output) or ["see above"]
        checks.check("dpkg-buildpackage", False, errors[0])
        return []
    packages = sorted(glob.glob(os.path.join(work, "*.deb")))
    checks.check("dpkg-buildpackage: %d packages" % len(packages), packages)
    changes = glob.glob(os.path.join(work, "*.changes"))
    worked, output = run("lintian", "--fail-on", "error,warning", "--allow-root", *changes)
    found = re.findall(r"^[EW]: .*", output, re.MULTILINE)
    checks.check("lintian", worked and not found, "; ".join(found))
    return packages


def as_root():
    if os.getuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], check=False,
                                               stderr=subprocess.DEVNULL).returncode == 0:
        return ["sudo", "-n"]
    return None


def depends_of(source, packages):
    """The names of all other packages that these packages and their tests depend on."""
    names, own = set(), {os.path.basename(package).partition("_")[0] for package in packages}
    texts = ["\n".join(re.findall(r"^Depends: .*", read(source, "packaging", "debian", "tests", "control"), re.MULTILINE))]
    for package in packages:
        texts.append(subprocess.run(["dpkg-deb", "-f", package, "Pre-Depends", "Depends", "Recommends"],
                                    check=True, text=True, stdout=subprocess.PIPE).stdout)
    for fields in texts:
        for line in fields.splitlines():
            for one in line.partition(": ")[2].split(", "):
                if match := re.match(r"[a-z0-9][a-z0-9+.-]+", one):
                    names.add(match[0])
    return sorted(names - own)


def minimal_system(source, work, packages):
    """Returns the path of an archive of a system with the packages' dependencies. It is made again only if the
    dependencies have changed."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', read("/etc/os-release"), re.MULTILINE))
    suite = release.get("VERSION_CODENAME", "stable")
    wanted = sorted(set(ROOT_PACKAGES) | set(depends_of(source, packages)))
    key = hashlib.sha256(" ".join([suite] + wanted).encode()).hexdigest()[:12]
    tar = os.path.join(work, "root-%s.tar" % key)
    if os.path.exists(tar):
        return tar
    if not shutil.which("mmdebstrap"):
        raise CantRun("mmdebstrap is not installed")
    # It is made in memory: dpkg waits for a disk after each package.
    in_memory = 'exec 3>"$0" && cd / && mount -t tmpfs -o mode=1777 tmpfs /tmp && TMPDIR=/tmp exec "$@" >&3'
    # Other packages' documents and translations are left out.
    options = ["path-exclude=/usr/share/locale/*", "path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*holdfast*",
               "path-exclude=/usr/share/man/*", "path-include=/usr/share/man/man[13]/h*"]
    worked, output = run(*as_root(), "unshare", "--mount", "sh", "-c", in_memory, tar + ".new",
                         "mmdebstrap", "--variant=minbase", "--mode=root", "--format=tar", "--include=" + ",".join(wanted),
                         *("--dpkgopt=" + option for option in options), suite, "-")
    if not worked:
        subprocess.run([*as_root(), "rm", "-f", tar + ".new"], check=False)
        raise CantRun("a minimal system could not be downloaded: %s"
                      % (re.findall(r"^E: (.*)", output, re.MULTILINE) or ["see above"])[0])
    for old in glob.glob(os.path.join(work, "root-*.tar")):
        os.remove(old)
    os.rename(tar + ".new", tar)  # root owns the file, but this user owns the folder
    return tar


def check(source, work, packages):
    """Runs try_packages() as root in new namespaces, without a network or this environment. Its mounts and processes
    disappear when it ends."""
    if not shutil.which("autopkgtest"):
        raise CantRun("autopkgtest is not installed")
    sudo = as_root()
    if sudo is None:
        raise CantRun("needs root, or sudo without a password")
    tar = minimal_system(source, work, packages)
    root = os.path.join(work, "root")
    os.makedirs(root, exist_ok=True)
    around = [*sudo, "unshare", "--mount", "--mount-proc", "--net", "--pid", "--fork", "--kill-child",
              "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]
    if not run(*around, "mount", "-t", "tmpfs", "tmpfs", root)[0]:
        raise CantRun("can't make namespaces or mounts")
    worked, output = run(*around, sys.executable, "-B", os.path.abspath(__file__), "--source-dir", source,
                         "--work-dir", work, "--minimal-system", tar)
    inside = Printed(output)
    checks.passed += inside.passed
    checks.failed += len(inside.failed)
    if not worked and not inside.failed:
        checks.check("packages in a minimal system", False, "see above")


def try_packages(work, tar):
    """Unpacks the minimal system, runs debian/tests in it, installs all packages, and removes them."""
    root = os.path.join(work, "root")
    # A tmpfs is faster than a disk, and leaves nothing to remove.
    must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
    must("tar", "-xf", tar, "-C", root, "--exclude=./dev/*")
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    must("mount", "-t", "proc", "proc", os.path.join(root, "proc"))
    must("mount", "--rbind", "/dev", os.path.join(root, "dev"))
    # Without package sources apt does not wait for a network that is not there.
    must("find", os.path.join(root, "etc", "apt"), "-path", "*/sources.list*", "-type", "f", "-delete")
    inside = ["chroot", root, "sh", "-c"]
    if run(*inside, "command -v hf-lab || pkg-config --exists holdfast")[0]:
        checks.check("minimal system", False, "Holdfast is installed already")

    # For each test autopkgtest installs the test's dependencies, Holdfast's from the packages that .changes names.
    summary = os.path.join(root, "summary")
    worked, _ = run("autopkgtest", "--summary-file", summary,
                    *glob.glob(os.path.join(work, "*.changes")), "--", "chroot", root)
    results = []
    if os.path.exists(summary):
        results = re.findall(r"^(\S+) +([A-Z]+)\b *(.*)", read(summary), re.MULTILINE)
    for test, result, why in results:
        # A skipped test is a failure: the system has everything that the tests require.
        checks.check("debian/tests " + test, result == "PASS", "%s %s" % (result, why))
    if not results or not worked and not checks.failed:
        checks.check("autopkgtest", False, "see above")

    packages = sorted(glob.glob(os.path.join(work, "*.deb")))
    names = [os.path.basename(package).partition("_")[0] for package in packages]
    must("cp", *packages, root)
    worked, _ = run(*inside, "dpkg -i /*.deb && ldconfig -p | grep libholdfast.so.1 && "
                             "ldconfig -p | grep libholdfast-extern.so.1")
    checks.check("installed in a minimal system", worked, " ".join(names))
    worked, output = run(*inside, "dpkg -P %s >/dev/null && "
                                  "find /usr /etc /opt | grep -i -e holdfast -e 'hf-'" % " ".join(names))
    checks.check("removed without a trace", not output.strip(), " ".join(output.split()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--minimal-system", help=argparse.SUPPRESS)  # of check(), for try_packages()
    parser.add_argument("--noopt", action="store_true")
    args = parser.parse_args()
    source, work = os.path.abspath(args.source_dir), os.path.abspath(args.work_dir)
    os.makedirs(work, exist_ok=True)
    if args.minimal_system:
        try:
            try_packages(work, args.minimal_system)
        except CantRun as why:
            checks.check("minimal system", False, why)
        return checks.end()
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing:
        checks.skip("packages", "needs " + " ".join(missing))
        return SKIP
    what = "packages"
    try:
        packages = build(source, work, args.noopt)
        what = "packages in a minimal system"
        if packages:
            check(source, work, packages)
    except CantRun as why:
        checks.skip(what, why)
        if not checks.passed + checks.failed:
            return SKIP
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
