from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import rotation_about


def test_the_parallel_axis_theorem():
    point = Inertia(2.0, np.array([0.0, 0.3, 0.4]))
    assert np.allclose(point.about_origin, 2.0 * np.array([[0.25, 0, 0], [0, 0.16, -0.12], [0, -0.12, 0.09]]))


def test_two_halves_of_a_rod_are_the_rod():
    def rod(length: float, mass: float, middle: float) -> Inertia:
        J = mass * length**2 / 12.0
        return Inertia(mass, np.array([middle, 0.0, 0.0]), np.diag([0.0, J, J]))

    whole = rod(0.5, 1.0, 0.25) + rod(0.5, 1.0, 0.75)
    assert whole.mass == 2.0
    assert np.allclose(whole.com, [0.5, 0.0, 0.0])
    assert np.allclose(whole.inertia, rod(1.0, 2.0, 0.5).inertia)


def test_moving_there_and_back_changes_nothing():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    body = Inertia(1.3, rng.normal(size=3), A @ A.T)
    R, p = rotation_about([0.0, 0.6, 0.8], 1.1), rng.normal(size=3)
    back = body.moved(R, p).moved(R.T, -R.T @ p)
    assert np.allclose(back.com, body.com, rtol=1e-14, atol=1e-15)
    assert np.allclose(back.inertia, body.inertia, rtol=1e-13, atol=1e-14)


def test_massless_bodies_add_their_inertia():
    rotor = Inertia(0.0, np.zeros(3), np.diag([0.1, 0.1, 0.2]))
    assert np.allclose((rotor + rotor).inertia, np.diag([0.2, 0.2, 0.4]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((-1.0,), "mass is -1.0 kg; it must be finite and not negative"),
        ((float("nan"),), "mass is nan"),
        ((1.0, [0.0, 0.0]), r"com has shape \(2,\)"),
        ((1.0, [0.0, 0.0, float("inf")]), "every number must be finite"),
        ((1.0, [0.0] * 3, [[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "not symmetric"),
    ],
)
def test_bad_numbers_are_refused(arguments, said):
    with pytest.raises(ModelError, match=said):
        Inertia(*arguments)
