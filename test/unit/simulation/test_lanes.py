"""Rollouts around an arm's own machine code against the general kernels, singly and several samples at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain, gripper

from rne_dynamics.compiling.processor import processor
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.closed_loop import WIDTH
from rne_dynamics.simulation.rollouts.many import Outcome
from rne_dynamics.simulation.rollouts.rollout import Rollout

pytestmark = pytest.mark.skipif(processor() is None, reason="no machine code here")

LIMITS = Limits(-0.3, 0.3, 3.0, 12.0)
#: With Stribeck's peak.
RUBBING = Friction(0.5, 0.4, 0.3, 0.2, 0.1)
#: A block, and one with fewer samples.
S = WIDTH + 3


def rollout_of(robot, method="rk4", end=0.25, seconds=0.15):
    law = ComputedTorque(robot, Gains.critically_damped(robot.n, 25.0), None)
    move = Quintic(np.zeros(robot.n), np.full(robot.n, end), seconds)
    return Rollout(ArmPlant(robot), law, move, method=method, control_dt=2e-3)


def assert_close(one, other, name):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(np.abs(other).max(), 1e-2), err_msg=name)


@pytest.mark.parametrize(
    ("robot", "end", "method"),
    [
        (chain(3, RUBBING, LIMITS), 0.5, "rk4"),  # sticks, saturates, runs into stops
        (chain(3, Friction(0.5, 6.0, 6.0)), 0.05, "semi_implicit"),  # sticks most of the time
        (chain(2, Friction(500.0, 0.1, 0.1)), 0.2, "rk4"),  # too stiff for Runge–Kutta's method
        (chain(2, Friction(0.0, 0.0, 0.0), Limits(0.0, 0.3, 3.0, 50.0)), -0.2, "semi_implicit"),  # leans on stops
        (gripper(), 0.1, "rk4"),
    ],
    ids=["stops", "sticking", "stiff", "leaning", "mimic"],
)
def test_own_code_moves_as_the_general_kernels(robot, end, method):
    logs = [rollout_of(robot.with_own_code(own), method, end).run() for own in (True, False)]
    for name in ("q", "qd", "effort"):
        assert_close(getattr(logs[0], name), getattr(logs[1], name), name)


def test_samples_do_not_depend_on_those_stepped_with_them():
    robot = chain(3, RUBBING, LIMITS).with_own_code()
    rollout = rollout_of(robot)
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-0.2, 0.2, (S, 3)), np.zeros((S, 3))
    qd[1], qd[4] = 4.0, rng.normal(size=3)  # one meets stops, one slides; the others start from sticking
    q[2, 0] = 0.3  # touches a stop
    samples = rollout.samples(S).with_start(q, qd)
    many = rollout.run_many(samples, threads=1, keep_every=5)
    assert many.done.all()
    for threads in (2, 3):
        again = rollout.run_many(samples, threads=threads)
        np.testing.assert_array_equal(again.q, many.q)
        np.testing.assert_array_equal(again.rms_error, many.rms_error)
    for s in range(S):
        log = rollout.run(q[s], qd[s])
        for name in ("q", "qd", "effort"):
            assert_close(getattr(many, f"kept_{name}")[s], getattr(log, name)[::5], name)


def test_all_samples_in_an_event_at_once():
    robot = chain(2, Friction(0.1, 0.2, 0.2), LIMITS).with_own_code()
    rollout = rollout_of(robot)
    q, qd = np.full((S, 2), 0.29), np.full((S, 2), 3.0)
    many = rollout.run_many(rollout.samples(S).with_start(q, qd))
    log = rollout.run(q[0], qd[0])
    assert 0.2999 < log.q.max() <= 0.3
    for s in range(S):
        assert_close(many.q[s], log.q[-1], "q")
        np.testing.assert_array_equal(many.q[s], many.q[0])


def test_a_sample_that_machine_code_refuses_or_that_fails_leaves_the_others_alone():
    robot = chain(2, Friction(0.1, 0.2, 0.2)).with_own_code()
    rollout = rollout_of(robot)
    plain = rollout.run_many(rollout.samples(S))
    q = np.zeros((S, 2))
    q[3] = 1e9  # an angle too large for the sines of machine code
    q[5] = np.nan
    many = rollout.run_many(rollout.samples(S).with_start(q))
    assert many.outcome[5] == Outcome.REFUSED
    far = replace(rollout, plant=ArmPlant(robot.with_own_code(False))).run_many(rollout.samples(S).with_start(q))
    assert many.outcome[3] == far.outcome[3]
    others = np.delete(np.arange(S), [3, 5])
    np.testing.assert_array_equal(many.q[others], plain.q[others])
