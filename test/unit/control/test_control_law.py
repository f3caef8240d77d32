"""Laws of one's own and of the package, in `simulate`, `Simulator` and the `Supervisor`; what is no law is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.control.gains import lowest_rate
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "own_law.md"
ROBOT = rne.load_urdf("puma560")
START = np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1])
MOVE = rne.Quintic(START, START + 0.2, 0.3)
STIFFNESS = 900.0 * rne.felt_inertia(rne.mass_matrix(ROBOT, START))
TORQUES = rne.Gains(STIFFNESS, 0.0 * STIFFNESS, STIFFNESS / 15.0)


class Springs:
    """The law of docs/own_law.md, with members that the tests leave out or change."""

    def __init__(self, robot, stiffness=STIFFNESS):
        self.robot, self.stiffness = robot, stiffness

    def law(self, q, qd, reference, integral=None, **known):
        zero = np.zeros(self.robot.n)
        feedback = self.stiffness * (reference.q - q) + self.stiffness / 15.0 * (reference.qd - qd)
        return rne.TorqueTerms(zero, zero, rne.gravity_torque(self.robot, q), zero, feedback)


def supervised(law, **changes):
    return Rig(ROBOT, START.copy(), replace(settings(ROBOT), tracking=law, **changes))


def test_the_page_s_law_tracks_in_all_three_loops():
    page: dict[str, object] = {}
    ends = []
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        exec(block, page)
        if "simulator" in page:
            ends.append(page["simulator"].state.q)
    assert page["log"].largest_error.max() < 0.02
    assert page["supervisor"].mode is Mode.HOLDING
    for end in ends:  # friction is not compensated by that law
        np.testing.assert_allclose(end, page["move"].end, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [rne.PdGravity(ROBOT, TORQUES), Springs(ROBOT)],
    ids=lambda law: type(law).__name__,
)
def test_every_law_follows_a_motion_in_the_supervisor(law):
    rig = supervised(law)
    rig.run(0.15)
    rig.move(START + 0.2, 0.3)
    rig.run(0.8)
    assert rig.mode is Mode.HOLDING
    assert [ending for ending, _ in rig.endings] == [Ending.SUCCEEDED]
    np.testing.assert_allclose(rig.simulator.state.q, START + 0.2, atol=0.01)
    rig.check()


def test_a_law_s_own_integral_is_kept_by_simulate_and_supervisor():
    class Integrating(Springs):
        seen = 0.0

        def law(self, q, qd, reference, integral=None, **known):
            self.seen = integral.copy()
            return super().law(q, qd, reference)

        def next_integral(self, integral, q, reference, dt, saturated):
            return integral + dt

    law = Integrating(ROBOT)
    rne.simulate(rne.ArmPlant(ROBOT), law, MOVE)
    np.testing.assert_allclose(law.seen, 0.3)
    supervised(law).run(0.2)
    assert 0.05 < law.seen.min() < 0.1  # errors of a growing feedback are not integrated: half of the time
    rne.simulate(rne.ArmPlant(ROBOT), Springs(ROBOT), MOVE)  # none of its own: zero


def test_the_supervisor_holds_a_mechanism_with_pd_and_with_a_law_of_one_s_own():
    mechanism = assembled(rne.load_model("pantograph")).with_effort_limit(np.full(3, 200.0))
    posture = np.array(mechanism.neutral)
    stiffness = np.full(3, 900.0)
    for law in (rne.PdGravity(mechanism, rne.Gains(stiffness, 0.0 * stiffness, stiffness / 15.0)),
                Springs(mechanism, stiffness)):  # fmt: skip
        rig = Rig(mechanism, posture.copy(), replace(settings(mechanism), tracking=law))
        rig.run(0.3)
        assert rig.mode is Mode.HOLDING
        np.testing.assert_allclose(rig.simulator.state.q, posture, atol=2e-3)


@pytest.mark.parametrize("name", ["flexible_arm", "pantograph"])
def test_simulate_takes_every_law_for_flexible_arms_and_mechanisms(name):
    robot = rne.load_model(name)
    q = np.array(robot.rigid.neutral)
    unit = np.ones(robot.n)
    for law in (
        rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 5.0)), rne.GravityCompensation(robot, 5.0),
        rne.PdGravity(robot, rne.Gains(unit, 0.0 * unit, unit)), Springs(robot.rigid, unit),
    ):  # fmt: skip
        log = rne.simulate(rne.ArmPlant(robot), law, rne.Hold(q), seconds=0.05)
        assert np.abs(log.q[-1] - q).max() < 0.05


def test_pd_gains_are_refused_at_a_rate_at_which_they_are_not_stable():
    law = rne.PdGravity(ROBOT, TORQUES)
    accelerations = rne.ComputedTorque(ROBOT, rne.Gains.critically_damped(6, 30.0))
    assert accelerations.lowest_rate == lowest_rate(accelerations.gains)
    assert law.lowest_rate > 0.9 * accelerations.lowest_rate  # made at one posture, where inertia is not the least
    rig = supervised(rne.PdGravity(ROBOT, replace(TORQUES, d=100.0 * TORQUES.d)))
    rig.run(1.5)
    assert rig.mode in (Mode.FAULT, Mode.STOPPING, Mode.RELEASED)
    assert "the gains are stable from" in rig.supervisor.cause


def test_a_law_that_says_so_answers_for_the_state_at_which_its_effort_acts():
    class Ahead(Springs):
        compensates_delay, friction_rows, steepness, asked = True, np.zeros((3, 6)), 0.0, START

        def law(self, q, qd, reference, integral=None, **known):
            self.asked = q.copy()
            return super().law(q, qd, reference)

    law = Ahead(ROBOT)
    rig = supervised(law, command_delay=0.02)
    rig.run(0.3)
    rig.move(START + 0.2, 0.5)
    rig.run(0.25)
    speed = rig.supervisor.qd
    assert speed.min() > 0.1
    np.testing.assert_allclose(law.asked - rig.supervisor.q, 0.02 * speed, rtol=0.5)


def test_a_state_of_the_law_s_own_goes_on_after_a_change_of_parameters():
    class Counting(Springs):
        cycles = -1

        def law(self, q, qd, reference, integral=None, **known):
            self.cycles += 1
            return super().law(q, qd, reference)

        def restart(self):
            self.cycles = 0

        def resume(self, former):
            self.cycles = former.cycles

    first, second = Counting(ROBOT), Counting(ROBOT, 1.1 * STIFFNESS)
    rne.simulate(rne.ArmPlant(ROBOT), first, MOVE, control_dt=1e-3)
    assert 290 < first.cycles <= 301, "it begins anew with a run"
    rig = supervised(first)
    rig.run(0.2)
    assert 50 < first.cycles <= 100
    rig.supervisor.adopt(replace(rig.settings, tracking=second))
    rig.run(0.1)
    assert second.cycles == first.cycles + 50
    other = rne.PdGravity(ROBOT, TORQUES)
    rig.supervisor.adopt(replace(rig.settings, tracking=other))
    rig.run(0.1)
    rig.supervisor.adopt(replace(rig.settings, tracking=second))
    rig.run(0.1)
    assert second.cycles == 50, "it begins anew after another law"
    assert rig.mode is Mode.HOLDING
    rig.check()


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (Springs, "controller is the class Springs; give an object of it, as Springs.robot."),
        (SimpleNamespace(law=Springs(ROBOT).law), "no control law: it lacks an attribute `robot`"),
        (SimpleNamespace(robot=ROBOT), r"it lacks a method `law\(q, qd, reference, integral\)`"),
        (lambda q, qd: q, "lacks an attribute `robot`.* and a method `law"),
        (None, "controller is an object of NoneType"),
        (SimpleNamespace(robot=ROBOT, law=lambda q, qd: None), r"cannot be called as law\(q, qd, reference, integ"),
        (Springs(rne.load_urdf("scara")), "'scara' of controller has 4 joints"),
    ],
    ids=["class", "no robot", "no law", "function", "None", "arguments", "joints"],
)
def test_what_is_no_law_is_refused_with_what_is_missing(law, message):
    with pytest.raises(ControlError, match=message):
        rne.simulate(rne.ArmPlant(ROBOT), law, MOVE)
    if law is not None:
        with pytest.raises(ControlError, match=message.replace("controller", "tracking")):
            replace(settings(ROBOT), tracking=law)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda: np.zeros(6), r"returned ndarray; it must return TorqueTerms\(inertia, coriolis, gravity, "),
        (lambda: rne.TorqueTerms(*np.zeros((2, 6)), np.zeros(2), *np.zeros((2, 6))),
         r"a term `gravity` of shape \(2,\); it must be \(6,\)"),
        (lambda: 1 / 0, "the law SimpleNamespace failed: ZeroDivisionError: division by zero"),
    ],
    ids=["total", "short", "broken"],
)
def test_what_a_law_returns_is_checked_and_stops_a_supervised_arm(answer, message):
    law = SimpleNamespace(robot=ROBOT, law=lambda q, qd, reference, integral=None, **known: answer())
    with pytest.raises(ControlError, match=message):
        rne.simulate(rne.ArmPlant(ROBOT), law, MOVE)
    rig = supervised(law)
    rig.run(0.05)
    assert rig.mode is Mode.STOPPING
    assert re.search(message, rig.supervisor.cause)
    assert np.isfinite(rig.sent).all()


def test_a_law_for_a_mechanism_takes_its_posture():
    class Open(Springs):
        def law(self, q, qd, reference, integral=None):
            return super().law(q, qd, reference)

    mechanism = rne.load_model("pantograph")
    with pytest.raises(ControlError, match=r"law\(q, qd, reference, integral, \*, posture\)"):
        rne.simulate(rne.ArmPlant(mechanism), Open(mechanism), rne.Hold(np.array(mechanism.neutral)), seconds=0.01)


def test_combinations_that_make_no_sense_are_refused_with_the_reason():
    plain = settings(ROBOT)
    with pytest.raises(ControlError, match="tracking is GravityCompensation, which follows no reference"):
        replace(plain, tracking=plain.floating)
    with pytest.raises(ControlError, match="floating is ComputedTorque; hand guiding takes a GravityCompensation"):
        replace(plain, floating=plain.tracking)
    with pytest.raises(ControlError, match="delays are compensated with ComputedTorque only, and the law is PdGravity"):
        replace(plain, tracking=rne.PdGravity(ROBOT, TORQUES), command_delay=0.005)
