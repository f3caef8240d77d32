"""Delay compensation: prediction against a simulated arm; tracking of MuJoCo's arms with efforts that are late."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from support.compliant import text_of
from support.foreign_plant import Deviation, ForeignArm
from support.mechanisms import four_bar
from support.supervised import Rig, settings
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import VISCOUS, ComputedTorque
from rne_dynamics.control.prediction import Predictor
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import LONGEST_DELAY
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import step


class Case(NamedTuple):
    """A URDF of the wheel, joints that are locked, and a move."""

    urdf: str
    locked: tuple[str, ...]
    start: tuple[float, ...]
    end: tuple[float, ...]
CASES = {
    "ur5": Case("ur5_robot.urdf", (), (0.0, -1.2, 1.4, -1.0, -1.2, 0.3), (0.9, -0.5, 0.6, -1.8, -0.4, 1.2)),
    "panda": Case(
        "panda.urdf", ("panda_finger_joint1",),
        (0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8), (0.8, 0.2, -0.6, -1.4, 0.7, 2.3, -0.2),
    ),
}


def our_model(case: Case) -> RobotModel:
    """The arm as this package reads it."""
    return rne.load_urdf(wheel_urdf(case.urdf), lock=dict.fromkeys(case.locked, 0.0))

MS = 1_000_000
#: Where moves of 2 s begin and end.
MOVES = {
    "ur10": ([0.0, -1.2, 1.4, -1.0, -1.2, 0.3], [0.9, -0.5, 0.6, -1.8, -0.4, 1.2]),
    "panda": ([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8], [0.8, 0.2, -0.6, -1.4, 0.7, 2.3, -0.2]),
}


def law_of(robot: RobotModel, bandwidth: float) -> ComputedTorque:
    """A law with the poles of all joints at −`bandwidth`, 1/s."""
    gains = Gains(np.full(robot.n, bandwidth**2), np.zeros(1), np.full(robot.n, 2.0 * bandwidth))
    return ComputedTorque(robot, gains, FrictionCompensation())


def follow(name: str, late: int, compensated: float, offset: float = 0.0) -> Array:
    """Follow a quintic; the error of the position at each millisecond, rad, shape (times, n).
    Efforts act `late` ms after their state, the law believes in a delay of `compensated` s, and the arm starts `offset`
    from its reference.
    """
    move, text, errors = Quintic(*MOVES[name], 2.0), text_of(name), []
    arm = ForeignArm(text, move.start + offset, 1e-3, Deviation(friction=0.0, command_delay=1e-3 * late))
    arm.steps, arm.model.opt.timestep, arm.model.opt.integrator = 2, 5e-4, mujoco.mjtIntegrator.mjINT_RK4
    law = replace(law_of(rne.load_urdf(text), 40.0), friction_compensation=None)
    predictor = Predictor(law, compensated) if compensated > 0.0 else None
    for k in range(2600):
        (_, q, qd), now = arm.state, move.sample(1e-3 * k)
        errors.append(now.q - q)
        if predictor is not None:
            q, qd = predictor.predict(q, qd, k * MS, k * MS, now.qd)
            now = move.sample(1e-9 * (k * MS + predictor.ahead))
        effort = law.law(q, qd, now).total
        if predictor is not None:
            predictor.note(k * MS, effort)
        arm.command(effort)
        arm.advance()
    return np.array(errors)


def rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def test_a_late_arm_of_mujoco_is_tracked_as_if_it_were_not():
    without, compensated = rms(follow("panda", 2, 0.0)), rms(follow("panda", 2, 2e-3))
    assert compensated < without / 50.0
    assert compensated < 2e-6


@pytest.mark.parametrize(("robot", "late", "believed"), [("ur10", 0, 4e-3), ("panda", 4, 2e-3)])
def test_a_wrong_delay_leaves_the_loop_stable(robot, late, believed):
    # from 0.02 rad off the reference, with twice the bandwidth of the default gains
    error = np.abs(follow(robot, late, believed, offset=0.02))
    assert error.max() < 0.03
    assert error[-300:].max() < 2e-3
    assert error[-100:].max() <= 1.5 * error[-300:].max()


@pytest.mark.parametrize(("robot", "friction", "delay"), [("puma560", True, 8), ("panda", False, 30)])
def test_it_is_where_the_arm_will_be(robot, friction, delay):
    # sliding friction as the law compensates it: the desired velocity has the sign of the arm's
    model = rne.load_urdf(robot)
    law, rng, n = law_of(model, 20.0), np.random.default_rng(delay), model.n
    law = law if friction else replace(law, friction_compensation=None)
    predictor, plant = Predictor(law, 1e-3 * delay), ArmPlant(model, friction, stops=False, limit_effort=False)
    state = State(0.0, 0.3 * rng.uniform(-1.0, 1.0, n), rng.choice([-1.0, 1.0], n) * rng.uniform(0.5, 1.0, n))
    efforts = rne.gravity_torque(model, state.q) + 0.05 * model.effort_limit * rng.uniform(-1.0, 1.0, (60, n))
    states = []
    for k in range(60):
        states.append(state)
        state = step(plant, state, efforts[k], 1e-3)
    for k in range(60 - delay):  # what answers state k acts at k + delay
        predictor.note(k * MS, efforts[k + delay])
    predictor._period = 0.0  # up to the instant at which it begins to act
    at = 30
    q, qd = predictor.predict(states[at].q, states[at].qd, at * MS, at * MS, states[at].qd)
    ahead = [*states, state][at + delay]
    moved = np.abs(ahead.qd - states[at].qd).max()
    assert np.abs(qd - ahead.qd).max() < 0.02 * moved
    assert np.abs(q - ahead.q).max() < 5e-5 * delay


def test_stiff_viscous_friction_does_not_make_it_unstable():
    model = rne.load_urdf("puma560")
    law = law_of(model, 20.0)
    law.table[VISCOUS] = 1e4  # N m s/rad: a time constant of 0.02 ms at the wrist
    predictor, q, qd = Predictor(law, 0.02), np.zeros(6), np.full(6, 0.5)
    predictor.note(0, np.zeros(6))
    _, after = predictor.predict(q, qd, 20 * MS, 20 * MS, qd)
    assert (np.abs(after) < np.abs(qd)).all()


def test_what_the_hardware_adds_is_in_the_prediction():
    model = rne.load_urdf("panda")
    q, rest = np.array([0.1, -0.5, 0.2, -1.8, 0.3, 1.5, 0.4]), np.zeros(7)
    for compensated, effort in ((frozenset(), rne.gravity_torque(model, q)), (frozenset({"gravity"}), rest)):
        predictor = Predictor(law_of(model, 20.0), 0.02, compensated)
        predictor.note(0, effort)
        place, speed = predictor.predict(q, rest, 20 * MS, 20 * MS, rest)
        np.testing.assert_allclose(place, q, atol=1e-12)
        np.testing.assert_allclose(speed, 0.0, atol=1e-10)


def test_without_efforts_or_with_numbers_that_are_not_finite_it_goes_on_as_it_moves():
    predictor = Predictor(law_of(rne.load_urdf("planar2"), 20.0), 0.01)
    q, qd = np.array([0.1, 0.2]), np.array([1.0, -1.0])
    np.testing.assert_allclose(predictor.predict(q, qd, 0, 0, qd), (q + 0.01 * qd, qd))
    predictor.note(0, np.full(2, np.nan))
    np.testing.assert_allclose(predictor.predict(q, qd, 0, 0, qd), (q + 0.01 * qd, qd))
    predictor.note(-(10**12), np.zeros(2))  # stamps went back: what was known counts no more
    assert predictor._count == 1


def test_delays_that_cannot_be_compensated_are_refused():
    plain = settings(rne.load_urdf("planar2"))
    for bad in (-1e-3, np.nan, 2.0 * LONGEST_DELAY):
        with pytest.raises(ControlError, match="command_delay is"):
            replace(plain, command_delay=bad)
    mechanism = four_bar()
    n = mechanism.n
    law = ComputedTorque(mechanism, Gains(np.full(n, 400.0), np.zeros(1), np.full(n, 40.0)))
    with pytest.raises(ControlError, match="has closed loops"):
        Predictor(law, 1e-3)


@pytest.mark.slow
def test_the_supervisor_answers_for_the_state_at_which_its_effort_acts():
    model, start = rne.load_urdf("puma560"), np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1])

    def tracked(delay: float) -> tuple[float, LateRig]:
        rig = LateRig(model, start.copy(), settings(model, command_delay=delay), 1e-3, late=4)
        rig.run(0.3)
        rig.move(start + 0.4, 1.0)
        errors = []
        for _ in range(1300):
            rig.run(1e-3)
            errors.append(rig.supervisor.queue.reference.q - rig.supervisor.q)
        rig.check()
        assert rig.endings[0][0] is Ending.SUCCEEDED
        assert rig.mode is Mode.HOLDING
        return rms(np.array(errors)), rig

    assert tracked(4e-3)[0] < 0.3 * tracked(0.0)[0]
    _, rig = tracked(8e-3)
    rig.supervisor.stop(rig.now, "test")
    rig.run(1.0)
    assert rig.mode is Mode.RELEASED
    rig.check()


class LateRig(Rig):
    """A rig whose efforts act some periods late."""

    def __init__(self, *arguments, late: int) -> None:
        self.under_way: list[np.ndarray] = []
        self.late = late
        super().__init__(*arguments)

    def take(self, effort, command: bool) -> None:
        super().take(effort, command=False)
        if effort is not None:
            self.under_way.append(effort.command)
            if len(self.under_way) > self.late:
                self.simulator.command(self.under_way.pop(0))
