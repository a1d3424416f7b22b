# SPDX-License-Identifier: MIT
"""Lists the public functions, constants and types of the headers, by gcc's -aux-info and preprocessor, for the tests here
and for bindings/rust."""
import os
import re
import subprocess
import tempfile

# Functions of the layers for processors, environments and shared memory, which only the headers call.
SEAMS = r"hf_(detail|arch|atomic\d*|env|wait|site|grace)_"

# Functions that the guards' macros call.
GUARDS = r"\w+_guard_(begin|end)$"

# Constants of those layers, except HF_ENV_FOREVER, which is for users.
SEAM_CONSTANTS = r"HF_(DETAIL|ARCH|ATOMIC|ENV_(?!FOREVER$)|WAIT|SITE|GRACE|LATCH)"

# Include guards, initialisers, attributes, options, and constants that only one lock's own code uses.
NO_CONSTANTS = r"\w+_(H|INIT|DEFAULT|DECLS|CAPABILITY|LOCK)$|HF_(SPINLOCK_QUEUED_|API|EXTERN_|TSAN$|VALIDATE$|VERSION$)"

# Types of implementations, or in no public function's signature.
NO_TYPES = r"hf_(atomic|node|wait|memory_)"


def headers(source):
    """The public headers."""
    return sorted(name for name in os.listdir(os.path.join(source, "include", "holdfast")) if name.endswith(".h"))


def unit(source):
    return "".join("#include <holdfast/%s>\n" % name for name in headers(source))


class Function:
    def __init__(self, name, result, arguments, inline, header):
        self.name, self.result, self.arguments, self.inline = name, result, arguments, inline
        self.header = header  # holdfast/mutex.h: the public header, also of functions that are declared in internal/


def functions(source, gcc, more=""):
    """A Function for each declaration in the headers and in `more`, C code; an argument is (type, name or "")."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = os.path.join(folder, "unit.c"), os.path.join(folder, "said")
        with open(file, "w", encoding="utf-8") as out:
            out.write(unit(source) + more)
        subprocess.run([*gcc, "-std=gnu11", "-fsyntax-only", "-aux-info", said, file,
                        "-I", os.path.join(source, "include")], check=True)
        with open(said, encoding="utf-8") as lines:
            text = lines.read()
    found = {}
    for where, kind, head, name, arguments in re.findall(
            r"^/\* (\S+):\d+:N(\w) \*/ (.*?)\b(hf_(?!detail_)[a-z]\w*) \((.*?)\);(?: /\*.*)?$", text, re.MULTILINE):
        if re.match(SEAMS, name) or re.match(GUARDS, name):
            continue
        if "holdfast/" not in where and "/unit.c" not in where:
            continue
        split = [] if arguments == "void" else split_arguments(arguments)
        function = Function(name, head.replace("static", "").replace("extern", "").strip(),
                            [argument(word, kind == "F") for word in split], kind == "F",
                            header_of(where))
        if name not in found or function.inline:
            found[name] = function
    return [found[name] for name in sorted(found)]


def header_of(path):
    """The public header of a file: of internal/mutex/... it is mutex.h."""
    match = re.search(r"holdfast/(?:internal/)?(\w+)(?:/(?:\w+|\.\.))*\.h$", os.path.normpath(path))
    return "holdfast/%s.h" % match[1] if match else path


def split_arguments(text):
    """Splits at the commas that are not in parentheses."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def argument(word, named):
    """(type, name). A definition has `hf_mutex_t *mutex`, a declaration `hf_mutex_t *`, without a name."""
    match = re.fullmatch(r"(.*\(\*)(\w*)(\)\(.*\))", word) if named or "(*" in word else None
    if match:
        return match[1] + match[3], match[2]
    match = re.fullmatch(r"(.*[ *])(\w+)", word) if named else None
    return (match[1].strip(), match[2]) if match else (word, "")


def constants(source, gcc):
    """(names of enumerators and of macros that are numbers, names of types)"""
    words = [*gcc, "-std=gnu11", "-E", "-x", "c", "-", "-I", os.path.join(source, "include")]
    macros, code = (subprocess.run([*words, how], input=unit(source), text=True, check=True,
                                   stdout=subprocess.PIPE).stdout for how in ("-dM", "-P"))
    names = {name for name, value in re.findall(r"^#define (HF_(?!DETAIL_)[A-Z]\w*) +(\S.*)$", macros, re.MULTILINE)
             if not re.match(r'"|\{|static |extern |__attribute__|HF_DETAIL_THREAD', value)}
    for body in re.findall(r"\benum hf_(?!detail_)[a-z]\w* *\{([^}]*)\}", code):
        names |= set(re.findall(r"\bHF_(?!DETAIL_)[A-Z]\w*", body))
    types = set(re.findall(r"\} *(hf_(?!detail_)[a-z]\w*_t);", code))
    types |= set(re.findall(r"\btypedef hf_[a-z]\w* (hf_(?!detail_)[a-z]\w*_t);", code))
    types |= {"struct " + name for name in re.findall(r"\bstruct (hf_(?!detail_)[a-z]\w*) *\{", code)
              if name + "_t" not in types}
    return ({name for name in names
             if not re.match(SEAM_CONSTANTS, name) and not re.match(NO_CONSTANTS, name)},
            {name for name in types if not re.match(SEAMS, name.split()[-1] + "_")
             and not re.match(NO_TYPES, name.split()[-1])})
