#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a release, and check that it can be published. CONTRIBUTING.md has the steps.

    release.py dist [--out build/dist] [--url BASE]
    release.py check [--out build/dist] [--url BASE]
    release.py version X.Y.Z      change version.h, and every other file that states the version
    release.py soname N           change the number of libholdfast.so.N and libholdfast-extern.so.N; docs/abi.md says when

`dist` writes, for version V of include/holdfast/version.h:

    holdfast-V.tar.gz     the tracked files, docs/man/man3 and single/holdfast.[hc]; two runs write the same bytes
    SHA256SUMS
    recipes/              Meson's wrap, Conan's recipe and vcpkg's port, which download BASE/holdfast-V.tar.gz; without
                          --url they take the archive from --out

`check` writes the same, and with REUSE's tool holdfast-V.spdx, what the archive contains: checksum and licence of each file. It
does all that can be tested before the upload, and prints a line for each part: "ok", "FAILED" or "SKIPPED" if a tool or the
network is missing. The last lines name what is wrong, and what is left to check elsewhere. Exits with 1 if a part failed.
"""
import argparse
import datetime
import glob
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, *folder) for folder in (("tests",), ("packaging", "single"), ("packaging",))]

import checks  # noqa: E402
import deb  # noqa: E402
import generate  # noqa: E402
import versions  # noqa: E402
from checks import Checks, Failed, Skip, read, write  # noqa: E402

TAG = "SPDX-License-" + "Identifier: "  # in two parts, since REUSE's tool would take it for that of this file
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
REUSE = "reuse==6.2.0"


def released(root, version):
    """The date on which CHANGELOG.md says that the version was released, or None."""
    match = re.search(r"^## \[%s\] - (\d{4}-\d\d-\d\d)$" % re.escape(version), read(root, "CHANGELOG.md"), re.MULTILINE)
    return match and match[1]


def date_of(root, version):
    """The time that the archive's files get: that of the release, so that it does not depend on who makes the archive."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    day = datetime.date.fromisoformat(released(root, version) or "1980-01-01")
    return int(datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.timezone.utc).timestamp())


# ---- the archive --------------------------------------------------------------------------------

def contents(root, manual):
    """{path in the archive: (mode, bytes)} or, of a symbolic link, (None, target)."""
    files = {}
    for name in deb.files_of(root):
        path = os.path.join(root, name)
        if os.path.islink(path):
            files[name] = (None, os.readlink(path))
        else:
            with open(path, "rb") as file:
                files[name] = (0o755 if os.stat(path).st_mode & stat.S_IXUSR else 0o644, file.read())
    for name, text in zip(("holdfast.h", "holdfast.c"), generate.generate()):
        files["single/" + name] = (0o644, text.encode())
    for name in sorted(os.listdir(manual)):
        with open(os.path.join(manual, name), "rb") as file:
            files["docs/man/man3/" + name] = (0o644, file.read())
    return files


def make_manual(root, out):
    """Write the manual pages of section 3. Return their folder."""
    checks.run(sys.executable, "-B", os.path.join(root, "docs", "site", "build.py"), "--man-only", "--out", out, timeout=600)
    return os.path.join(out, "man", "man3")


def archive(path, name, files, when):
    """Write NAME/... to a .tar.gz file whose bytes depend on nothing else."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for file in sorted(files):
            mode, content = files[file]
            entry = tarfile.TarInfo("%s/%s" % (name, file))
            entry.mtime = when
            if mode is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                tar.addfile(entry)
            else:
                entry.mode, entry.size = mode, len(content)
                tar.addfile(entry, io.BytesIO(content))
    with open(path, "wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) as out:
        out.write(packed.getvalue())


def digest(how, content):
    return hashlib.new(how, content, usedforsecurity=False).hexdigest()


def bill(path, to):
    """The bill of materials of an archive, in SPDX."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(path, folder)
        checks.run(reuse(), "--root", os.path.join(folder, *os.listdir(folder)), "spdx", "--creator-organization",
                   "The Holdfast authors", "--output", to, timeout=600)


def recipes(root, out, version, url):
    """Write the recipes of package managers, which download the archive."""
    name = "holdfast-%s.tar.gz" % version
    with open(os.path.join(out, name), "rb") as file:
        content = file.read()
    where = "%s/%s" % (url or "file://" + os.path.abspath(out), name)
    to = os.path.join(out, "recipes")
    shutil.rmtree(to, ignore_errors=True)
    for folder in ("meson", "conan", "vcpkg"):
        shutil.copytree(os.path.join(root, "packaging", folder), os.path.join(to, folder),
                        ignore=shutil.ignore_patterns("build", "__pycache__", "CMakeUserPresets.json"))
    for program in ("program.c", "program.cpp"):  # of Conan's test_package
        shutil.copy(os.path.join(root, "packaging", program), to)
    path = os.path.join(to, "meson", "holdfast.wrap")
    text = re.sub(r"^#(?!.*SPDX).*\n", "", read(path), flags=re.MULTILINE)
    write(path, text.replace("source_filename = %s\n" % name, "source_url = %s\nsource_filename = %s\nsource_hash = %s\n"
                             % (where, name, digest("sha256", content))))
    write(os.path.join(to, "conan", "conandata.yml"), '# %sMIT\nsources:\n  "%s":\n    url: "%s"\n'
          '    sha256: "%s"\n' % (TAG, version, where, digest("sha256", content)))
    path = os.path.join(to, "vcpkg", "holdfast", "portfile.cmake")
    text, changed = re.subn(r"^# An overlay port.*\n(.*\n)get_filename_component\(SOURCE_PATH.*\n",
                            lambda match: match[1] + "vcpkg_download_distfile(ARCHIVE\n\tURLS %s\n\tFILENAME %s\n\tSHA512 %s)\n"
                            'vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")\n'
                            % (where, name, digest("sha512", content)), read(path), flags=re.MULTILINE)
    if changed != 1:
        raise Failed("portfile.cmake does not set SOURCE_PATH as expected")
    write(path, text)


