# SPDX-License-Identifier: MIT
"""In CPython, by ctypes: faulthandler is enabled before Holdfast's handler is installed, or after it."""
import ctypes
import faulthandler
import sys

probe = ctypes.CDLL(sys.argv[1])
if sys.argv[2] == "before":  # Holdfast passes other faults on to faulthandler
    faulthandler.enable()
    assert probe.probe_install() == 0 and probe.probe_owned() == 1
    assert probe.probe_all() == 0
    print("good", flush=True)
    ctypes.string_at(16)  # a bug: faulthandler's dump, and the signal
elif sys.argv[2] == "after":  # faulthandler replaces Holdfast's handler
    assert probe.probe_install() == 0 and probe.probe_all() == 0
    faulthandler.enable()
    assert probe.probe_owned() == 0
    faulthandler.disable()  # restores Holdfast's handler
    assert probe.probe_owned() == 1 and probe.probe_all() == 0
    print("good", flush=True)
