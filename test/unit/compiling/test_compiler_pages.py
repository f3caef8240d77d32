"""LLVM's pages are dropped from memory, and come back when it compiles again."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="nothing is compiled without llvmlite")

PROGRAM = """
import re
import numpy as np
import rne_dynamics as rne
from rne_dynamics.compiling.compiler_pages import drop_compiler_pages

def resident():
    found = re.findall(r"r-xp [^\\n]*libllvmlite[^\\n]*\\n.*?Rss: +([0-9]+) kB", open("/proc/self/smaps").read(), re.S)
    return sum(map(int, found))

robot = rne.load_urdf("puma560")
f = rne.bind(robot, "gravity_torque")
before, expected = resident(), f(np.ones(6))
assert drop_compiler_pages() > 10e6
after = resident()
assert before > 5000 and after < 0.1 * before, (before, after)
assert np.array_equal(f(np.ones(6)), expected)
other = rne.with_payload(robot, rne.Payload("link6", 1.0)).with_own_code()
assert np.isfinite(rne.bind(other, "gravity_torque")(np.ones(6))).all()  # compiled anew
assert resident() > after
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is advised on Linux alone")
def test_pages_go_and_come_back():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
