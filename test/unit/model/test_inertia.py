from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Inertia


def test_the_parallel_axis_theorem():
    point = Inertia(2.0, np.array([0.0, 0.3, 0.4]))
    assert np.allclose(point.about_origin, 2.0 * np.array([[0.25, 0, 0], [0, 0.16, -0.12], [0, -0.12, 0.09]]))


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
