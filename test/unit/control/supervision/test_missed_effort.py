"""What the model misses is found in efforts that were sent; what proves nothing is counted as support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.control.laws import find_law
from rne_dynamics.control.supervision.torques import BELIEVED, FIT_PERIOD, FITTED, MissedEffort

LIMIT = np.array([100.0, 20.0])
SUPPORT = np.array([12.0, -3.0])
RNG = np.random.default_rng(0)


def noted(inertia: np.ndarray, friction: np.ndarray, off: float, factor: float) -> MissedEffort:
    """After efforts of an arm whose inertia and friction are not the model's."""
    missed = MissedEffort(LIMIT)
    for k, (i, f) in enumerate(zip(inertia, friction, strict=True)):
        coriolis, gravity = RNG.normal(size=(2, 2))
        terms = TorqueTerms(i, coriolis, gravity, f, np.zeros(2))
        missed.note(k * FIT_PERIOD, terms, coriolis + gravity + SUPPORT + (1.0 + off) * i + factor * f)
    return missed


def test_without_efforts_it_is_the_model():
    np.testing.assert_array_equal(MissedEffort(LIMIT).fit(), [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])


def test_at_rest_all_of_it_is_support():
    still = np.zeros((FITTED, 2))
    missed = noted(still, still, 0.0, 0.0)
    np.testing.assert_allclose(missed.fit()[0], SUPPORT, rtol=1e-12)
    missed.forget()
    assert not missed.fit()[0].any()


@pytest.mark.parametrize(("off", "factor"), [(0.0, 1.0), (0.4, 0.0), (-0.4, 2.5)])
def test_in_motion_inertia_friction_and_support_are_separated(off, factor):
    inertia, friction = RNG.normal(size=(2, FITTED, 2)) * 0.2 * LIMIT
    support, *factors = noted(inertia, friction, off, factor).fit()
    np.testing.assert_allclose(factors, [2 * [1.0 + off], 2 * [factor]], atol=0.01)
    np.testing.assert_allclose(support / LIMIT, SUPPORT / LIMIT, atol=0.01)


def test_steady_friction_that_cannot_be_separated_is_counted_as_that():
    steady = np.full((FITTED, 2), 0.05) * LIMIT
    support, *_ = noted(np.zeros((FITTED, 2)), steady, 0.0, 0.7).fit()
    np.testing.assert_allclose(support, SUPPORT + 0.7 * steady[0], rtol=1e-9)


def test_what_no_arm_has_is_not_believed():
    inertia, friction = RNG.normal(size=(2, FITTED, 2)) * 0.2 * LIMIT
    (least, _), (most, highest) = BELIEVED[..., 0].tolist()
    np.testing.assert_array_equal(noted(inertia, friction, 5.0, -2.0).fit()[1:], [2 * [1.0 + most], 2 * [0.0]])
    np.testing.assert_array_equal(noted(inertia, friction, -5.0, 9.0).fit()[1:], [2 * [1.0 + least], 2 * [highest]])


@pytest.mark.parametrize(("law", "period"), [("computed_torque", 15), ("joint_impedance", 50)])
def test_an_effort_that_still_grows_is_no_support(law, period):
    """Gravity comes as fast as the effort rate allows, also where each state comes after a gap that was bridged."""
    puma, q = rne.load_urdf("puma560"), np.array([0.1, 0.2, -0.3, 0.1, 0.2, 0.3])
    plain = settings(puma, tracking=find_law(law).law(puma, {}))
    rig = Rig(puma, q, replace(plain, limits=replace(plain.limits, rate=5.0 * puma.effort_limit)))

    def seen(state):  # the first two together, so that this seems to be the usual time
        return state if state["sequence"] <= 2 or state["sequence"] % period == 0 else None

    rig.run(0.5, corrupt=seen, command=False)
    gravity = rne.gravity_torque(puma, q)
    sent = rig.check() * np.sign(gravity)
    assert (np.diff(sent, axis=0) > -1e-9).all()
    np.testing.assert_allclose(sent[-1], np.abs(gravity), atol=1e-6)
