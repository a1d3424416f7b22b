# SPDX-License-Identifier: MIT
"""gdb loads this with libholdfast.so: its name and folder are the library's, in share/gdb/auto-load."""
import os

import gdb

data = __file__[:__file__.rindex("/gdb/auto-load/")]
script = os.path.join(data, "holdfast", "gdb", "holdfast.py")
if os.path.exists(script):
    gdb.execute("source " + script)
