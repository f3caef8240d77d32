"""Target wrenches: the law's torque, the force on a stiff spring, fading, time-out, limits, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from support.compliant import START, text_of
from support.foreign_plant import Deviation, ForeignArm
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.supervision.settings import WrenchRates
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

TEXT, LINK, ROOT = text_of("panda"), "panda_link8", "panda_link0"
ROBOT = rne.load_urdf(TEXT)
Q = START["panda"]
TURN = rne.forward_kinematics(ROBOT, Q)[LINK][:3, :3]
WRENCH = np.array([8.0, -5.0, -12.0, 0.4, 0.3, -0.5])


def law_with(**given: Any) -> rne.CartesianImpedance:
    soft = {"stiffness": (100.0,) * 3 + (10.0,) * 3, "friction_compensation": None, "rate": 1000.0, **given}
    return rne.CartesianImpedance(ROBOT, LINK, **soft)


class Pressing(Rig):
    """MuJoCo's Panda under the Cartesian law, a target wrench that is sent every 10 ms, a spring at its link."""

    def __init__(self, **given: Any) -> None:
        rates = given.pop("rates", WrenchRates())
        super().__init__(ROBOT, Q, replace(settings(ROBOT), tracking=law_with(**given), wrench=rates))
        self.simulator = self.arm = ForeignArm(TEXT, Q, self.period, Deviation(friction=0.0))
        self.run(0.3)
        self.place, self.force, self.spring = self.hand, np.zeros(3), 0.0

    @property
    def hand(self) -> np.ndarray:
        return rne.forward_kinematics(ROBOT, self.arm.state.q)[LINK][:3, 3]

    @property
    def in_force(self) -> np.ndarray:
        """Force and moment that the law applies, in axes of the base."""
        rows = self.supervisor.settings.tracking.numbers[3:]
        return rows[0] + scipy.linalg.block_diag(TURN, TURN) @ rows[1]

    def press(self, seconds: float, wrench: np.ndarray | None = WRENCH, frame: str = "") -> str:
        said = ""
        for k in range(round(seconds / self.period)):
            if wrench is not None and k % 10 == 0:
                said = self.supervisor.wrenches.take(wrench, frame, self.now)
            X = rne.forward_kinematics(ROBOT, self.arm.state.q)[LINK]
            speed = (rne.jacobian(ROBOT, self.arm.state.q, LINK) @ self.arm.state.qd)[:3]
            self.force = -self.spring * (X[:3, 3] - self.place) - math.sqrt(self.spring) * speed
            arm = X[:3, 3] - self.arm.data.xipos[-1]  # from the mass centre of MuJoCo's body
            self.run(self.period, wrenches={LINK: np.r_[self.force, np.cross(arm, self.force)]})
        return said


@pytest.mark.parametrize("axes", ["base", "tool"])
def test_the_law_adds_the_torque_of_the_wrench_within_the_limits_of_both_together(axes: str) -> None:
    tool = np.array([0.03, -0.02, 0.1])
    law, aim = law_with(axes=axes, tool=tool), rne.Reference(Q + 0.05, np.zeros(7), np.zeros(7))
    plain = law.law(Q, np.zeros(7), aim).feedback
    J, turn = rne.jacobian(ROBOT, Q, LINK).copy(), scipy.linalg.block_diag(TURN, TURN)
    J[:3] += np.cross(J[3:].T, TURN @ tool).T
    law.apply_wrench(np.array([WRENCH, 2.0 * WRENCH]))
    added = law.law(Q, np.zeros(7), aim).feedback - plain
    np.testing.assert_allclose(added, J.T @ (WRENCH + 2.0 * turn @ WRENCH), atol=1e-9)
    bounded = law_with(axes=axes, tool=tool, force_limit=9.0, moment_limit=0.6, null_space_stiffness=0.0)
    bounded.apply_wrench(np.array([10.0 * WRENCH, np.zeros(6)]))
    torque = bounded.law(Q, np.zeros(7), rne.Reference(Q, np.zeros(7), np.zeros(7))).feedback
    wrench = np.linalg.lstsq(J.T, torque, rcond=None)[0]
    np.testing.assert_allclose(J.T @ wrench, torque, atol=1e-9)
    np.testing.assert_allclose(wrench[:3], 9.0 * WRENCH[:3] / np.linalg.norm(WRENCH[:3]), atol=1e-9)
    assert np.linalg.norm(wrench[3:]) == pytest.approx(0.6)


def test_a_stiff_spring_feels_the_force_within_1_percent() -> None:
    rig = Pressing(stiffness=(25.0,) * 3 + (10.0,) * 3)
    rig.spring = 6000.0
    rig.press(1.5, frame=LINK)
    turned = rne.forward_kinematics(ROBOT, rig.arm.state.q)[LINK][:3, :3]  # by the moment
    wanted = turned @ WRENCH[:3]
    np.testing.assert_allclose(-rig.force, wanted, atol=0.01 * np.linalg.norm(wanted))
    assert rig.supervisor.wrenches.text() == "15.3 N, 0.707 N m"
    rig.press(0.8, wrench=None)
    assert np.linalg.norm(rig.force) < 0.15
    assert rig.supervisor.wrenches.text() == ""
    assert rig.mode is Mode.HOLDING
    rig.check()


