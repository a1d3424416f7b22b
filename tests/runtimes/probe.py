# SPDX-License-Identifier: MIT
"""Inside CPython, by ctypes: faulthandler before and after us."""
import ctypes
import faulthandler
import sys

probe = ctypes.CDLL(sys.argv[1])
if sys.argv[2] == "before":  # it is enabled first, and gets what is not ours
    faulthandler.enable()
    assert probe.probe_install() == 0 and probe.probe_owned() == 1
    assert probe.probe_all() == 0
    print("good", flush=True)
    ctypes.string_at(16)  # a bug: faulthandler's dump, and the signal
elif sys.argv[2] == "after":  # it takes the signals, and does not pass on before it dumps
    assert probe.probe_install() == 0 and probe.probe_all() == 0
    faulthandler.enable()
    assert probe.probe_owned() == 0
    faulthandler.disable()  # puts back what was there before it: us
    assert probe.probe_owned() == 1 and probe.probe_all() == 0
    print("good", flush=True)