def dist(root, out, url=None):
    """Write all files of the release. Return the archive's path."""
    version = versions.version_of(root)
    os.makedirs(out, exist_ok=True)
    when = date_of(root, version)
    files = contents(root, make_manual(root, os.path.join(out, "manual")))
    shutil.rmtree(os.path.join(out, "manual"), ignore_errors=True)
    name = "holdfast-" + version
    path = os.path.join(out, name + ".tar.gz")
    archive(path, name, files, when)
    with open(path, "rb") as file:
        packed = digest("sha256", file.read())
    write(os.path.join(out, "SHA256SUMS"), "%s  %s.tar.gz\n" % (packed, name))
    recipes(root, out, version, url)
    return path


# ---- checks -------------------------------------------------------------------------------------

def runner(*command):
    """Run a test runner of the repository. Its own lines say what failed or was skipped."""
    with subprocess.Popen([sys.executable, "-B", *command], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as done:
        printed = checks.Printed("".join(print(line, end="", flush=True) or line for line in done.stdout))
    if done.returncode == 77 or printed.skipped and not done.returncode:
        raise Skip("; ".join(printed.skipped))
    if done.returncode:
        raise Failed("; ".join(printed.failed) or "exit status %d" % done.returncode)


def has_network(what, *command, **environment):
    """Run a command that gets something from a registry. Raises Skip if it can't be had."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT,
                          timeout=600, env={**os.environ, **environment})
    if done.returncode:
        raise Skip("%s can't be had here: %s" % (what, (done.stdout.strip().splitlines() or ["no output"])[-1]))
    return done.stdout


def changelog(version):
    if not released(ROOT, version):
        raise Failed("CHANGELOG.md has no line \"## [%s] - year-month-day\"" % version)
    waiting = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## )", read(ROOT, "CHANGELOG.md"), re.MULTILINE | re.DOTALL)
    if waiting and waiting[1].strip():
        raise Failed("CHANGELOG.md has unreleased changes")


def tree(version):
    """The checkout has no changes, and the release's tag, if it exists already, is this commit."""
    git = ["git", "-c", "safe.directory=*", "-C", ROOT]
    if not shutil.which("git") or subprocess.run([*git, "ls-files", "--error-unmatch", "CMakeLists.txt"], check=False,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise Skip("this is not a git checkout")
    if changed := checks.run(*git, "status", "--porcelain"):
        raise Failed("changed or not committed:\n" + changed)
    if checks.run(*git, "tag", "--list", "v" + version) and \
            checks.run(*git, "rev-list", "-n1", "v" + version) != checks.run(*git, "rev-parse", "HEAD"):
        raise Failed("the tag v%s is another commit" % version)


def symbols(version):
    """The list of exported symbols that the next versions are compared with is that of this version."""
    path = os.path.join("tests", "abi", "released", version + ".symbols")
    if not os.path.exists(os.path.join(ROOT, path)) or \
            re.sub("# soname: .*\n", "", read(ROOT, path)) != read(ROOT, "src", "libholdfast.symbols"):
        raise Failed("%s is not the list of now: run tests/abi/run.py with --update" % path)


def reuse():
    """REUSE's tool, from PATH or PyPI."""
    tool = shutil.which("reuse")
    if not tool:
        folder = os.path.join(ROOT, "build", "reuse")
        tool = os.path.join(folder, "bin", "reuse")
        if not os.path.exists(tool):
            has_network("reuse", sys.executable, "-m", "venv", "--clear", folder)
            has_network("reuse", os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet",
                        "--disable-pip-version-check", REUSE)
    return tool


def licenses(out):
    """Each file has a licence and a copyright, and each licence its text. Writes the bill of materials."""
    checks.run(reuse(), "--root", ROOT, "lint", timeout=600)
    name = "holdfast-" + versions.version_of(ROOT)
    bill(os.path.join(out, name + ".tar.gz"), os.path.join(out, name + ".spdx"))


def workflows():
    tool = [shutil.which("actionlint")]
    if not tool[0]:
        if not shutil.which("go"):
            raise Skip("neither actionlint nor go is installed")
        tool = ["go", "run", ACTIONLINT]
        has_network("actionlint", *tool, "-version")
    checks.run(*tool, *(os.path.join(".github", "workflows", name)
                        for name in sorted(os.listdir(os.path.join(ROOT, ".github", "workflows")))), cwd=ROOT, timeout=600)


def crates():
    """What `cargo publish` would upload can be built from the registry's other crates."""
    if not shutil.which("cargo"):
        raise Skip("cargo is not installed")
    version = tuple(int(number) for number in re.findall(r"\d+", checks.run("cargo", "--version"))[:2])
    if version < (1, 90):
        raise Skip("needs cargo 1.90, which resolves one crate by the other's package")
    where = ["--manifest-path", os.path.join(ROOT, "bindings", "rust", "Cargo.toml")]
    has_network("the registry's index", "cargo", "generate-lockfile", *where)
    os.remove(os.path.join(ROOT, "bindings", "rust", "Cargo.lock"))
    checks.run("cargo", "publish", "--dry-run", "--workspace", "--allow-dirty", *where, "--target-dir",
               os.path.join(ROOT, "build", "crates"), timeout=1200, env={**os.environ, "HOLDFAST_SYS_BUNDLED": "1"})


def check(out, url):
    version, said, wrong, left = versions.version_of(ROOT), Checks(), [], []
    print("Holdfast %s" % version, flush=True)
    for name, function, *arguments in (
            ("each file states this version", runner, "tests/versions.py", "--source-dir", ROOT),
            ("the changelog has the release", changelog, version),
            ("the checkout is the release", tree, version),
            ("the list of released symbols", symbols, version),
            ("the release's files", dist, ROOT, out, url),
            ("licences, and the bill of materials", licenses, out),
            ("workflows", workflows),
            ("crates", crates),
            ("archive, Meson, vcpkg, Conan, Bazel", runner, "packaging/run.py"),
            ("Debian packages", runner, "packaging/deb.py", "--source-dir", ROOT, "--work-dir",
             os.path.join(ROOT, "build", "packages"))):
        failed = said.failed
        if not said.attempt("release: " + name, function, *arguments):
            (wrong if said.failed > failed else left).append(name)
    for what, names in (("Left to check elsewhere", left), ("Wrong", wrong)):
        if names:
            print("%s: %s" % (what, "; ".join(names)))
    return said.end()


# ---- the version --------------------------------------------------------------------------------

def set_version(root, version):
    """Change version.h and the files that tests/versions.py lists. The changelog's entry is written by hand."""
    old, numbers = versions.version_of(root), version.split(".")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Failed("a version has three numbers: 0.1.1")
    path = os.path.join(root, "include", "holdfast", "version.h")
    text = read(path)
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), numbers):
        text = re.sub(r"^(#define HF_VERSION_%s) \d+$" % name, r"\g<1> " + number, text, flags=re.MULTILINE)
    write(path, text)
    for path, before in versions.files(root):
        changed = re.sub("(" + before + ")" + re.escape(old) + r"\b", r"\g<1>" + version, read(path), flags=re.MULTILINE)
        write(path, changed)
    print("%s is now %s" % (old, version))