def test_it_fades_at_its_rates_and_ends_after_the_time_out() -> None:
    rig = Pressing(rates=WrenchRates(timeout=0.05, force_rate=100.0, moment_rate=10.0))
    assert not rig.in_force.any()
    sizes = []
    for _ in range(40):
        rig.press(0.01)
        sizes.append(np.linalg.norm(rig.in_force.reshape(2, 3), axis=1))
    rates = np.diff(sizes, axis=0) / 0.01
    assert (rates.max(axis=0) <= np.array([100.0, 10.0]) * (1.0 + 1e-6)).all()
    np.testing.assert_allclose(rig.in_force, WRENCH, atol=1e-12)
    rig.press(0.03, wrench=None)
    np.testing.assert_allclose(rig.in_force, WRENCH, atol=1e-12)
    rig.press(0.1, wrench=None)
    assert 0.0 < np.linalg.norm(rig.in_force[:3]) < 0.6 * np.linalg.norm(WRENCH[:3])
    rig.press(0.2, frame=LINK)  # other axes: the one fades, the other comes
    np.testing.assert_allclose(rig.in_force, scipy.linalg.block_diag(TURN, TURN) @ WRENCH, atol=1e-9)
    rig.supervisor.stop(rig.now, "test")
    rig.press(0.2, wrench=None)
    assert not rig.in_force.any()
    rig.check()


@pytest.mark.slow
def test_a_change_of_law_ends_it_without_a_jump() -> None:
    rig = Pressing()
    rig.press(0.5)
    before, plain = rig.supervisor.settings, settings(ROBOT)
    rig.supervisor.adopt(replace(before, tracking=plain.tracking, holding_error=None))
    with pytest.raises(ControlError, match=r"applies no wrench; change to cartesian_impedance"):
        rig.press(0.01)
    for _ in range(20):
        rig.press(0.05, wrench=None)
    steps = np.abs(np.diff(np.array(rig.sent)[350:], axis=0)).max()
    assert steps < 1.0
    rig.supervisor.adopt(before)  # the same object: it has forgotten the wrench
    assert not rig.in_force.any()
    rig.press(0.5)
    np.testing.assert_allclose(rig.in_force, WRENCH, atol=1e-12)


def test_what_is_limited_is_said_and_what_does_not_fit_is_refused() -> None:
    rig = Pressing(force_limit=10.0)
    said = rig.press(0.4, np.array([0.0, 0.0, -50.0, 0.0, 0.0, 1.0]))
    assert said == "its force of 50 N is limited to 10 N (force_limit of the law)"
    np.testing.assert_allclose(rig.in_force, [0.0, 0.0, -10.0, 0.0, 0.0, 1.0], atol=1e-12)
    for wrench, frame, text in (
        (np.full(6, np.nan), "", "not finite"), (WRENCH, "camera", "neither the root link 'panda_link0' nor the law's"),
    ):
        with pytest.raises(ControlError, match=text):
            rig.supervisor.wrenches.take(wrench, frame, rig.now)
    assert rig.supervisor.wrenches.take(np.full(6, 1e300), ROOT, rig.now).startswith("its force of 1.73e+300")
    rig.press(0.3, np.full(6, 1e300))
    assert np.isfinite(rig.in_force).all()
    rig.supervisor.hand_guide(True)
    rig.press(0.3, wrench=None)
    assert not rig.supervisor.wrenches.text()
    with pytest.raises(ControlError, match="the controller is floating"):
        rig.supervisor.wrenches.take(WRENCH, "", rig.now)
    rig.supervisor.hand_guide(False)
    rig.press(0.1, wrench=None)
    assert not rig.in_force.any()
    rig.supervisor.adopt(replace(rig.supervisor.settings, tracking=settings(ROBOT).tracking, holding_error=None))
    with pytest.raises(ControlError, match=r"applies no wrench; change to cartesian_impedance"):
        rig.press(0.01)
    with pytest.raises(ControlError, match=r"target_wrench\.timeout"):
        WrenchRates(timeout=0.0)


def test_in_hand_guiding_none_is_applied_or_reported():
    """Before: the last one was reported as long as a hand led the arm."""
    arm = Pressing()
    arm.press(0.1)
    assert arm.supervisor.wrenches.text()
    arm.supervisor.hand_guide(True)
    arm.run(0.002)
    assert not arm.supervisor.wrenches.text()
    assert not arm.in_force.any()
    arm.supervisor.hand_guide(False)
    arm.run(0.05)
    assert not arm.in_force.any()
