"""The answer in one call is that of the law and the limiter one after the other."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.supervised import settings

import rne_dynamics as rne
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.control_law import Reference, named_terms
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.model_terms import OwnTerms
from rne_dynamics.control.supervision.answer import OVERSPEED
from rne_dynamics.control.supervision.output import Counters, Output
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.errors import ControlError

ROBOT = rne.load_urdf("panda").with_own_code(False)
#: As nodes have it: machine code of its own, for all payloads.
SHARED = ROBOT.with_shared_code()
N = ROBOT.n
STEP = 0.001


def arm(compensated=(), *, integral=3.0, robot=ROBOT):
    """Settings of an arm, everything in force that can be."""
    gains = Gains(np.full(N, 400.0), np.full(N, integral), np.full(N, 40.0))
    law = ComputedTorque(robot, gains, FrictionCompensation(0.8, 0.01))
    return replace(settings(robot), tracking=law, compensated=frozenset(compensated))


def state(rng, speed):
    q = rng.uniform(ROBOT.lower - 0.02, ROBOT.upper + 0.02)  # some beyond their limits
    return q, speed * rng.normal(size=N), Reference(q + 0.02 * rng.normal(size=N), *rng.normal(size=(2, N)))


@pytest.mark.parametrize("robot", [ROBOT, SHARED], ids=["general", "own code"])
@pytest.mark.parametrize("compensated", [(), ("coriolis", "friction")])
@pytest.mark.parametrize("speed", [0.1, 3.0])
def test_both_ways_give_the_same(compensated, speed, robot):
    both = []
    for quick in (False, True):
        given = arm(compensated, robot=robot if quick else ROBOT)
        rng, counters = np.random.default_rng(3), Counters()
        torques, output, seen = Torques(given), Output(given), []
        output.start_from(np.zeros(N), np.zeros(N))
        for k in range(40):
            now = STEP * k
            q, qd, reference = state(rng, speed)
            if k % 7 == 0:
                output.limiter.update_inertia(torques.update_inertia(q))
            feedback = min(k / 20.0, 1.0)
            if quick:
                assert torques.quick is not None
                rows, limited, runaway = output.track(
                    torques, torques.quick, q, qd, reference, feedback, now, counters
                )
                terms = named_terms(rows)
            else:
                terms = torques.tracking(q, qd, reference, feedback)
                limited = output.answer(terms, now, q, qd, counters)
                runaway = bool((np.abs(qd) > OVERSPEED * given.limits.velocity).any())
            torques.integrate(STEP, 0.0, limited)
            seen.append((*terms, limited.command, limited.flags.copy(), limited.any, runaway, torques.integral.copy()))
        both.append((seen, counters, output.clamp_text()))
    (plain, *of_plain), (one_call, *of_one_call) = both
    assert of_plain == of_one_call, "counters, and the report of what was clamped last"
    for expected, found in zip(plain, one_call, strict=True):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-10)
    assert any(row[-3] for row in plain), "some were limited"
    assert any(row[-2] for row in plain) is (speed > 1.0)


@pytest.mark.parametrize("robot", [ROBOT, SHARED], ids=["general", "own code"])
def test_what_is_not_finite_is_refused_and_changes_nothing(robot):
    given = arm(integral=0.0, robot=robot)
    torques, output, counters = Torques(given), Output(given), Counters()
    output.start_from(np.zeros(N), np.zeros(N))
    rng = np.random.default_rng(1)
    q, qd, reference = state(rng, 0.1)
    assert torques.quick is not None
    before = output.track(torques, torques.quick, q, qd, reference, 1.0, STEP, counters)[1].command.copy()
    for what, value in itertools.product(range(5), (np.nan, 1e200)):
        bad = [q.copy(), qd.copy(), *(x.copy() for x in reference)]
        bad[what][3] = value
        with pytest.raises(ControlError, match="must be finite, so no effort was passed on"):
            output.track(torques, torques.quick, bad[0], bad[1], Reference(*bad[2:]), 1.0, 2 * STEP, counters)
        np.testing.assert_array_equal(output.limiter.last, before)


def test_the_law_without_limits_is_that_of_the_general_kernels():
    """As in dead reckoning, and on a moving base."""
    rng = np.random.default_rng(5)
    general, own = arm().tracking, arm(robot=SHARED).tracking
    assert not isinstance(general.model, OwnTerms)
    assert isinstance(own.model, OwnTerms) == COMPILED
    for base in (None, rne.BaseMotion(angular_velocity=(0.3, -0.2, 0.5), linear_acceleration=(1.0, 2.0, -0.5))):
        q, qd, reference = state(rng, 1.0)
        expected = general.law(q, qd, reference, 0.1 * q, base_motion=base)
        for a, b in zip(expected, own.law(q, qd, reference, 0.1 * q, base_motion=base), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-10)


def test_another_payload_is_in_force_with_the_next_effort_and_makes_no_new_code():
    """A controller takes it while it drives the arm: nothing may be compiled or loaded then."""
    torques = Torques(arm(robot=SHARED))
    payload = rne.Payload(SHARED.link_names[-1], 1.5, (0.02, -0.01, 0.1), 0.01 * np.eye(3))
    q, qd, reference = state(np.random.default_rng(7), 0.5)

    def everything(torques):
        """All that a controller computes with a model while it is active."""
        torques.update_inertia(q)
        terms = torques.tracking(q, qd, reference, 1.0)
        return [*terms, torques.damped(q, qd).total, torques.gravity(q), torques.explaining(q, qd, qd), torques.held]

    everything(torques)
    made = len(specialised._shared)
    # as they come to the loop's process
    torques.adopt(pickle.loads(pickle.dumps(arm(("coriolis",), robot=SHARED.with_payload(payload)))))
    found = everything(torques)
    assert len(specialised._shared) == made
    general = arm(("coriolis",), robot=ROBOT.with_payload(payload))
    for a, b in zip(everything(Torques(general)), found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-10)


def test_a_reference_in_rows_is_the_same_reference_also_after_a_pickle():
    """What a motion gives goes to the kernel without a copy; a pickle makes three arrays of it."""
    torques, output = Torques(arm()), Output(arm())
    q, qd, reference = state(np.random.default_rng(4), 0.5)
    rows = Reference(*np.array(reference))
    assert torques.quick is not None
    answers = []
    for given in (reference, rows, pickle.loads(pickle.dumps(rows)), rows):
        output.start_from(np.zeros(N), np.zeros(N))
        answers.append(output.track(torques, torques.quick, q, qd, given, 1.0, 0.0, Counters())[0][:-1])
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])


def test_limits_hold_for_the_measured_state_and_the_law_for_the_expected_one():
    given = arm()
    torques, output, counters = Torques(given), Output(given), Counters()
    q, qd, reference = state(np.random.default_rng(1), 0.1)
    expected = np.clip(q, ROBOT.lower, ROBOT.upper) + 0.01, qd + 0.1
    assert torques.quick is not None
    answers = {}
    for name, at, law in (("plain", expected, None), ("both", (q, qd), expected), ("fast", (q, 9.0 + qd), expected)):
        output.start_from(np.zeros(N), np.zeros(N))
        answers[name] = output.track(torques, torques.quick, *at, reference, 1.0, 0.0, counters, law)
    for one, other in zip(*(named_terms(answers[name][0]) for name in ("plain", "both")), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not answers["both"][2]
    assert answers["fast"][2]
