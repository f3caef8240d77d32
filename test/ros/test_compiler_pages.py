"""LLVM's pages are dropped from memory, and come back when it compiles again; what is on disk needs none of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="nothing is compiled without llvmlite")

PROGRAM = """
import re
import numpy as np
import rne_dynamics as rne
from rne_dynamics.ros.node.process import LIBRARIES, drop_compiler_pages

def resident():
    found = re.findall(r"r-xp [^\\n]*libllvmlite[^\\n]*\\n.*?Rss: +([0-9]+) kB", open("/proc/self/smaps").read(), re.S)
    return sum(map(int, found))

robot = rne.with_payload(rne.load_urdf("puma560"), rne.Payload("link6", MASS)).with_own_code()
f = rne.bind(robot, "gravity_torque")
before, expected = resident(), f(np.ones(6))
assert drop_compiler_pages() > 10e6
after = resident()
assert before > 5000 and after < 0.1 * before, (before, after)
assert np.array_equal(f(np.ones(6)), expected)
other = rne.with_payload(robot, rne.Payload("link6", 2.0 * MASS)).with_own_code()
assert np.isfinite(rne.bind(other, "gravity_torque")(np.ones(6))).all()  # compiled anew
assert resident() > after
assert drop_compiler_pages(LIBRARIES) > 20e6
assert np.array_equal(f(np.ones(6)), expected)  # all libraries come back where they are needed
"""
#: A robot's own code, its batches, and general kernels.
USE = """
import numpy as np
import rne_dynamics as rne
robot = rne.with_payload(rne.load_urdf("puma560"), rne.Payload("link6", MASS)).with_own_code()
rne.inverse_dynamics(robot, *np.zeros((3, 6)))
rne.forward_dynamics(robot, *np.zeros((3, 4, 6)))
law = rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 20.0))
rne.simulate(rne.ArmPlant(robot), law, rne.Quintic(np.zeros(6), np.full(6, 0.1), 0.5))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is advised on Linux alone")
def test_pages_go_and_come_back(tmp_path: Path):
    run(PROGRAM, tmp_path, new_mass())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="machine code is made on Linux alone")
def test_machine_code_on_disk_is_loaded_without_the_compiler(tmp_path: Path):
    mass = new_mass()
    for first in (True, False):
        run(f"{USE}\nassert ('libllvmlite' in open('/proc/self/maps').read()) is {first}", tmp_path, mass)


def run(program: str, folder: Path, mass: float) -> None:
    environment = os.environ | {"RNE_DYNAMICS_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program.replace("MASS", repr(mass))], capture_output=True, text=True, timeout=120,
        check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def new_mass() -> float:
    """A load of which no folder has machine code yet, kg."""
    return 0.1 + 1e-10 * (time.time_ns() % 10**9)
