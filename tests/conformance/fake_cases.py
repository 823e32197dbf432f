"""Backends as text: the reference's kernels, some of them exchanged. Tests install them (conftest.py)."""

#: Kernels in `CHANGED` stand in for the reference's, which `SOUND` holds by op.
COPY = """
import os
import signal
import time

import numpy as np
import tenora_reference

CHANGED = {}
SOUND = {}


class Changed:
    def __init__(self, registry):
        self.registry = registry

    def __getattr__(self, name):
        return getattr(self.registry, name)

    def kernel(self, op, function, **options):
        SOUND[op] = function
        return self.registry.kernel(op, CHANGED.get(op, function), **options)


def load(registry):
    tenora_reference.load(Changed(registry))
"""
SOUND = COPY
CRASHES = (
    COPY
    + """
def sinh(x, *, out):
    if x.dtype == np.float64:
        os.kill(os.getpid(), signal.SIGSEGV)
    np.sinh(x, out=out)

CHANGED["sinh"] = sinh
"""
)
#: The same with an op of ring 0.
CRASHES_BELOW = CRASHES.replace("sinh", "floor")
HANGS = (
    COPY
    + """
def sinh(x, *, out):
    if x.dtype == np.float64:
        time.sleep(3600)
    np.sinh(x, out=out)

CHANGED["sinh"] = sinh
"""
)
#: A second call of sinh in one process ends it.
ONCE = (
    COPY
    + """
CALLS = []

def sinh(x, *, out):
    CALLS.append(1)
    if len(CALLS) > 1:
        os._exit(7)
    np.sinh(x, out=out)

CHANGED["sinh"] = sinh
"""
)
#: A product of float32 is one too large.
WRONG = (
    COPY
    + """
def mul(a, b, *, out):
    np.multiply(a, b, out=out)
    if out.dtype == np.float32:
        out += 1

CHANGED["mul"] = mul
"""
)
RAISES = """
def load(registry):
    raise RuntimeError("the licence has expired")
"""
UNAVAILABLE = """
from tenora_dispatch import Probe

def probe():
    return Probe(available=False, reason="no such device here; plug one in")

def load(registry):
    pass
"""
NOTHING = """
def load(registry):
    pass
"""
SLOW = (
    COPY
    + """
def sinh(x, *, out):
    time.sleep(0.2)
    np.sinh(x, out=out)

CHANGED["sinh"] = sinh
"""
)
ENDS_LOADING = """
import os

def load(registry):
    print("about to end")
    os._exit(9)
"""
#: sinh, which no other kernel needs in float32, is one too large in it.
WRONG_ABOVE = (
    COPY
    + """
def sinh(x, *, out):
    np.sinh(x, out=out)
    if out.dtype == np.float32:
        out += 1

CHANGED["sinh"] = sinh
"""
)
