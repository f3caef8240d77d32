"""After its warm-up a supervisor needs no further kernel, whatever happens to the arm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.compiling.jit import COMPILED

TESTS = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from dataclasses import replace

import numpy as np
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.compiling import store
from rne_dynamics.control.supervision.states import Mode

robot = rne.load_model(sys.argv[1])
n, plain = robot.n, settings(robot)
rig = Rig(
    robot, np.array(robot.posture[robot.actuated]) if robot.kind == "mechanism" else robot.neutral,
    replace(plain, limits=replace(plain.limits, velocity=np.full(n, 0.5), rate=100.0 * robot.effort_limit),
            stop=replace(plain.stop, hold_time=0.2, ramp_time=0.2)), period=4e-3,
)
rig.simulator.warm_up()
rig.supervisor.warm_up()
rig.run(0.5)
start = rig.supervisor.q.copy()
rig.move(start, 0.1)  # a trajectory is checked where its message is read, which is not in the loop
rig.run(0.5)
files, read = [], store.load
store.load = lambda name: files.append(name) or read(name)
rig.move(start + 0.1, 0.5)
rig.run(0.2)
rig.run(0.05, corrupt=lambda state: dict(state, velocity_missing=True))
rig.run(0.6)
rig.supervisor.hand_guide(True)
rig.run(0.2)
rig.supervisor.hand_guide(False)
rig.run(0.2)
rig.move(start, 0.5)
rig.run(0.2)
rig.run(0.35, corrupt=lambda state: None)
rig.run(0.6)
rig.supervisor.drives(rig.now, False)
rig.run(0.1)
rig.supervisor.drives(rig.now, True)
rig.run(0.3)
rig.move(start + 0.1, 0.5)
rig.run(0.2)
rig.supervisor.cancel("enough")
rig.run(0.5)
for j in range(n):
    reversed_motor = np.where(np.arange(n) == j, -1.0, 1.0)
    rig.motors = lambda command: reversed_motor * command
    rig.move(rig.supervisor.queue.reference.q + 0.2, 0.5)
    rig.run(0.9)
    rig.motors = lambda command: command
    rig.run(0.5)
    rig.simulator.reset()
    if rig.mode is Mode.FAULT:
        rig.supervisor.recover(rig.now)
    rig.run(0.3)
rig.supervisor.stop(rig.now, "the end")
rig.run(0.8)
assert {Mode.TRACKING, Mode.FLOATING, Mode.STOPPING, Mode.FAULT, Mode.RELEASED} <= set(rig.modes), rig.modes
print(files)
"""


SLOW_IN_PYTHON = pytest.mark.skipif(not COMPILED, reason="without llvmlite it takes minutes, and nothing is compiled")


@pytest.mark.parametrize("robot", ["planar2", pytest.param("pantograph", marks=SLOW_IN_PYTHON)])
def test_no_state_needs_another_kernel(robot):
    """Motions, a missing velocity, lost states, hand guiding, idle drives, a cancellation, runaway motors."""
    code = f"import sys; sys.path[:0] = [{str(TESTS)!r}]\n" + PROGRAM
    done = subprocess.run([sys.executable, "-c", code, robot], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
