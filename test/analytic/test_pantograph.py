"""The pantograph of document 002: its torques and cut forces in closed form, and the quintic's ends."""

from __future__ import annotations

import numpy as np
import pytest
from analytic.pantograph import Member, Pantograph, assembled_angles, cut_as_the_paper
from support.errors import relative_error

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse, closed_inverse_dynamics

PAPER = cut_as_the_paper()
RNG = np.random.default_rng(2)
#: Both parallelograms well away from lying flat: q₂ and q₂ + q₃ about −90° as the paper has them.
Q = np.array([0.0, -1.3, -0.2]) + RNG.uniform(-0.6, 0.6, (20, 3))
QD, QDD = RNG.normal(size=(2, 20, 3))


def rows(f) -> np.ndarray:
    return np.array([f(*row) for row in zip(Q, QD, QDD, strict=True)])


def test_passive_joints_follow_the_paper() -> None:
    mechanism, _ = PAPER
    expected = np.array([assembled_angles(q) for q in Q])
    assert np.abs(assemble(mechanism, Q) - expected).max() < 1e-12


def test_torques_are_lagrange_closed_form() -> None:
    mechanism, closed_form = PAPER
    assert relative_error(closed_inverse_dynamics(mechanism, Q, QD, QDD), rows(closed_form.efforts)) < 1e-12


def test_paper_equations_8_to_16() -> None:
    mechanism, closed_form = PAPER
    answer = closed_inverse(mechanism, Q, QD, QDD)
    for k, row in enumerate(zip(Q, QD, QDD, strict=True)):
        paper = closed_form.by_the_paper(*row)
        assert answer.torque[k, 1:] == pytest.approx([paper.tau2, paper.tau3], rel=1e-10, abs=1e-10)
        # the loop's force acts on the link that is cut off; the paper's is what that link exerts
        for name, force in (("N", paper.F_N), ("D", paper.F_D)):
            cut = answer.cut_force(name)[k]
            assert -cut[:2] == pytest.approx(force, rel=1e-9, abs=1e-9)
            assert np.abs(cut[2:]).max() < 1e-9  # what a pin in the plane does not block it does not carry
