"""Beams keep their digits: natural modes under any tip against sixty decimal digits, intervals of almost no length."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from support.exact import cos_sin, cosh_sinh, error

from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.euler_bernoulli import Load, modes

#: A bare beam, tips like the beam, and tips so heavy that the beam is almost massless.
LOADS = (Load(), Load(1.0, 0.1, 0.02), Load(1e4), Load(1e10))


def krylov(z: Decimal) -> list[Decimal]:
    (c, s), (C, S) = cos_sin(z), cosh_sinh(z)
    return [(C + c) / 2, (S + s) / 2, (C - c) / 2, (S - s) / 2]


def tip_conditions(b: Decimal, load: Load) -> list[list[Decimal]]:
    """Moment and shear at the tip over the two of Krylov's functions that a clamp allows."""
    K = krylov(b)
    m, S, J = Decimal(load.mass) * b, Decimal(load.moment) * b**2, Decimal(load.inertia) * b**3
    return [
        [K[k - 2] - J * K[k - 1] - S * K[k] for k in (2, 3)],
        [K[(k - 3) % 4] + m * K[k] + S * K[k - 1] for k in (2, 3)],
    ]


def determinant(b: Decimal, load: Load) -> Decimal:
    (p, q), (r, s) = tip_conditions(b, load)
    return p * s - q * r


def root_near(b: float, load: Load) -> Decimal:
    """Newton's method with differences."""
    x, h = Decimal(b), Decimal(10) ** -25
    for _ in range(8):
        at = determinant(x, load)
        x -= at * h / (determinant(x + h, load) - at)
    return x


@pytest.mark.parametrize("load", LOADS, ids=lambda load: f"{load.mass:g}")
def test_roots_and_shapes_keep_their_digits(load):
    xi = np.linspace(0.0, 1.0, 17)
    for mode in modes(8 if load.mass <= 1e4 else 1, "clamped", load):
        b = root_near(mode.b, load)
        assert error([mode.b], np.array([b])) < 3e-16
        first, second = tip_conditions(b, load)[0]
        for order in range(3):
            shape = np.empty(len(xi), dtype=object)
            for i, place in enumerate(xi):
                K = krylov(b * Decimal(float(place)))
                shape[i] = second * K[(2 - order) % 4] - first * K[(3 - order) % 4]
            largest = int(np.argmax([abs(x) for x in shape]))
            found = mode.evaluate(xi, order)
            assert error(found / found[largest], shape / shape[largest]) < 5e-15


def test_stations_that_differ_by_round_off():
    """Properties given at different stations meet at the same places but for round-off, 1e-17 m apart."""
    more = {"modes": (2, 1, 0), "shapes": "polynomial", "stiffening": True}
    whole = modal_link(Beam("l", 0.7, [0.3, 0.1], 2.0, 1.0, 1.0, **more))
    shortest = 1.0
    for stations in range(2, 14):
        beam = Beam("l", 0.7, np.linspace(0.3, 0.1, stations), np.full(11, 2.0), np.full(7, 1.0), 1.0, **more)
        shortest = min(shortest, np.diff(beam.ends).min())
        found = modal_link(beam)
        for name in ("first", "second", "shortening", "stiffness", "hardening"):
            expected = getattr(whole, name)
            assert np.abs(getattr(found, name) - expected).max() < 1e-14 * np.abs(expected).max()
    assert 0.0 < shortest < 1e-15
