"""Limits of damping: eigenvalues against simulated loops with delay, smallest inertias against a dense search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import settings as plain_settings
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.felt_inertia import (
    LIGHT,
    checked_damping,
    fastest_decay,
    lowered,
    lowered_everywhere,
    posture_inertia,
)
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_stream import RateWatch
from rne_dynamics.control.supervision.torques import PeriodWatch, Torques
from rne_dynamics.control.thresholds import CALM, LONGEST_GAP, SAFETY
from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.errors import ControlError
from rne_dynamics.model.layout import ROTOR

#: One with more joints than it needs, one with light wrists, one with a sliding joint.
ARMS = ("panda", "kinova.urdf", "scara")
PARAMETER = "damping.{joint}"


def arm(name: str) -> rne.RobotModel:
    return rne.load_urdf(wheel_urdf(name) if name.endswith(".urdf") else name)


def growth(inverse: np.ndarray, damping: np.ndarray, period: float) -> float:
    """Factor by which the speeds of v⁺ = v − T M⁻¹D v⁻ grow over 400 of 800 cycles."""
    dice = np.random.default_rng(1)
    before, now = dice.normal(size=(2, len(damping)))
    sizes = []
    for _ in range(800):
        before, now = now, now - period * inverse @ (damping * before)
        sizes.append(np.abs(now).max())
    return max(sizes[700:]) / max(sizes[300:400])


@pytest.mark.parametrize("name", ["panda", "kinova.urdf"])
def test_the_eigenvalue_separates_decay_from_growth_for_all_joints_together(name: str) -> None:
    robot = arm(name)
    study, damping = posture_inertia(robot), np.linspace(0.2, 1.0, robot.n)
    for inverse in study.inverse[::300]:
        period = 1.0 / fastest_decay(inverse, damping)  # T λ = 1
        assert growth(inverse, damping, 0.98 * period) < 1.0
        assert growth(inverse, damping, 1.02 * period) > 1.0


@pytest.mark.parametrize("name", ARMS)
def test_the_smallest_inertia_is_found_within_a_percent(name: str) -> None:
    robot = arm(name)
    dice = np.random.default_rng(7)
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    least = np.full(robot.n, np.inf)
    best = np.zeros((robot.n, robot.n))
    for step in (1.0, *np.geomspace(0.2, 1e-3, 12)):
        if step == 1.0:
            q = dice.uniform(lower, upper, (20000, robot.n))
        else:
            moved = dice.normal(0.0, step, (300, robot.n, robot.n)) * (upper - lower)
            q = np.clip(best + moved, lower, upper).reshape(-1, robot.n)
        felt = 1.0 / np.diagonal(np.linalg.inv(mass_matrix(robot, q)), axis1=1, axis2=2)
        better = felt.min(axis=0) < least
        best[better] = q[felt.argmin(axis=0)][better]
        least = np.minimum(least, felt.min(axis=0))
    # the reference search may itself end near the minimum
    assert (posture_inertia(robot).felt <= 1.01 * least).all()
    assert (posture_inertia(robot).felt >= 0.98 * least).all()


@pytest.mark.parametrize("name", ARMS)
def test_default_damping_is_calm_in_every_posture(name: str) -> None:
    robot = arm(name)
    chosen = checked_damping(robot, np.full(robot.n, -1.0), 250.0, PARAMETER)
    assert chosen.warnings == ()
    assert (chosen.value > 0.0).all()
    assert (chosen.value <= LIGHT).all()
    dice = np.random.default_rng(3)
    postures = dice.uniform(np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi), (3000, robot.n))
    decay = fastest_decay(np.linalg.inv(mass_matrix(robot, postures)), chosen.value)
    assert decay.max() <= 1.05 * 250.0 / CALM


def test_only_joints_that_take_part_are_lowered() -> None:
    robot = arm("ur10_robot.urdf")
    study = posture_inertia(robot)
    wanted = np.ones(robot.n)
    allowed = lowered_everywhere(study, wanted, 125.0)
    assert allowed[5] < 0.07, "the last wrist joint feels 5e-4 kg m^2"
    assert (allowed[:3] > 0.95).all(), "large joints keep theirs"
    inverse = study.inverse[0]
    assert lowered(inverse, allowed, 125.0) is allowed
    assert fastest_decay(inverse, lowered(inverse, 1e3 * wanted, 125.0)) <= 125.0 * (1 + 1e-9)


def test_rotor_inertia_counts() -> None:
    bare = arm("ur10_robot.urdf")
    parameters = np.array(bare.parameters)
    parameters[:, ROTOR] += 0.1
    parameters.flags.writeable = False
    geared = replace(bare, parameters=parameters)
    assert (checked_damping(geared, np.ones(6), 250.0, PARAMETER).value == 1.0).all()
    with pytest.raises(ControlError):
        checked_damping(bare, np.ones(6), 250.0, PARAMETER)


def test_the_largest_safe_value_of_the_message_is_accepted() -> None:
    robot = arm("kinova.urdf")
    given = np.full(6, -1.0)
    given[5] = 3.0
    with pytest.raises(ControlError) as caught:
        checked_damping(robot, given, 250.0, PARAMETER)
    said = float(str(caught.value).split("at most ")[1].split()[0])
    given[5] = said
    assert checked_damping(robot, given, 250.0, PARAMETER).warnings == ()
    assert said == pytest.approx(125.0 * posture_inertia(robot).felt[5], rel=0.02)


@pytest.mark.parametrize("name", ["panda", "kinova.urdf"])
@pytest.mark.parametrize("rate", [1000.0, 250.0])
def test_walls_and_dampers_of_a_stop_are_stable_in_every_posture(name: str, rate: float) -> None:
    robot = arm(name)
    settings: Settings = plain_settings(robot, assumed_rate=rate)
    torques = Torques(settings)
    reduced = 0
    for q in posture_inertia(robot).postures[::40]:
        inverse = np.linalg.inv(mass_matrix(robot, q))
        walls = 2.0 * settings.limits.stop_frequency * torques.update_inertia(q)
        decay = fastest_decay(inverse, walls)
        assert decay <= (1 + 1e-9) * rate / CALM
        reduced += decay >= (1 - 1e-9) * rate / CALM
        damper = -torques.damped(q, np.ones(robot.n)).feedback
        assert fastest_decay(inverse, damper) <= (1 + 1e-9) * rate / SAFETY
    assert rate > 250.0 or reduced > 0, "at 250 Hz walls of twenty per second are too stiff for some postures"


def test_period_watch_rises_at_once_and_forgets() -> None:
    watch = PeriodWatch(0.004)
    for _ in range(5000):
        watch.add(0.001)
        watch.add(0.0)
    assert watch.longest == pytest.approx(0.001, rel=0.01)
    watch.add(0.02)
    assert watch.longest == 0.02
    watch.add(5.0)
    assert watch.longest == LONGEST_GAP
    for _ in range(3000):
        watch.add(0.001)
    assert watch.longest < 0.002


def test_a_single_gap_is_no_rate() -> None:
    watch = RateWatch(100.0, windows=2)
    slow = [watch.too_slow(0.002 * k + (3.0 if k > 400 else 0.0)) for k in range(2000)]
    assert not any(slow)
    assert any(watch.too_slow(10.0 + 0.05 * k) for k in range(40))