def set_soname(root, number):
    """Change the soname of both libraries where files state it, and in the names of Debian's files."""
    old = re.search(r"SOVERSION (\d+)", read(root, "CMakeLists.txt"))[1]
    states = re.compile(r"\b(libholdfast(?:-extern)?(?:\.so\.)?|HOLDFAST_(?:EXTERN_)?|SOVERSION |soversion: )%s\b(?!\.\d)" % old)
    for path in glob.glob(os.path.join(root, "packaging", "debian", "libholdfast*")):
        os.rename(path, os.path.join(os.path.dirname(path), states.sub(r"\g<1>" + number, os.path.basename(path))))
    for pattern in ("CMakeLists.txt", "src/**", "packaging/**", "bindings/**", "docs/**"):
        for path in glob.glob(os.path.join(root, pattern), recursive=True):
            if path.endswith((".txt", ".map", ".cmake", ".py", ".md", ".build", ".symbols", "/control")):
                write(path, states.sub(r"\g<1>" + number, read(path)))
    print("libholdfast.so.%s is now libholdfast.so.%s: run tests/abi/run.py with --update" % (old, number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("dist", "check", "version", "soname"))
    parser.add_argument("number", nargs="?")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "dist"))
    parser.add_argument("--url", help="the folder from which the archive will be downloaded")
    args = parser.parse_args()
    url = args.url and args.url.rstrip("/")
    if (args.what in ("version", "soname")) != bool(args.number):
        parser.error("`version` and `soname` take a number")
    try:
        if args.what == "check":
            return check(args.out, url)
        if args.what == "version":
            set_version(ROOT, args.number)
        elif args.what == "soname":
            set_soname(ROOT, args.number)
        else:
            print(dist(ROOT, args.out, url))
    except (Failed, Skip) as why:
        sys.exit("release.py: %s" % why)
    return 0


if __name__ == "__main__":
    sys.exit(main())
