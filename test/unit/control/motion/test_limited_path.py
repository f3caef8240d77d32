"""What standard planners send at their own limits is accepted as it is; what is really beyond them is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.planners import PERIOD, Plan, plan, trapezoid
from support.supervised import settings, table
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Rules, accept_table
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limited_path import limited_path
from rne_dynamics.control.motion.limits import POSITION_ALLOWANCE, MotionLimits
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

ROBOTS = ("ur10_robot.urdf", "panda", "puma560")
#: Limits of acceleration that the arms' MoveIt configurations have, rad/s²; of a robot without, random ones.
CONFIGURED = {
    "panda": np.array([3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0]), "ur10_robot.urdf": np.full(6, 5.0),
}
STAMP = 10**18


@dataclass
class Arm:
    """A robot and what its controller checks."""

    robot: RobotModel
    limits: MotionLimits
    demand: EffortDemand

    @classmethod
    def load(cls, name: str) -> Arm:
        robot = rne.load_urdf(wheel_urdf(name) if name.endswith(".urdf") else name)
        given = settings(robot)
        assert given.tracking is not None
        limits = MotionLimits(robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, 0.05)
        return cls(robot, limits, EffortDemand(given.tracking, given.limits, given.compensated))

    def accept(self, sent: Plan, accelerations: bool, away: Array | float = 0.0) -> Accepted:
        """As a node accepts it, with the arm at rest `away` from its first point."""
        n = self.robot.n
        rest = Reference(np.clip(sent.q[0] + away, self.robot.lower, self.robot.upper), np.zeros(n), np.zeros(n))
        points = table(sent.times, sent.q, sent.qd, sent.qdd if accelerations else None)
        rules = Rules(self.limits, 0.3, self.demand)
        return accept_table(points, STAMP, CurrentMotion(STAMP, lambda at: rest), rules)


def check(arm: Arm, sent: Plan, accepted: Accepted) -> None:
    """What is followed goes through the points with their velocities, in one smooth motion within all limits."""
    path, robot = accepted.path, arm.robot
    at = path.base.samples(sent.times[:-1])
    np.testing.assert_allclose(at[:, 0], sent.q[:-1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(at[:, 1], sent.qd[:-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(path.sample(path.duration).q, sent.q[-1])
    even, before = np.linspace(0.0, path.duration, 4000), np.nextafter(path.knots, 0.0)
    times = np.unique(np.concatenate([even, path.knots, before]))
    q, qd, _ = np.moveaxis(path.samples(times), 1, 0)
    assert (np.abs(qd) <= 1.001 * robot.velocity_limit).all()
    assert (q >= robot.lower - POSITION_ALLOWANCE - 2e-9).all()
    assert (q <= robot.upper + POSITION_ALLOWANCE + 2e-9).all()
    # the velocity is the derivative of the position, and neither jumps: Simpson's rule on each piece
    a, b = path.knots[:-1], np.nextafter(path.knots[1:], 0.0)
    ends = [path.samples(t) for t in (a, a + 0.25 * (b - a), 0.5 * (a + b), a + 0.75 * (b - a), b)]
    way = (b - a)[:, None] / 90.0 * sum(w * e[:, 1] for w, e in zip((7, 32, 12, 32, 7), ends, strict=True))
    np.testing.assert_allclose(ends[-1][:, 0] - ends[0][:, 0], way, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ends[-1][:-1, :2], ends[0][1:, :2], rtol=1e-8, atol=1e-8)


def campaign(name: str, count: int, seed: int, away: float = 0.0) -> int:
    """So many plans: all accepted and checked; returns of how many pieces were replaced."""
    arm, rng, replaced = Arm.load(name), np.random.default_rng(seed), 0
    for k in range(count):
        limit = CONFIGURED.get(name)
        if limit is None or rng.random() < 0.5:
            limit = arm.robot.velocity_limit / rng.uniform(0.25, 1.0)
        sent = plan(k, arm.robot.lower, arm.robot.upper, arm.robot.velocity_limit, limit, rng)
        accelerations = bool(rng.random() < 0.75)
        gap = away * rng.uniform(-1.0, 1.0, arm.robot.n)
        try:
            accepted = arm.accept(sent, accelerations, gap)
        except TrajectoryError as error:
            raise AssertionError(f"{name}, seed {seed}, number {k}: {error}") from error
        check(arm, sent, accepted)
        replaced += len(accepted.path.base.knots) > len(sent.times)
    return replaced


@pytest.mark.parametrize("plans", [5, pytest.param(12, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ROBOTS)
def test_what_planners_send_at_their_limits_is_accepted_and_stays_within_them(name, plans):
    assert campaign(name, plans, 1) > plans // 4, "splines swing past a limit in a third of them"


@pytest.mark.soak
@pytest.mark.parametrize("name", ROBOTS)
def test_200_trajectories_of_planners_are_accepted_and_stay_within_the_limits(name):
    assert campaign(name, 200, 2) > 60


@pytest.mark.soak
@pytest.mark.parametrize("name", ROBOTS)
def test_with_the_arm_a_little_away_from_the_first_point_too(name):
    """MoveIt lets an arm be 0.01 rad away from where a trajectory starts."""
    campaign(name, 200, 3, away=0.01)


def test_what_is_really_beyond_a_limit_is_refused_with_joint_and_time():
    """The same plans made for an arm that is 1 % faster, or has 1 % more room."""
    arm, rng, fast, out = Arm.load("puma560"), np.random.default_rng(4), 0, 0
    robot = arm.robot
    for k in range(6):
        sent = plan(k, robot.lower, robot.upper, robot.velocity_limit, robot.velocity_limit / 0.4, rng)
        use = np.abs(sent.qd) / robot.velocity_limit
        if use.max() > 0.999:
            faster = replace(sent, times=sent.times / 1.01, qd=1.01 * sent.qd, qdd=1.01**2 * sent.qdd)
            with pytest.raises(TrajectoryError, match=r"joint '\w+' would move at -?\d.* at \d+\.\d{3} s; allowed is"):
                arm.accept(faster, True)
            fast += 1
        j = int(np.argmax(np.argmax(sent.q, axis=0)))  # the joint that is highest last
        if sent.times[np.argmax(sent.q[:, j])] < 0.7:  # the way onto the trajectory leads past the place
            continue
        beyond = replace(sent, q=sent.q + (robot.upper[j] - sent.q[:, j].max() + 0.01) * (np.arange(robot.n) == j))
        moved = robot.joint_names[j]
        with pytest.raises(TrajectoryError, match=rf"joint '{moved}' would be at -?\d.* at \d+\.\d{{3}} s; allowed is"):
            arm.accept(beyond, True)
        out += 1
    assert fast > 1
    assert out > 1


def one_joint(sent: Array, times: Array, velocity: float, accelerations: bool) -> Array:
    """The path of one joint within a velocity limit, (rows, 3), every 0.1 ms; `sent` is (3, points)."""
    rows = sent[:, :, None]
    trajectory = SampledTrajectory(times, rows[0], rows[1], rows[2] if accelerations else None)
    limits = MotionLimits(("a",), np.full(1, -np.inf), np.full(1, np.inf), np.full(1, velocity), 0.05)
    return limited_path(trajectory.path, limits).samples(np.arange(0.0, times[-1], 1e-4))[:, :, 0]


@pytest.mark.parametrize("accelerations", [True, False])
@pytest.mark.parametrize("offset", np.linspace(0.002, 0.098, 5))
def test_a_trapezoid_is_met_wherever_it_bends_between_two_points(offset, accelerations):
    """The replaced piece stays within the limit and near the planner's own profile, whatever its accelerations were."""
    times = np.append(np.arange(0.0, 1.4, PERIOD), 3.0)
    sent = trapezoid(4.0, 2.0, 2.0 / (0.5 + offset), times)
    found = one_joint(sent, times, 2.0, accelerations)
    fine = np.arange(0.0, 3.0, 1e-4)
    true = trapezoid(4.0, 2.0, 2.0 / (0.5 + offset), fine).T
    inside = fine < 1.3
    assert found[inside, 1].max() <= 2.0 * 1.0005 + 1e-12
    assert np.abs(found[inside, 0] - true[inside, 0]).max() < 6e-4
    assert np.abs(found[inside, 1] - true[inside, 1]).max() < 0.05


@pytest.mark.parametrize(("goal", "upper"), [(0.5, 0.5), (0.9, 1.0)], ids=["within", "too fast"])
def test_a_path_within_the_limits_and_a_request_that_is_too_fast_stay_the_same_object(goal, upper):
    """From rest to rest in a second the spline's peak is 1.875 of the mean: no planner sent 0.9 rad."""
    rest = np.zeros((2, 1))
    path = SampledTrajectory(np.array([0.0, 1.0]), np.array([[0.0], [goal]]), rest, rest).path
    limits = MotionLimits(("a",), np.full(1, -1.0), np.full(1, upper), np.full(1, 1.0), 0.05)
    assert limited_path(path, limits) is path
