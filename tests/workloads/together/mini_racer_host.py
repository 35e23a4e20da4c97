# SPDX-License-Identifier: MIT
"""Python with V8 in another thread, by mini-racer: mini_racer_host.py CLASSES SECONDS. Prints as together.py does."""

import os
import sys
import time

import together
from py_mini_racer import MiniRacer

RACER = MiniRacer()
RACER.eval("""
function script_leaf(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function script_part(n) { return script_leaf(n) + 1; }
""")


def script_part():
    return RACER.eval("script_part(8000000)")


def python_part():
    return together.python_leaf(300000)


together.spend(float(sys.argv[2]), {"script": script_part, "python": python_part}, time.process_time)
# Its own end may wait for ever.
os._exit(0)
