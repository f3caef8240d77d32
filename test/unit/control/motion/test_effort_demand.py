"""Efforts that a trajectory asks for: what is refused, and what is accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.mechanisms import four_bar
from support.supervised import Rig, accepted, settings, table

import rne_dynamics as rne
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.motion.acceptance import Accepted, Points
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.takeover import takeover
from rne_dynamics.control.supervision.answer import OVERSPEED
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.robot import RobotModel

ARMS = {name: rne.load_urdf(name) for name in ("panda", "puma560", "planar2")}
PANDA = ARMS["panda"]
START = np.array([0.0, -0.5, 0.0, -1.8, 0.0, 1.5, 0.4])


def random_points(robot: RobotModel, rng: np.random.Generator) -> tuple[np.ndarray, Points]:
    """Points near the velocity limits, reversals among them: positions alone, or with velocities and accelerations."""
    lower, upper = np.maximum(robot.lower, -2.5) + 0.1, np.minimum(robot.upper, 2.5) - 0.1
    gaps, order = rng.uniform(0.1, 0.8, int(rng.integers(2, 7))), int(rng.integers(0, 3))
    times, q, speed = np.append(0.0, np.cumsum(gaps)), [rng.uniform(lower, upper)], np.zeros(robot.n)
    for gap in gaps:
        reverses = rng.random() < 0.4
        fraction, moves = rng.choice([0.1, 0.3, 0.6, 0.99]), rng.random(robot.n) < rng.choice([0.3, 1.0])
        speed = -speed if reverses else fraction * robot.velocity_limit * rng.uniform(-1.0, 1.0, robot.n) * moves
        q.append(np.clip(q[-1] + gap * speed, lower, upper))
    rows = np.array(q)
    qd = np.zeros_like(rows)
    qd[1:-1] = rng.choice([0.0, 0.5]) * (rows[2:] - rows[:-2]) / (times[2:] - times[:-2])[:, None]
    return rows[0], table(times, rows, qd if order else None, np.zeros_like(rows) if order > 1 else None)


def peak(given: Settings, start: np.ndarray, motion: Accepted, period: float) -> float:
    """The largest speed of a healthy arm on the motion, in velocity limits."""
    robot = given.robot
    assert isinstance(robot, RobotModel)
    rig = Rig(robot, start.copy(), given, period=period)
    rig.run(0.2)
    again = replace(motion, start=rig.supervisor.stamp)
    rig.supervisor.follow(again.motion(Tolerances(robot.joint_names)), lambda ending, text: None)
    fastest = 0.0
    for _ in range(round((motion.trajectory.duration + 0.3) / period)):
        rig.run(period)
        fastest = max(fastest, float((np.abs(rig.simulator.state.qd) / robot.velocity_limit).max()))
    assert rig.mode in (Mode.HOLDING, Mode.TRACKING)
    rig.check()
    return fastest


def search(name: str, rate: float, bandwidth: float, count: int, seed: int) -> tuple[int, int]:
    """Random trajectories: the accepted ones followed; how many were accepted, and how many refused."""
    robot, rng, refused, begun = ARMS[name], np.random.default_rng(seed), 0, 0
    given = settings(robot, bandwidth=bandwidth)
    given = replace(given, limits=replace(given.limits, rate=rate * robot.effort_limit))
    while begun < count:
        start, points = random_points(robot, rng)
        try:
            motion = accepted(given, start, points)
        except TrajectoryError:
            refused += 1
            continue
        begun += 1
        fastest = peak(given, start, motion, 0.002)
        assert fastest < OVERSPEED, f"{name}, rate {rate}, bandwidth {bandwidth}, seed {seed}, number {begun}"
    return begun, refused


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ARMS))
def test_a_healthy_arm_does_not_overspeed_on_what_is_accepted(name):
    begun, refused = search(name, 100.0, 20.0, 5, 1)
    assert begun == 5
    assert refused > 0


@pytest.mark.soak
@pytest.mark.parametrize("name", list(ARMS))
@pytest.mark.parametrize(("rate", "bandwidth"), [(100.0, 20.0), (30.0, 20.0), (100.0, 40.0)])
@pytest.mark.parametrize("seed", range(3))
def test_no_random_trajectory_that_is_accepted_makes_a_healthy_arm_overspeed(name, rate, bandwidth, seed):
    search(name, rate, bandwidth, 40, 100 + seed)


def test_a_reversal_between_straight_lines_is_refused_and_with_velocities_accepted():
    given, turn = settings(PANDA), 0.6 * np.array([1.0, -0.5, 0.8, 0.6, -1.0, 0.5, 1.0])
    times, rows = np.array([0.0, 0.5, 1.0]), np.stack([START, START + turn, START])
    with pytest.raises(TrajectoryError, match=r"joint 'panda_joint\d' would need an? .* at 0\.\d+ s; allowed is"):
        accepted(given, START, table(times, rows))
    still = np.zeros_like(rows)
    slower = accepted(given, START, table(1.6 * times, rows, still, still))
    assert not slower.warning


def test_a_corner_at_which_joints_throw_each_other_is_refused():
    """Efforts and rates are within their limits, but joints 1 and 3 turn about nearly the same axis."""
    given = settings(PANDA)
    given = replace(given, limits=replace(given.limits, rate=30.0 * PANDA.effort_limit))
    rows = np.array([[1.2, 0.21, -0.19, -0.68, 0.56, 1.37, -0.24], [1.58, 0.37, 0.43, -1.04, 0.31, 0.84, 0.02],
                     [1.58, 0.37, 0.52, -1.04, -0.14, 0.84, -0.2]])
    with pytest.raises(TrajectoryError, match=r"at 0\.54\d s would throw joint 'panda_joint3' by .* while the efforts"):
        accepted(given, rows[0], table(np.array([0.0, 0.54, 0.84]), rows))


def test_straight_lines_that_are_slow_are_accepted():
    given = settings(PANDA)
    rows = np.stack([START, START + 0.1, START, START + 0.1])
    motion = accepted(given, START, table(np.array([0.0, 1.0, 2.0, 3.0]), rows))
    assert not motion.warning
    assert peak(given, START, motion, 0.002) < 0.3


def test_somewhat_more_than_the_effort_limit_is_accepted_with_a_warning():
    given = settings(PANDA)
    goal, zero = START + np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros((2, 7))

    def asked(duration: float) -> str:
        points = table(np.array([0.0, duration]), np.stack([START, goal]), zero, zero)
        return accepted(given, START, points).warning

    assert asked(1.0) == ""
    assert given.tracking is not None
    times = np.linspace(0.0, 1.0, 200)
    path = SampledTrajectory([0.0, 1.0], [START, goal], zero, zero).samples(times)
    effort = np.abs(rne.inverse_dynamics(PANDA, *(path[:, k] for k in range(3))))[:, 1].max()
    for scale, said in ((1.02, ""), (0.9, "panda_joint2' would need an effort of"), (0.75, None)):
        limit = np.where(np.arange(7) == 1, scale * effort, PANDA.effort_limit)
        given = replace(given, limits=replace(given.limits, effort=limit, rate=100.0 * limit))
        if said is None:
            with pytest.raises(TrajectoryError, match=r"up to 1\.25 times of which is accepted"):
                asked(1.0)
        else:
            assert (said in asked(1.0)) if said else asked(1.0) == ""


def test_what_the_hardware_adds_is_not_asked_for():
    given = settings(PANDA)
    little = np.full(7, 5.0)  # less than gravity
    given = replace(given, limits=replace(given.limits, effort=little, rate=100.0 * little))
    points = table(np.array([0.0, 3.0]), np.stack([START, START + 0.1]), np.zeros((2, 7)), np.zeros((2, 7)))
    with pytest.raises(TrajectoryError, match="would need an effort"):
        accepted(given, START, points)
    assert not accepted(replace(given, compensated=frozenset({"gravity"})), START, points).warning


def test_the_efforts_of_a_mechanism_are_checked():
    mechanism = four_bar()
    n = mechanism.n
    law = ComputedTorque(mechanism, Gains(np.full(n, 400.0), np.zeros(1), np.full(n, 40.0)))
    start, one = np.array(mechanism.posture[mechanism.actuated]), np.ones(n)
    limits = EffortLimits(100.0 * one, 1e5 * one, one, start - one, start + one, 0.0 * one)
    zero = np.zeros((2, n))

    def path(duration: float):
        trajectory = SampledTrajectory([0.0, duration], [start, start + 0.2], zero, zero)
        return takeover(trajectory.path, 0.0, Reference(start, zero[0], zero[0]), 0.1)

    assert EffortDemand(law, limits).check(path(1.0)) == ""
    with pytest.raises(TrajectoryError, match=r"would need an? .*effort"):
        EffortDemand(law, limits).check(path(0.02))


def test_an_acceleration_that_throws_an_arm_of_other_masses_is_refused_and_with_more_time_accepted():
    """Before: a Panda with masses 50 to 150 % reached 1.55 velocity limits in 25 ms, on efforts within their limits."""
    robot = PANDA
    given = settings(robot)
    lots = replace(given.limits, effort=1e5 * np.ones(robot.n), rate=1e8 * np.ones(robot.n))
    way = robot.velocity_limit * np.where(np.arange(robot.n) % 2, -0.006, 0.006)
    start = np.clip(np.zeros(robot.n), robot.lower + 0.3, robot.upper - 0.3)
    for duration, refused in ((0.012, True), (0.8, False)):
        points = table(np.array([0.0, duration]), np.stack([start, start + way]), *np.zeros((2, 2, robot.n)))
        if refused:
            with pytest.raises(TrajectoryError, match=r"if masses are 50 % off, before the feedback reacts"):
                accepted(replace(given, limits=lots), start, points)
        else:
            accepted(given, start, points)


def test_the_noise_of_a_recorded_motion_does_not_count_but_its_motion_does():
    given, rng = settings(PANDA), np.random.default_rng(0)
    t = np.arange(0.0, 2.0, 0.001)
    way = (10.0 - 15.0 * t / 2.0 + 6.0 * (t / 2.0) ** 2) * (t / 2.0) ** 3
    rows = START + 0.6 * way[:, None] + 1e-6 * rng.normal(size=(len(t), 7))
    rows[0] = START
    assert not accepted(given, START, table(t, rows)).warning
    shaken = START + 0.02 * np.sin(60.0 * t)[:, None]  # 1.2 rad/s, 72 rad/s², all of it in steps of the velocity
    shaken[-1] = shaken[-2]
    with pytest.raises(TrajectoryError, match="would need"):
        accepted(given, START, table(t, shaken))
