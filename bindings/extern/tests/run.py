#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what the headers declare with the symbols of libholdfast-extern.

    run.py --source-dir DIR --cc COMMAND --nm COMMAND --static FILE --shared FILE

  functions   each inline function of the headers is a symbol of both libraries
  private     the shared library exports no other functions, except those of holdfast/extern.h
  constants   hf_extern_constant() knows each constant and each type of the headers
  seen        the checks above find a function, a constant and a type that are in neither library

Exits with 1 on a failure, with 77 without gcc, which lists the declarations.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests"))

import declared  # noqa: E402
from checks import Checks, arguments  # noqa: E402

# An inline function that is not in the libraries.
UNHEARD = """
HF_INLINE void hf_unheard_of(hf_mutex_t *mutex)
{
	hf_mutex_lock(mutex);
}
"""


def symbols(nm, file, *options):
    """The names of the functions that a library defines."""
    out = subprocess.run([nm, "--defined-only", *options, file], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()
            if re.search(r" [TW] ", line)}


def main():
    args = arguments(__doc__, "source-dir", "cc", "nm", "static", "shared")
    # In a build by clang the declarations are listed by gcc; both see the same ones.
    gcc = "gcc" if "clang" in args.cc else args.cc
    if not shutil.which(gcc):
        print("SKIPPED extern: needs gcc, which lists the declarations")
        return 77

    checks = Checks()

    def check(name, problems):
        checks.wrong(name, ", ".join(sorted(problems)))

    functions = declared.functions(args.source_dir, [gcc])
    inline = {function.name for function in functions if function.inline}
    own = {function.name for function in functions if function.name.startswith("hf_extern_")}
    libraries = {"static": symbols(args.nm, args.static), "shared": symbols(args.nm, args.shared, "-D")}
    for name, there in libraries.items():
        check("functions, " + name, {"no symbol: " + each for each in (inline | own) - there})
    extra = {name for name in libraries["shared"] - inline - own if not re.match(declared.GUARDS, name)}
    check("private", {"no function: " + name for name in extra})

    with open(args.shared, "rb") as file:
        strings = file.read()
    names, types = declared.constants(args.source_dir, [gcc])
    wanted = names | {word + name for name in types for word in ("sizeof ", "alignof ")}

    def missing(wanted):
        return {"unknown: " + name for name in wanted
                if not re.search(rb"(?<![\w ])%s\0" % name.encode(), strings)}

    check("constants", missing(wanted))

    more = {function.name for function in declared.functions(args.source_dir, [gcc], UNHEARD)
            if function.inline}
    unseen = {"hf_unheard_of"} - (more - libraries["shared"])
    unseen |= {name for name in ("HF_UNHEARD_OF", "sizeof hf_unheard_of_t") if not missing({name})}
    check("seen", {"not found missing: " + name for name in unseen})
    return checks.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
