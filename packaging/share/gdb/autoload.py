# SPDX-License-Identifier: MIT
"""gdb runs this when it loads libholdfast.so, because it is installed in auto-load under the library's path and name."""
import os

import gdb

data = __file__[:__file__.rindex("/gdb/auto-load/")]
script = os.path.join(data, "holdfast", "gdb", "holdfast.py")
if os.path.exists(script):
    gdb.execute("source " + script)
