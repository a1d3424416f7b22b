#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write holdfast-sys/src/functions.rs: declarations in Rust of the functions of the C headers, as gcc lists them.

    generate.py [--check]       --check: write nothing, exit with 1 if the file would change
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CRATE = os.path.join(HERE, "holdfast-sys")
sys.path.insert(0, os.path.join(ROOT, "bindings", "extern", "tests"))

import declared  # noqa: E402

TYPES = {"_Bool": "bool", "char": "c_char", "int": "c_int", "unsigned int": "c_uint", "long int": "c_long",
         "int32_t": "i32", "int64_t": "i64", "size_t": "usize", "uint8_t": "u8", "uint16_t": "u16",
         "uint32_t": "u32", "uint64_t": "u64", "void": "c_void", "pthread_mutex_t": "c_void"}
CALLBACK = "void (*) (void *)"

# Keywords of Rust that are valid names in C.
WORDS = {"fn", "in", "loop", "match", "mut", "ref", "self", "type", "use", "where"}

HEAD = """// SPDX-License-Identifier: MIT
// Made by bindings/rust/generate.py from the C headers. Not to be edited.

use super::*;

functions! {
"""


def rust(kind):
    """`const hf_mutex_t *` becomes `*const hf_mutex_t`."""
    if kind == CALLBACK:
        return 'Option<unsafe extern "C" fn(*mut c_void)>'
    words = kind.replace("*", " * ").replace("volatile ", "").split()
    stars = words.count("*")
    constant = "const" in words
    name = " ".join(word for word in words if word not in ("*", "const", "struct", "enum"))
    name = TYPES.get(name, name)
    return ("*const " if constant else "*mut ") * stars + name if stars else name


def functions():
    """The text of functions.rs: a block for each header."""
    lines, header = [], None
    for function in sorted(declared.functions(ROOT, ["gcc"]), key=lambda function: (function.header, function.name)):
        arguments = ", ".join(
            "%s: %s" % ((name + "_" if name in WORDS else name) or "arg%d" % number, rust(kind))
            for number, (kind, name) in enumerate(function.arguments))
        result = "" if function.result == "void" else " -> " + rust(function.result)
        if function.header != header:
            lines.append("    }\n" if header else "")
            header = function.header
            lines.append('    "%s" {\n' % header)
        lines.append("        fn %s(%s)%s;\n" % (function.name, arguments, result))
    return HEAD + "".join(lines) + "    }\n}\n"


def main():
    path = os.path.join(CRATE, "src", "functions.rs")
    if "--check" in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            if file.read() != functions():
                sys.exit("%s is not what the headers declare: run %s" % (path, sys.argv[0]))
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(functions())


if __name__ == "__main__":
    main()
