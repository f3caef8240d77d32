from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.arms import MASS, chain, slider

import rne_dynamics as rne
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.tree import Limits
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

DT = 1e-3
ROOT = Path(__file__).resolve().parents[3]


def falling_cart(**options) -> Simulator:
    """A cart on a vertical rail."""
    return Simulator(ArmPlant(slider(axis=(0.0, 0.0, 1.0))), [0.0], dt=DT, **options)


def test_brakes_hold_until_the_first_command():
    simulator = falling_cart()
    assert simulator.braked
    assert simulator.advance(500).q == [0.0]
    assert simulator.state.t == pytest.approx(0.5)
    assert simulator.applied_effort == [0.0]
    simulator.command([MASS * 9.81 + 4.0])
    assert not simulator.braked
    assert simulator.advance(1000).qd == pytest.approx([4.0 / MASS])


def test_brakes_stop_a_start_in_motion():
    simulator = Simulator(ArmPlant(slider()), [0.0], [1.0])
    assert simulator.advance().qd == [0.0]


def test_after_the_timeout_the_effort_is_zero():
    simulator = falling_cart(command_timeout=0.1)
    simulator.command([MASS * 9.81])
    simulator.advance(100)
    assert simulator.timed_out
    assert not simulator.braked
    assert simulator.applied_effort == [0.0]
    assert simulator.state.qd == pytest.approx([0.0], abs=1e-12)
    assert simulator.advance(50).qd == pytest.approx([-9.81 * 0.05])
    simulator.command([MASS * 9.81])
    assert not simulator.timed_out


def test_after_the_timeout_the_brakes_hold_where_set():
    simulator = falling_cart(command_timeout=0.1, on_timeout="brake")
    simulator.command([0.0])
    moving = simulator.advance(100)
    assert moving.qd == pytest.approx([-0.981])
    held = simulator.advance(100)
    assert held.q == moving.q
    assert held.qd == [0.0]
    assert simulator.braked


def test_reset_returns_to_the_start_with_brakes_on_while_time_goes_on():
    simulator = falling_cart()
    simulator.command([100.0])
    simulator.advance(100)
    state = simulator.reset()
    assert state.q == [0.0]
    assert state.t == pytest.approx(0.1)
    assert simulator.braked
    assert simulator.advance(10).qd == [0.0]


def test_a_command_is_copied_limited_and_not_replaced_by_an_invalid_one():
    simulator = Simulator(ArmPlant(slider(limits=Limits(effort=5.0))), [0.0])
    simulator.command([-50.0])
    assert simulator.applied_effort == [-5.0]
    effort = np.array([2.0])
    simulator.command(effort)
    effort[0] = 9.0
    with pytest.raises(SimulationError, match="the effort of joint 'rail' is nan"):
        simulator.command([np.nan])
    assert simulator.applied_effort == [2.0]


def test_a_push_moves_the_arm_and_the_state_survives_an_error():
    simulator = Simulator(ArmPlant(slider()), [0.0])
    simulator.command([0.0])
    pushed = simulator.advance(10, {"cart": [MASS, 0.0, 0.0, 0.0, 0.0, 0.0]})
    assert pushed.qd == pytest.approx([0.01])
    assert simulator.advance().qd == pytest.approx([0.01])
    with pytest.raises(SimulationError, match="not finite any more"):
        simulator.advance(100, {"cart": [1e308] * 6})
    assert np.isfinite(simulator.state.qd).all()


@pytest.mark.parametrize("model", ["scara", "examples/five_bar_redundant.yaml"])
def test_models_warm_up(model):
    robot = rne.load_model(ROOT / model if "/" in model else model)
    start = np.array(robot.posture[robot.actuated]) if robot.kind == "mechanism" else np.zeros(robot.n)
    simulator = Simulator(ArmPlant(robot), start)
    before = simulator.state
    simulator.warm_up()
    assert simulator.state is before


WARM = """
import sys
from itertools import product
import numpy as np
import rne_dynamics as rne
from rne_dynamics.compiling import store
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, UPPER, VISCOUS
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import methods_within, unchecked_step

robot = rne.load_model(sys.argv[1])
plant, n = rne.ArmPlant(robot, stops=False), robot.n
loops = plant.coordinates.mechanism
arm = Simulator(plant, np.full(n, 0.1) if loops is None else loops.posture[loops.actuated])
arm.warm_up()
files, ends, read = [], set(), store.load
store.load = lambda name: files.append(name) or read(name)
arm.advance(10)
for friction, play in product(([0.0] * 3, [0.1] * 3, [1e6, 5.0, 5.0]), (1e-3, np.inf)):
    joints = plant.joints.copy()
    joints[:n, [VISCOUS, FORWARD, BACKWARD]] = friction
    joints[:n, LOWER], joints[:n, UPPER] = arm.state.q - play, arm.state.q + play
    joints.flags.writeable = False
    for load, method, push in product((0.0, 2.0), methods_within(arm.method, plant.coordinates), (0.0, 20.0)):
        loads = np.full((plant.tree.bodies, 6), load) if load else np.zeros((0, 6))
        state = arm.state
        for k in range(45):
            effort = np.full(n, push if k < 30 else -push)
            state = unchecked_step(plant, state, effort, 1e-3, method, loads, joints)
            ends |= {"rests" if x == 0.0 else "moves" for x in state.qd}
            ends |= {"at a stop" for x, j in zip(state.q, joints) if x in (j[LOWER], j[UPPER])}
assert ends == {"rests", "moves", "at a stop"}, ends
print(files)
"""


@pytest.mark.skipif(not COMPILED, reason="llvmlite is not installed")
@pytest.mark.parametrize("robot", ["pantograph", pytest.param("flexible_arm", marks=pytest.mark.slow)])
def test_after_warming_up_no_event_needs_another_kernel(robot):
    """Joints that rest, stick, slide and meet stops; stiff friction; loads at a link; with brakes and without."""
    done = subprocess.run([sys.executable, "-c", WARM, robot], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"q": [0.0, 0.0]}, r"q has shape \(2,\)"),
        ({"q": [0.0, np.nan, 0.0]}, "q of joint 'joint2' is nan"),
        ({"q": [0.0, 0.0, 2.0]}, r"joint 'joint3' starts at 2, outside its limits \[-1, 1\]"),
        ({"qd": [0.0, 0.0, np.inf]}, "qd of joint 'joint3' is inf"),
        ({"dt": 0.0}, "dt is 0.0 s"),
        ({"command_timeout": -1.0}, "command_timeout is -1.0 s"),
        ({"method": "euler"}, "method is 'euler'"),
        ({"on_timeout": "panic"}, "on_timeout is 'panic'; it must be one of 'zero_effort', 'brake'"),
    ],
)
def test_unusable_starts_are_refused(options, said):
    with pytest.raises(SimulationError, match=said):
        Simulator(ArmPlant(chain(3, limits=Limits(-1.0, 1.0))), **{"q": np.zeros(3), **options})
