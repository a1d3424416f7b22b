#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian packages: make the source package, build it, and try what was built in a clean system.

usage: deb.py --source-dir DIR --work-dir DIR [source | build | check]

    source   WORK/holdfast-VERSION/ with debian/ in it, and WORK/holdfast_VERSION.orig.tar.xz. Of a
             git checkout: the files that it tracks, as they are now
    build    that, dpkg-buildpackage (binary and source packages, as any user), and lintian
    check    that, and in a minimal system of the same release, made by mmdebstrap: the tests of
             debian/tests, by autopkgtest; all packages installed, and removed again

The default is `check`. The minimal system is downloaded once, into WORK/root-KEY.tar, with all that
the packages and their tests depend on; after that nothing is. It runs in memory: 700 MB. Prints "ok",
"FAILED" or "SKIPPED" and what for, a line each, and last "N passed, N failed" (tests/checks.py). Exits with 1
if something failed, with 77 if nothing could be done.

dpkg refuses a package without the maintainer's address. The project has none: debian/ has one in .invalid, which no
mail reaches (RFC 2606). DEBFULLNAME and DEBEMAIL in the environment replace it by those of who builds.
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

from checks import Checks, read, write  # noqa: E402

# In addition to the dependencies of the packages and their tests: programs that autopkgtest uses, and the
# dependencies of holdfast-doc if `make docs` has run.
ROOT_PACKAGES = ["apt-utils", "libjs-sphinxdoc"]
TOOLS = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "lintian": "lintian"}
SKIP = 77
NOBODY = "The Holdfast authors <no-address@holdfast.invalid>"

checks = Checks()


class CantRun(Exception):
    pass


def run(*command, cwd=None, **environment):
    """Returns (worked, output); the output is printed as it comes."""
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


