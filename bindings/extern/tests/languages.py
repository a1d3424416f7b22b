#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the examples in Python of docs/guide/other-languages.md.

    languages.py --source-dir DIR [--libraries DIR]

--libraries is the folder of libholdfast-extern.so.1; the default is the loader's search path.
"""
import argparse
import os
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--libraries")
    args = parser.parse_args()
    page = os.path.join(args.source_dir, "docs", "guide", "other-languages.md")
    with open(page, encoding="utf-8") as file:
        examples = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    environment = {"LD_LIBRARY_PATH": args.libraries} if args.libraries else {}
    for text in examples:
        subprocess.run([sys.executable, "-c", text], check=True, env=dict(os.environ, **environment))
    print("%d examples in Python" % len(examples))
    return 0 if examples else 1


if __name__ == "__main__":
    sys.exit(main())
