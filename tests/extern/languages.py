#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the examples in Python of docs/guide/other-languages.md with the libraries in a folder.

    languages.py --source-dir DIR --libraries DIR
"""
import argparse
import os
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--libraries", required=True)
    args = parser.parse_args()
    page = os.path.join(args.source_dir, "docs", "guide", "other-languages.md")
    with open(page, encoding="utf-8") as file:
        examples = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    for text in examples:
        subprocess.run([sys.executable, "-c", text], check=True,
                       env=dict(os.environ, LD_LIBRARY_PATH=args.libraries))
    print("%d examples in Python" % len(examples))
    return 0 if examples else 1


if __name__ == "__main__":
    sys.exit(main())
