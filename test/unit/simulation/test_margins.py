"""Stability margins against closed forms and against simulations that become unstable just beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain

import rne_dynamics as rne
from rne_dynamics.control.gains import critical_delays
from rne_dynamics.model.assembly import assemble
from rne_dynamics.simulation.mismatch.comparison import stability_margins

ARM = chain(2, rotor=0.5)
AT, T = np.array([0.4, -0.7]), 1e-3


@pytest.mark.parametrize(("p", "i", "d"), [(400.0, 0.0, 40.0), (100.0, 0.0, 4.0), (400.0, 2000.0, 40.0)])
def test_computed_torque_has_the_margins_of_double_integrators(p: float, i: float, d: float) -> None:
    gains = rne.Gains(np.full(2, p), np.full(2, i), np.full(2, d))
    arm = assemble(ARM.tree, gravity=(0.0, 0.0, 0.0))  # a law's gravity comes late, too
    found = stability_margins(rne.ComputedTorque(arm, gains), arm, AT, T)
    assert found.delay == pytest.approx(critical_delays(gains.p, gains.i, gains.d).min() - 0.5 * T, rel=2e-3)
    if i == 0.0:  # (z − 1)² + k T² (p (z + 1) / 2 + d (z − 1) / T) is stable for k d T < 2 (Jury)
        assert found.gain == pytest.approx(2.0 / (d * T), rel=1e-3)


@pytest.mark.parametrize("law", ["pd_gravity", pytest.param("joint_impedance", marks=pytest.mark.slow)])
def test_a_loop_is_stable_just_before_the_margins_and_not_beyond(law: str) -> None:
    made = rne.PdGravity(ARM, rne.Gains(np.array([300.0, 200.0]), d=np.array([12.0, 7.0])))
    if law == "joint_impedance":
        made = rne.JointImpedance(ARM, np.array([300.0, 200.0]), 0.3)
    delay = stability_margins(made, ARM, AT, T).delay
    still = rne.Quintic(AT, AT + 1e-5, 0.1)

    def swing(delay: float) -> float:
        case = rne.Mismatch(delay=round(delay / T) * T)
        log = rne.Rollout(rne.ArmPlant(ARM), made, still, seconds=1.2, mismatch=case).run()
        return float(np.abs(log.error[-300:]).max() / np.abs(log.error[300:600]).max())

    assert swing(0.85 * delay) < 0.9
    assert swing(1.15 * delay) > 1.1


def test_a_loop_that_is_not_stable_has_no_margins() -> None:
    law = rne.ComputedTorque(ARM, rne.Gains.critically_damped(2, 1500.0))
    assert stability_margins(law, ARM, AT, T) == (1.0, 1.0, 0.0)


def test_an_integral_needs_a_least_gain() -> None:
    arm = assemble(ARM.tree, gravity=(0.0, 0.0, 0.0))
    law = rne.DisturbanceObserver(arm, rne.Gains.critically_damped(2, 20.0), bandwidth=8.0)
    # s³ + k (d s² + p s + i) is stable for k d p > i (Hurwitz)
    gains = law.acceleration_gains
    found = stability_margins(law, arm, AT, T).least_gain
    assert found == pytest.approx(gains.i[0] / (gains.d[0] * gains.p[0]), rel=0.02)
    assert stability_margins(rne.ComputedTorque(arm, law.gains), arm, AT, T).least_gain == 0.0
