"""Computed torque with a disturbance observer: what it compensates on MuJoCo's arm, and where it learns nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.compliant import START, text_of
from support.foreign_plant import Deviation, ForeignArm
from support.mechanisms import five_bar

import rne_dynamics as rne
from rne_dynamics.control.control_law import rate_warnings
from rne_dynamics.control.laws import find_law
from rne_dynamics.control.laws.disturbance_observer import BOUND, LIMITED, SETTLING
from rne_dynamics.errors import ControlError

PANDA = rne.load_urdf("panda")
Q, ZERO = START["panda"], np.zeros(7)
HELD = rne.Reference(Q, ZERO, ZERO)
GAINS = rne.Gains.critically_damped(7, 20.0)
PERIOD = 2e-3


def observer(**given):
    return rne.DisturbanceObserver(PANDA, GAINS, **given)


@pytest.mark.parametrize("robot", [PANDA, PANDA.with_shared_code()], ids=["general", "own code"])
def test_small_corrections_are_those_of_computed_torque_with_the_equivalent_gains(robot):
    law = rne.DisturbanceObserver(robot, GAINS, bandwidth=7.0)
    rng = np.random.default_rng(1)
    q, qd, qdd, integral = Q + 1e-3 * rng.normal(size=7), *rng.normal(size=(2, 7)), 1e-4 * rng.normal(size=7)
    aim = rne.Reference(Q, qd + 0.01 * rng.normal(size=7), qdd)
    found = law.law(q, qd, aim, integral)
    p, d = GAINS.p, GAINS.d
    equal = rne.ComputedTorque(robot, rne.Gains(p + 7.0 * d, 7.0 * p, d + 7.0)).law(q, qd, aim, integral)
    np.testing.assert_allclose(found, equal, rtol=1e-9, atol=1e-9)
    plain = rne.DisturbanceObserver(robot, GAINS, bandwidth=0.0)
    np.testing.assert_allclose(plain.law(q, qd, aim), rne.ComputedTorque(robot, GAINS).law(q, qd, aim), atol=1e-9)
    assert law.integrates
    assert not plain.integrates


def followed(law, deviation, weight=0.0):
    """Errors, (rows, n), of a law on MuJoCo's Panda that moves and rests."""
    arm = ForeignArm(text_of("panda"), Q, PERIOD, deviation)
    still = np.zeros((3, 7))
    path = rne.SampledTrajectory(np.array([0.0, 1.0, 2.0]), np.array([Q, Q + 0.4, Q]), still, still)
    integral, errors = ZERO, []
    for _ in range(1600):
        state = arm.state
        aim = path.sample(min(state.t, 2.0))
        effort = law.law(state.q, state.qd, aim, integral).total
        sent = np.clip(effort, -PANDA.effort_limit, PANDA.effort_limit)
        integral = law.next_integral(integral, state.q, aim, PERIOD, sent != effort)
        errors.append(aim.q - state.q)
        arm.command(sent)
        arm.advance(wrenches={"panda_link8": np.array([0.0, 0.0, -9.81 * weight, 0.0, 0.0, 0.0])})
    return np.array(errors)


@pytest.mark.parametrize(
    ("deviation", "weight", "part", "at_rest"),
    [
        (Deviation(), 3.0, 0.35, 0.15), (Deviation(friction=2.0), 0.0, 0.4, 0.4),
    ],
    ids=["3 kg unknown", "friction doubled"],
)
def test_errors_of_the_model_leave_a_part_of_the_error(deviation, weight, part, at_rest):
    plain, better = (
        followed(law, deviation, weight) for law in (rne.ComputedTorque(PANDA, GAINS), observer(bandwidth=8.0))
    )
    rms, less = (np.sqrt((errors**2).mean(axis=0)).max() for errors in (plain, better))
    assert less < part * rms
    assert np.abs(better[-50:]).max() < at_rest * np.abs(plain[-50:]).max()


def test_where_the_model_is_right_it_is_no_worse():
    plain, better = (followed(law, Deviation()) for law in (rne.ComputedTorque(PANDA, GAINS), observer()))
    assert np.abs(better).max() < 1.02 * np.abs(plain).max()


def test_a_held_arm_that_is_pushed_does_not_wind_up():
    law, pushed, free = observer(), Q - 0.2, np.zeros(7, bool)
    moving = HELD._replace(qd=ZERO + 0.1)

    def after(integral, reference, seconds):
        for _ in range(round(seconds / PERIOD)):
            integral = law.next_integral(integral, pushed, reference, PERIOD, free)
        return integral

    np.testing.assert_array_equal(after(ZERO, HELD, 1.0), ZERO)
    np.testing.assert_allclose(after(ZERO, moving, 0.1), 0.02)
    np.testing.assert_allclose(after(ZERO, HELD, 3.0), 0.2 * SETTLING, rtol=0.01)
    law.restart()
    np.testing.assert_array_equal(after(ZERO, HELD, 1.0), ZERO)


