#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the symbols that a shared library exports with its list (docs/abi.md).

usage: run.py --source-dir DIR --library FILE [--machine CPU] [--program FILE] [--update]

The list of libholdfast.so is src/libholdfast.symbols. libholdfast-extern.so exports the other functions that
bindings/rust/generate.py finds in the headers.

Errors: a symbol that was added or removed, or an object whose size changed; a symbol without our prefix; a
private symbol (hf_detail_*) that no inline function of an installed header uses; an object that is too large
to be copied into every program that refers to it (a copy relocation). --program: a program at fixed addresses; whatever it copies must be exported as an object.

tests/abi/released has the list of each release. A library of the same soname must still export what they list, since
programs of those releases look for it. The list of the version that version.h states belongs to the coming release and is not
compared; `make release-check` requires it to be that of src/libholdfast.symbols.

--update rewrites the list of libholdfast.so for this machine, and keeps the lines of other machines; and the list of the
coming release.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments, read, sources  # noqa: E402
from versions import version_of as version_of_headers  # noqa: E402

LARGEST = 64  # bytes of an exported object
LISTS = {"libholdfast": "src/libholdfast.symbols",
         "libholdfast-extern": "bindings/rust/holdfast-sys/src/functions.rs"}
KINDS = {"FUNC": "function", "OBJECT": "object", "TLS": "thread"}


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options], check=True, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C")).stdout


def exported(library):
    """Return {name: (kind, size of an object, else 0)}, and the set of symbol versions."""
    symbols, versions = {}, set()
    for line in readelf("--dyn-syms", library).splitlines():
        word = line.split()
        if len(word) < 8 or not word[0].rstrip(":").isdigit() or word[6] == "UND" or \
                word[4] not in ("GLOBAL", "WEAK"):
            continue
        name, _, version = word[7].partition("@@")
        if word[6] == "ABS":  # the version itself
            versions.add(name)
            continue
        kind = KINDS.get(word[3], word[3])
        symbols[name] = (kind, 0 if kind == "function" else int(word[2], 0))
        versions.add(version)
    return symbols, versions


def listed(path):
    """Return [(kind, size, name, machines or None)], and the comment lines above them."""
    rows, comment = [], []
    for line in read(path).splitlines(keepends=True):
        if line.startswith("#"):
            comment.append(line)
        elif line.strip():
            kind, size, name, *machines = line.split()
            rows.append((kind, int(size), name, machines[0] if machines else None))
    return rows, comment


def functions(source):
    """The rows of libholdfast-extern: the functions in Rust's list that libholdfast does not export."""
    others = {row[2] for row in listed(os.path.join(source, LISTS["libholdfast"]))[0]}
    names = re.findall(r"\bfn (hf_\w+)\(", read(source, LISTS["libholdfast-extern"]))
    return [("function", 0, name, None) for name in names if name not in others]


def here(machines, machine):
    """Does a line with these machines ("a,b", "!a,b" or None) apply to `machine`?"""
    if machines is None:
        return True
    return (machine in machines.lstrip("!").split(",")) != machines.startswith("!")


