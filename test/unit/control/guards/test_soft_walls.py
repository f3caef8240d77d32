"""The walls and brakes of the effort guard on simulated arms, whose own position limits are hard, inelastic stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import MASS, chain, slider

from rne_dynamics.control.felt_inertia import felt_inertia
from rne_dynamics.control.guards.effort_limiter import EFFORT, EXCESS, RATE, STOP, EffortLimiter
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.errors import ControlError
from rne_dynamics.model.tree import Limits
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

STOPS = Limits(-1.0, 1.0)
MARGIN, FREQUENCY = 0.1, 20.0
CART = EffortLimits([1e4], np.inf, np.inf, -1.0, 1.0, MARGIN, FREQUENCY)


def drive(robot, limits, q, qd, *, seconds=1.0, dt=1e-3, motion=lambda q, qd: 0.0 * q, push=None, stops=True, late=0):
    """An arm with its weight carried, under `motion` and a constant wrench at a link; returns q, qd, efforts, flags.

    The guard sees states that are `late` cycles old. q and qd have one row more than the others: where each effort
    leads to.
    """
    simulator = Simulator(ArmPlant(robot, stops=stops), q, qd, dt=dt, hold_until_command=False)
    limiter = EffortLimiter(limits)
    limiter.start(gravity_torque(robot, simulator.state.q))
    states, efforts, flags = [simulator.state], [], []
    for _ in range(round(seconds / dt)):
        now = states[-1 - min(late, len(states) - 1)]
        limiter.update_inertia(felt_inertia(mass_matrix(robot, now.q)))
        done = limiter.limit(gravity_torque(robot, now.q), motion(now.q, now.qd), now.q, now.qd, dt)
        simulator.command(done.command)
        states.append(simulator.advance(wrenches=push))
        efforts.append(done.command)
        flags.append(done.flags)
    return np.array([s.q for s in states]), np.array([s.qd for s in states]), np.array(efforts), np.array(flags)


def test_other_limits_leave_the_spring_of_a_wall_where_it_rests():
    """Before: it let go with each change of a parameter, and a pushed joint went through the wall in steps."""
    wall = EffortLimiter(CART)
    wall.start(np.zeros(1))
    wall.update_inertia(np.ones(1))

    def pushed_back(place):
        return wall.limit(*np.zeros((2, 1)), np.array([place]), np.zeros(1), 1e-3).command[0]

    assert pushed_back(0.85) == 0.0
    before = pushed_back(0.95)
    wall.change(replace(CART, effort=np.array([2e4])))
    assert pushed_back(0.95) == before < 0.0
    wall.change(replace(CART, margin=np.array([0.2])))  # this wall begins where the joint is
    assert pushed_back(0.95) == 0.0


def test_a_cart_at_the_stopping_speed_uses_the_margin_up_and_no_more():
    q, qd, efforts, flags = drive(slider(), CART, [-0.85], -CART.stopping_speed, dt=2e-4, seconds=0.3, stops=False)
    deepest = np.max(-q) - (1.0 - MARGIN)
    assert 0.98 * MARGIN < deepest < MARGIN
    assert np.max(qd) <= FREQUENCY * MARGIN / np.e * 1.01  # a critically damped return
    assert (efforts >= 0.0).all()
    assert flags.max() == STOP


@pytest.mark.parametrize(("speed", "fraction"), [(0.5, 0.0), (5.0, 0.5)])
def test_a_wall_gives_back_no_more_energy_than_its_spring_has_taken(speed, fraction):
    dt = 1e-3
    begin = 1.0 - MARGIN * (1.0 - fraction) - (0.002 if fraction == 0.0 else 0.0)
    q, qd, efforts, _ = drive(slider(), CART, [begin], [speed], dt=dt, seconds=1.5, stops=False)
    work = np.cumsum(efforts[:, 0] * np.diff(q[:, 0]))  # of a force that is held while the cart moves: exact
    stiffness = MASS * FREQUENCY**2
    rest = np.minimum.accumulate(np.maximum(q[:, 0], 1.0 - MARGIN))  # where the spring rests
    stored = 0.5 * stiffness * np.maximum(q[1:, 0] - rest[1:], 0.0) ** 2
    deepest = (q[:, 0] - rest).max()
    assert (work + stored <= 0.5 * stiffness * deepest * speed * dt).all()  # force is held: half a cycle late
    assert qd[-1, 0] ** 2 < speed**2


def test_a_hand_that_pushes_on_is_held_within_the_margin():
    robot = chain(2, limits=STOPS, rotor=0.5)
    limits = EffortLimits([200.0, 200.0], 20000.0, 5.0, -1.0, 1.0, MARGIN, FREQUENCY)
    push = {"link2": np.array([0.0, 4.0, 0.0, 1.0, 0.0, 2.0])}
    q, qd, efforts, flags = drive(robot, limits, [0.5, 0.5], [1.0, 1.0], seconds=1.5, push=push,
                                  motion=lambda q, qd: -0.2 * qd)  # fmt: skip
    assert (q < 1.0).all()
    assert (q[-1] > 1.0 - MARGIN).all()
    np.testing.assert_allclose(qd[-300:], 0.0, atol=5e-3)
    assert np.abs(np.diff(efforts, axis=0)).max() <= 20000.0 * 1e-3 * (1.0 + 1e-12)
    assert (flags[-1] == STOP).all()


def test_where_the_effort_does_not_suffice_it_brakes_with_all_there_is():
    robot = slider(limits=STOPS)
    weak = replace(CART, effort=[20.0])
    q, qd, efforts, flags = drive(robot, weak, [0.8], [3.0], seconds=0.3)
    unbraked = drive(robot, replace(CART, margin=0.0), [0.8], [3.0], seconds=0.3)
    inside = (q[:-1, 0] > 1.0 - MARGIN * 0.95) & (qd[:-1, 0] > 0.0)
    assert (efforts[inside] == -20.0).all()
    assert (flags[inside] == STOP | EFFORT).all()
    assert q.max() == pytest.approx(1.0)
    assert unbraked[0].max() == pytest.approx(1.0)
    arrives = [float(speeds[np.argmax(places >= 1.0 - 1e-3) - 1, 0]) for places, speeds in ((q, qd), unbraked[:2])]
    # of v² − v₀² = 2 a s the wall takes all but the few steps that the state is old
    assert arrives[0] < np.sqrt(3.0**2 - 2.0 * 20.0 / MASS * 0.9 * MARGIN)
    assert arrives[1] == pytest.approx(3.0)


def test_an_effort_that_always_pushes_out_does_not_get_to_the_limit():
    robot = slider(limits=STOPS)
    q, qd, _, _ = drive(robot, replace(CART, effort=[100.0]), [0.0], [0.0], motion=lambda q, qd: np.array([80.0]))
    assert q.max() < 1.0
    balance = 80.0 / (80.0 / MARGIN + MASS * FREQUENCY**2)  # outwards 80 (1 − p/m), inwards the spring
    np.testing.assert_allclose([q[-1, 0], qd[-1, 0]], [1.0 - MARGIN + balance, 0.0], atol=1e-4)


def test_a_rate_limit_delays_the_wall_and_is_never_exceeded():
    robot = slider(limits=STOPS)
    slow = EffortLimits([500.0], [5000.0], np.inf, -1.0, 1.0, MARGIN, FREQUENCY)
    q, _, efforts, flags = drive(robot, slow, [0.8], [2.0])
    assert q.max() < 1.0
    assert np.abs(np.diff(efforts, axis=0)).max() <= 5.0 * (1.0 + 1e-12)
    assert (flags & RATE).any()


def test_a_late_state_does_not_make_a_wall_throw_back_an_arm_whose_joints_yield():
    robot = load_urdf("panda")
    # of its inertia joint 3 feels a 24th while joint 1 yields
    q = np.array([0.0, 0.3, 0.0, -1.0, 0.0, 1.3, 0.0])
    M = mass_matrix(robot, q)
    assert M[2, 2] * np.linalg.inv(M)[2, 2] > 10.0
    upper = np.full(robot.n, np.inf)
    upper[2] = q[2] + MARGIN + 0.001
    limits = EffortLimits(robot.effort_limit, 100.0 * robot.effort_limit, np.inf, -np.inf, upper, MARGIN, FREQUENCY)
    moved, qd, _, flags = drive(
        robot, limits, q, np.eye(robot.n)[2], seconds=0.4, late=3, stops=False
    )
    assert moved[:, 2].max() < upper[2]
    assert qd[:, 2].min() > -0.4
    assert not (flags[:, 2] & EFFORT).any()


def test_a_matrix_that_is_no_mass_matrix_is_refused():
    for bad in (np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, -1.0])):
        with pytest.raises(ControlError, match="not positive definite"):
            felt_inertia(bad)


def test_overspeed_stays_within_its_tolerance():
    robot = slider()
    limits = EffortLimits([500.0], np.inf, 1.5, -np.inf, np.inf, 0.0, FREQUENCY)
    _, qd, _, _ = drive(robot, limits, [0.0], [0.0], motion=lambda q, qd: np.array([80.0]))
    assert qd.max() < 1.5 * (1.0 + EXCESS)
    excess = 80.0 / (80.0 / (EXCESS * 1.5) + 2.0 * MASS * FREQUENCY)  # what still drives it against the damper
    np.testing.assert_allclose(qd[-1, 0], 1.5 + excess, rtol=1e-9)


@pytest.mark.parametrize("depth", [0.5, 1.5])
def test_an_arm_that_starts_in_a_margin_or_beyond_stays_where_it_is(depth):
    robot = chain(2)  # limits narrower than the arm's own
    start = np.array([1.0 - MARGIN * (1.0 - depth), -1.0 + MARGIN * (1.0 - depth)])
    limits = EffortLimits([200.0, 200.0], 20000.0, 5.0, -1.0, 1.0, MARGIN, FREQUENCY)
    q, _, efforts, flags = drive(robot, limits, start, [0.0, 0.0],
                                 motion=lambda q, qd: 400.0 * (start - q) - 40.0 * qd)  # fmt: skip
    np.testing.assert_allclose(q, np.broadcast_to(start, q.shape), atol=1e-9)
    np.testing.assert_allclose(efforts[0], gravity_torque(robot, start), rtol=1e-12)
    assert not flags[0].any()


def test_it_leaves_its_margin_when_it_is_asked_to():
    robot = chain(2)
    start, goal = np.array([1.05, -0.95]), np.array([0.5, 0.0])
    limits = EffortLimits([200.0, 200.0], 20000.0, 5.0, -1.0, 1.0, MARGIN, FREQUENCY)
    q, *_ = drive(robot, limits, start, [0.0, 0.0], seconds=2.0, motion=lambda q, qd: 8.0 * (goal - q) - 3.0 * qd)
    np.testing.assert_allclose(q[-1], goal, atol=0.02)
    assert q[:, 0].max() <= 1.05 + 1e-9