def test_a_correction_is_bounded_and_its_integral_only_shrinks_there_or_where_an_effort_is_limited():
    law, rng, integral = observer(bandwidth=30.0, correction=0.2), np.random.default_rng(3), ZERO
    plain = rne.ComputedTorque(PANDA, GAINS)
    np.testing.assert_allclose(law.memory[BOUND], 0.2 * PANDA.effort_limit)
    for _ in range(300):
        q, qd = Q + 0.3 * rng.normal(size=7), rng.normal(size=7)
        aim = rne.Reference(Q, rng.normal(size=7), rng.normal(size=7))
        added = law.law(q, qd, aim, integral).total - plain.law(q, qd, aim).total
        assert (np.abs(added) <= law.memory[BOUND] + 1e-9).all()
        limited = law.memory[LIMITED] > 0.0
        assert limited[np.abs(added) >= law.memory[BOUND] - 1e-9].all()
        saturated = rng.uniform(size=7) < 0.3
        after = law.next_integral(integral, q, aim, PERIOD, saturated)
        stopped = limited | saturated
        assert (after != integral)[~stopped].all()
        assert (np.abs(after) <= np.abs(integral))[stopped].all()
        integral = after


def test_a_joint_whose_disturbance_ends_is_driven_to_its_velocity_limit_at_most():
    """Before: a light wrist reached five of them when the elbow's brake let go that had dragged."""
    law, plain = observer(correction=1.0), rne.ComputedTorque(PANDA, GAINS)
    learned, aim = np.array([0.0, 0.0, 0.0, 9.0, 0.0, 0.0, -9.0]), rne.Reference(Q, ZERO, ZERO)
    added = law.law(Q, ZERO, aim, learned).total - plain.law(Q, ZERO, aim).total
    most = GAINS.d * PANDA.velocity_limit
    wanted = np.clip(law.bandwidth * GAINS.p * learned, -most, most)
    np.testing.assert_allclose(added, rne.mass_matrix(PANDA, Q) @ wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(law.memory[LIMITED] > 0.0, learned != 0.0)


def test_an_arm_without_effort_limits_has_a_bound_by_its_inertia():
    bound = rne.DisturbanceObserver(PANDA.with_effort_limit(np.full(7, np.inf)), GAINS).memory[BOUND]
    np.testing.assert_allclose(bound, 10.0 * np.diag(rne.mass_matrix(PANDA, PANDA.neutral)))


def test_its_rate_is_checked_with_the_equivalent_gains_and_changes_go_on_where_the_former_was():
    assert observer(bandwidth=20.0).lowest_rate > rne.ComputedTorque(PANDA, GAINS).lowest_rate
    with pytest.raises(ControlError, match="gains are not stable"):
        rate_warnings(observer(bandwidth=300.0), 250.0)
    law, other = observer(), observer(bandwidth=3.0)
    law.next_integral(ZERO, Q, HELD._replace(qd=ZERO + 0.1), 0.1)
    other.resume(law)
    np.testing.assert_array_equal(other.memory, law.memory)
    other.restart()
    moving, error = HELD._replace(qd=ZERO + 0.1), Q - 0.1
    for aim, learns in ((moving, False), (HELD, False), (moving, True)):  # a motion that begins at rest
        assert other.next_integral(ZERO, error, aim, 0.1).any() == learns
    again = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(again.law(Q + 0.01, ZERO, HELD), law.law(Q + 0.01, ZERO, HELD))
    tuned = find_law("disturbance_observer").make.tuned(PANDA, 40.0, 0.0, None, Q)
    assert (tuned.gains.p[0], tuned.bandwidth) == (1600.0, 16.0)


def test_what_it_is_not_for_is_refused():
    with pytest.raises(ControlError, match=r"closed loops.*use computed_torque"):
        rne.DisturbanceObserver(five_bar(), rne.Gains.critically_damped(2, 20.0))
    with pytest.raises(ControlError, match="vibrations"):
        find_law("disturbance_observer").check_kind("flexible")
    with pytest.raises(ControlError, match="correction is 2"):
        observer(correction=2.0)
    with pytest.raises(ControlError, match="bandwidth of the disturbance observer is nan"):
        observer(bandwidth=np.nan)