def version_of(source):
    name, version = re.match(r"(\S+) \((\S+?)-[^-]+\)", read(source, "packaging", "debian", "changelog")).groups()
    numbers = re.findall(r"^#define HF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                         read(source, "include", "holdfast", "version.h"), re.MULTILINE)
    checks.check("version", version == ".".join(numbers), "packaging/debian/changelog is about %s, the headers are %s"
                 % (version, ".".join(numbers)))
    return name, version


def files_of(source):
    """The files of the source package: those that git tracks, or all but build/."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", source, "ls-files", "-z"],
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if listed.returncode == 0 and listed.stdout:
        names = os.fsdecode(listed.stdout).split("\0")[:-1]
    else:
        names = [os.path.relpath(os.path.join(where, name), source)
                 for where, _, files in os.walk(source) for name in files]
        names = [name for name in names if not name.startswith(("build/", "debian/", ".git/"))]
    return sorted(name for name in names if os.path.lexists(os.path.join(source, name)))


def make_source(source, work):
    """Returns the folder from which to build."""
    name, version = version_of(source)
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


def build(source, work):
    """Returns the packages' files."""
    tree = make_source(source, work)
    missing = subprocess.run(["dpkg-checkbuilddeps"], cwd=tree, check=False, text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    if missing:
        raise CantRun(missing.partition("error: ")[2].strip() or missing)
    # The output of `make docs` goes into the packages, not into the source package.
    docs = os.path.join(source, "build", "docs")
    if not os.path.isdir(os.path.join(docs, "html")):
        print("No HTML in holdfast-doc, no manual in libholdfast-dev: `make docs` has not run")
        docs = ""
    elif not shutil.which("dh_sphinxdoc"):
        checks.skip("HTML in holdfast-doc, manual in libholdfast-dev", "needs sphinx-common")
        docs = ""
    jobs = len(os.sched_getaffinity(0))
    worked, output = run("dpkg-buildpackage", "-us", "-uc", "-j%d" % jobs, cwd=tree,
                    # The examples run later, in a clean system, and debug symbols are not needed.
                    DEB_BUILD_OPTIONS="nocheck noautodbgsym", DEB_BUILD_PROFILES="nocheck",
                    HOLDFAST_DOCS=docs, DEB_CFLAGS_STRIP="-g", DEB_CXXFLAGS_STRIP="-g",
                    GIT_CEILING_DIRECTORIES=work)  # hf-lab would name the commit of what is around
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
    """Names of other packages that these and their tests depend on."""
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
    """Returns the tar file of a system with the dependencies of the packages, but not the packages. An earlier
    one is used again if it fits."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', read("/etc/os-release"), re.MULTILINE))
    suite = release.get("VERSION_CODENAME", "stable")
    wanted = sorted(set(ROOT_PACKAGES) | set(depends_of(source, packages)))
    key = hashlib.sha256(" ".join([suite] + wanted).encode()).hexdigest()[:12]
    tar = os.path.join(work, "root-%s.tar" % key)
    if os.path.exists(tar):
        return tar
    if not shutil.which("mmdebstrap"):
        raise CantRun("mmdebstrap is not here")
    command = ["mmdebstrap", "--variant=minbase", "--mode=root", "--format=tar",
               "--include=" + ",".join(wanted),
               '--dpkgopt=path-exclude=/usr/share/locale/*', suite, tar + ".new"]
    worked, output = run(*as_root(), *command)
    if not worked:
        subprocess.run([*as_root(), "rm", "-f", tar + ".new"], check=False)
        raise CantRun("a minimal system could not be downloaded: %s"
                      % (re.findall(r"^E: (.*)", output, re.MULTILINE) or ["see above"])[0])
    for old in glob.glob(os.path.join(work, "root-*.tar")):
        os.remove(old)
    os.rename(tar + ".new", tar)  # also of root's file: the folder is ours
    return tar


def check(source, work, packages):
    """Runs try_packages() in a minimal system, as root, in namespaces of its own: without a network and our
    environment; its mounts and processes end with it."""
    if not shutil.which("autopkgtest"):
        raise CantRun("autopkgtest is not here")
    sudo = as_root()
    if sudo is None:
        raise CantRun("neither root nor sudo")
    tar = minimal_system(source, work, packages)
    root = os.path.join(work, "root")
    os.makedirs(root, exist_ok=True)
    around = [*sudo, "unshare", "--mount", "--mount-proc", "--net", "--pid", "--fork", "--kill-child",
              "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]
    if not run(*around, "mount", "-t", "tmpfs", "tmpfs", root)[0]:
        raise CantRun("no namespaces or mounts")
    worked, output = run(*around, sys.executable, "-B", os.path.abspath(__file__), "--source-dir", source,
                         "--work-dir", work, "--minimal-system", tar)
    checks.passed += len(re.findall(r"^ok ", output, re.MULTILINE))
    failed = len(re.findall(r"^FAILED ", output, re.MULTILINE))
    checks.failed += failed
    if not worked and not failed:
        checks.check("packages in a minimal system", False, "see above")


def try_packages(work, tar):
    """Run debian/tests in the system of that tar file; install all packages, and remove them."""
    root = os.path.join(work, "root")
    # In memory: no waiting for a disk, and nothing to remove.
    must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
    must("tar", "-xf", tar, "-C", root, "--exclude=./dev/*")
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    must("mount", "-t", "proc", "proc", os.path.join(root, "proc"))
    must("mount", "--rbind", "/dev", os.path.join(root, "dev"))
    # There is no network: neither apt nor a test may wait for it.
    must("find", os.path.join(root, "etc", "apt"), "-path", "*/sources.list*", "-type", "f", "-delete")
    inside = ["chroot", root, "sh", "-c"]
    if run(*inside, "command -v hf-lab || pkg-config --exists holdfast")[0]:
        checks.check("minimal system", False, "it has Holdfast already")

    # For each test it installs that test's dependencies, from the packages that .changes names.
    summary = os.path.join(root, "summary")
    worked, _ = run("autopkgtest", "--summary-file", summary,
                    *glob.glob(os.path.join(work, "*.changes")), "--", "chroot", root)
    results = []
    if os.path.exists(summary):
        results = re.findall(r"^(\S+) +([A-Z]+)\b *(.*)", read(summary), re.MULTILINE)
    for test, result, why in results:
        # A SKIP is a failure, too: the system has everything that the tests require.
        checks.check("debian/tests " + test, result == "PASS", "%s %s" % (result, why))
    if not results or not worked and not checks.failed:
        checks.check("autopkgtest", False, "see above")

    packages = sorted(glob.glob(os.path.join(work, "*.deb")))
    names = [os.path.basename(package).partition("_")[0] for package in packages]
    must("cp", *packages, root)
    worked, _ = run(*inside, "dpkg -i /*.deb && ldconfig -p | grep libholdfast.so.0 && "
                             "ldconfig -p | grep libholdfast-extern.so.0")
    checks.check("installed in a minimal system", worked, " ".join(names))
    worked, output = run(*inside, "dpkg -P %s >/dev/null && "
                                  "find /usr /etc /opt | grep -i -e holdfast -e 'hf-'" % " ".join(names))
    checks.check("removed without a trace", not output.strip(), " ".join(output.split()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--minimal-system", help=argparse.SUPPRESS)  # of check(), for try_packages()
    parser.add_argument("what", nargs="?", choices=("source", "build", "check"), default="check")
    args = parser.parse_args()
    source, work = os.path.abspath(args.source_dir), os.path.abspath(args.work_dir)
    os.makedirs(work, exist_ok=True)
    if args.minimal_system:
        try:
            try_packages(work, args.minimal_system)
        except CantRun as why:
            checks.check("minimal system", False, why)
        return 1 if checks.failed else 0
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing and args.what != "source":
        checks.skip("packages", "needs " + " ".join(missing))
        return SKIP
    what = "packages"
    try:
        if args.what == "source":
            print(make_source(source, work))
            return 1 if checks.failed else 0
        packages = build(source, work)
        what = "packages in a minimal system"
        if packages and args.what == "check":
            check(source, work, packages)
    except CantRun as why:
        checks.skip(what, why)
        if checks.passed + checks.failed < 2:  # no more than the version was looked at
            return SKIP
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
