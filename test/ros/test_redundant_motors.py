"""More motors than freedoms, driven by the real nodes: a five-bar with a third motor at an elbow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import FOLLOWING, PATIENCE, START
from .simulated_mechanism import CONTROLLER, SimulatedMechanism

pytestmark = pytest.mark.slow

MODEL = str(Path(__file__).parents[2] / "examples" / "five_bar_redundant.yaml")
ARM = rne.load_model(MODEL)
TWO = rne.load_model("five_bar")
JOINTS = list(ARM.joint_names)
LIMITS = {"left_elbow": {"effort": 5.0}}
#: States per second that a controller process answers for such a mechanism.
RATE = 500.0


def placed(left: float, right: float) -> np.ndarray:
    """The three motors where the two at the base are."""
    return assemble(TWO, [left, right])[ARM.actuated]


FROM, TO = placed(*TWO.neutral), placed(-1.7, -0.8)


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return SimulatedMechanism(start, make_peer(JOINTS), model=MODEL, rate=RATE)


@pytest.fixture(scope="module")
def tracking(rig):
    """The controller, its start-up check passed: reported efforts agree with the share of gravity, preload included."""
    process = rig.start(
        CONTROLLER, model=MODEL, gains={j: {"p": 2500.0, "d": 100.0} for j in JOINTS}, limits=LIMITS,
        startup_check={"duration": 0.5, "required": True}, **FOLLOWING,
    )
    wait_until(lambda: "ready: " in process.output() and rig.trajectories.get_subscription_count(), START,
               "the controller", [process, rig.simulator])
    wait_until(lambda: "agree with the model's gravity" in process.output(), START, "the start-up check",
               [process, rig.simulator])
    rig.processes.append(process)
    return process


def test_it_is_held_by_the_share_of_gravity_that_the_model_file_asks_for(rig, tracking):
    message = rig.now()
    np.testing.assert_allclose(message.position[:3], FROM, atol=1e-4)
    held = rne.gravity_torque(ARM, FROM)
    np.testing.assert_allclose(message.effort[:3], held, atol=0.02)
    assert abs(held[2]) > 0.3, "the third motor holds some of it"
    assert not any(message.effort[3:]), "the last elbow has no motor"


def test_goals_that_the_loops_do_not_allow_are_refused(rig, tracking):
    before = tracking.output().count("trajectory refused")
    rig.send(JOINTS, (1.0, [*TO[:2].tolist(), float(TO[2]) + 0.2]))
    wait_until(lambda: tracking.output().count("trajectory refused") > before, PATIENCE, "a refusal", rig.processes)
    said = [line for line in tracking.output().splitlines() if "trajectory refused" in line][-1]
    assert "but the loops put it at" in said
    assert "leave it out" in said


def test_move_names_the_leading_joints_alone(rig, tracking):
    move = rig.start("move", ["left_joint=-1.9"], model=MODEL, velocity_scale=0.3)
    assert move.wait(PATIENCE) == 0, move.output()
    assert abs(rig.now().position[0] + 1.9) < 0.01