def update(path, symbols, machine):
    rows, comment = listed(path)
    kept = [row for row in rows if row[3] and not here(row[3], machine)]
    limits = {row[2]: row[3] for row in rows if row[3] and here(row[3], machine)}
    rows = kept + [(kind, size, name, limits.get(name)) for name, (kind, size) in symbols.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(comment)
        for kind, size, name, machines in sorted(rows, key=lambda row: (row[0], row[2])):
            file.write("%-10s%4d  %s%s\n" % (kind, size, name, "  " + machines if machines else ""))


def soname_of(library):
    """Return ("libholdfast", "0") if the soname is libholdfast.so.0."""
    soname = re.search(r"\(SONAME\).*\[(.*)\]", readelf("--dynamic", library))[1]
    match = re.fullmatch(r"([a-z-]+)\.so\.(\d+)", soname)
    if not match or match[1] not in LISTS:
        sys.exit("FAILED soname: %s is not a library of Holdfast" % soname)
    return match.groups()


def version_of(name, number):
    """The symbol version of a library: HOLDFAST_0 for libholdfast.so.0."""
    return "%s_%s" % (name[len("lib"):].upper().replace("-", "_"), number)


def release_list(source, version):
    return os.path.join(source, "tests", "abi", "released", version + ".symbols")


def broken(source, current, number):
    """What programs of earlier releases would miss, as lines. @current: the list of now, [(kind, size, name, machines)]."""
    now, bad = {row[2]: row for row in current}, []
    for path in sorted(glob.glob(release_list(source, "*"))):
        release = os.path.basename(path)[:-len(".symbols")]
        rows, comment = listed(path)
        if "# soname: %s\n" % number not in comment or release == version_of_headers(source):
            continue  # programs of another soname do not load this library
        bad += ["%s, which programs of %s use, is %s" % (row[2], release, "gone" if row[2] not in now else "another")
                for row in rows if now.get(row[2]) != row]
    return bad


def words_of(headers):
    """Count the words of the headers outside comments."""
    words = collections.Counter()
    for path in sources(headers, pattern="*.h"):
        words.update(re.findall(r"\w+", re.sub(r"/\*.*?\*/|//[^\n]*", "", read(path), flags=re.DOTALL)))
    return words


def main():
    args = arguments(__doc__, "source-dir", "library", machine={"default": os.uname().machine}, program={},
                     update={"action": "store_true"})
    library, number = soname_of(args.library)
    version = version_of(library, number)
    listing = LISTS[library]
    path = os.path.join(args.source_dir, listing)
    symbols, versions = exported(args.library)
    if args.update and library == "libholdfast":
        update(path, symbols, args.machine)
        coming = release_list(args.source_dir, version_of_headers(args.source_dir))
        os.makedirs(os.path.dirname(coming), exist_ok=True)
        shutil.copy(path, coming)
        with open(coming, "a", encoding="utf-8") as file:
            file.write("# soname: %s\n" % number)
    rows = listed(path)[0] if library == "libholdfast" else functions(args.source_dir)
    wanted = {name: (kind, size) for kind, size, name, machines in rows if here(machines, args.machine)}
    words = words_of(os.path.join(args.source_dir, "include"))
    checks, bad = Checks(), []

    for name in sorted(wanted.keys() | symbols.keys()):
        if name not in symbols:
            bad.append("%s is no longer exported: docs/abi.md says what that requires" % name)
        elif name not in wanted:
            bad.append("%s is exported, but not listed in %s" % (name, listing))
        elif wanted[name] != symbols[name]:
            bad.append("%s is a %s of %d bytes, but listed as a %s of %d"
                       % (name, *symbols[name], *wanted[name]))
    checks.wrong("list", "\n".join(bad))
    if library == "libholdfast":
        checks.wrong("earlier releases", "\n".join(broken(args.source_dir, rows, number)))
    bad = []
    for name, (kind, size) in symbols.items():
        if not name.startswith("hf_"):
            bad.append("%s is exported without the prefix hf_" % name)
        if kind != "function" and size > LARGEST:
            bad.append("%s: an exported object of %d bytes; the limit is %d" % (name, size, LARGEST))
        # One occurrence is the declaration. A macro appends the layout's number to the name.
        if name.startswith("hf_detail_") and words[re.sub(r"_layout\d+$", "", name)] < 2:
            bad.append("%s is exported, but no inline function uses it" % name)

    checks.wrong("symbols", "\n".join(bad))
    checks.check("version", versions == {version}, "the soname is %s.so.%s, but the symbols' versions are %s"
                 % (library, number, sorted(versions)))
    packaged = os.path.join("packaging", "debian", "%s%s.symbols" % (library, number))
    checks.check(packaged, "\n (symver)%s " % version in read(args.source_dir, packaged), "has not the version " + version)

    if args.program:
        copied = set(re.findall(r"_COPY.*?(\w+)(?:@\w+)? \+ 0$", readelf("--relocs", args.program),
                                re.MULTILINE))
        print("a program at fixed addresses copies: %s" % (" ".join(sorted(copied)) or "nothing"))
        checks.wrong("copies", " ".join(name for name in sorted(copied) if name.startswith("hf_")
                                        and symbols.get(name, ("",))[0] != "object"))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
