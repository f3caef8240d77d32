"""Cross-sections against the tables of handbooks and against plain integration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.materials import MATERIALS, Elastic, Section, elastic, rectangle, rod, tube

UNIT = Elastic(density=1.0, E=1.0, G=1.0)


@pytest.mark.parametrize(
    ("ratio", "factor"),  # J / (a b³), Timoshenko and Goodier, Theory of Elasticity, table of section 109
    [(1.0, 0.1406), (1.2, 0.166), (1.5, 0.196), (2.0, 0.229), (2.5, 0.249), (3.0, 0.263), (4.0, 0.281), (5.0, 0.291),
     (10.0, 0.312), (1e4, 0.333)],
)  # fmt: skip
def test_torsion_of_a_rectangle_is_that_of_the_table(ratio: float, factor: float) -> None:
    lying, upright = rectangle(ratio, 1.0, UNIT), rectangle(1.0, ratio, UNIT)
    assert lying.GJ / ratio == pytest.approx(factor, abs=5e-4)
    assert pytest.approx(lying.GJ, rel=1e-15) == upright.GJ


@pytest.mark.parametrize("ratio", [1.0, 1.3, 3.0])
def test_torsion_of_a_rectangle_is_its_series(ratio: float) -> None:
    n = np.arange(1, 4001, 2, dtype=float)
    series = 1 / 3 - 64 / math.pi**5 / ratio * np.sum(np.tanh(n * math.pi * ratio / 2) / n**5)
    assert pytest.approx(ratio * series, rel=1e-12) == rectangle(ratio, 1.0, UNIT).GJ


def test_a_rectangle_is_wide_along_y() -> None:
    found = rectangle(0.03, 0.002, Elastic(density=2700.0, E=70e9, G=26e9))
    assert found.mass_per_length == pytest.approx(2700 * 0.03 * 0.002, rel=1e-15)
    assert found.EI_y == pytest.approx(70e9 * 0.002 * 0.03**3 / 12, rel=1e-15)
    assert found.EI_z == pytest.approx(70e9 * 0.03 * 0.002**3 / 12, rel=1e-15)
    assert (found.spread_y, found.spread_z) == pytest.approx((found.EI_y / 70e9 * 2700, found.EI_z / 70e9 * 2700))


def test_a_tube_is_one_rod_less_another_and_a_thin_one_keeps_its_digits() -> None:
    outer, inner = rod(0.04, UNIT), rod(0.036, UNIT)
    assert np.array(tube(0.04, 0.002, UNIT)) == pytest.approx(np.array(outer) - np.array(inner), rel=1e-12)
    assert tube(0.04, 0.02, UNIT) == pytest.approx(outer, rel=1e-14)
    r, t = 0.02, 1e-12  # thin: A = 2πrt, I = πr³t, J = 2πr³t
    thin = [2 * math.pi * r * t, *[math.pi * r**3 * t] * 2, 2 * math.pi * r**3 * t, *[math.pi * r**3 * t] * 2]
    assert tube(2 * r, t, UNIT) == pytest.approx(Section(*thin), rel=1e-4)
    assert tube(2 * r, t, UNIT)[0] == pytest.approx(2 * math.pi * r * t, rel=1e-9)


def test_a_rod_of_steel() -> None:
    found = rod(0.01, "steel")
    assert found.EI_y == found.EI_z == pytest.approx(210e9 * math.pi / 64 * 1e-8, rel=1e-14)
    assert pytest.approx(210e9 / 2.6 * math.pi / 32 * 1e-8, rel=1e-14) == found.GJ
    assert found.mass_per_length == pytest.approx(7850 * math.pi / 4 * 1e-4, rel=1e-14)


def test_moduli_of_the_table() -> None:
    for name, material in MATERIALS.items():
        if material.young is not None:
            assert 0.3 < elastic(name).G / elastic(name).E < 0.42
    _, _, shear = elastic("brass")
    assert shear == pytest.approx(37e9, rel=2e-3)  # measured apart from E in the handbook
    with pytest.raises(ArgumentError, match=r"named 'steal'; did you mean 'steel'.*or give density, E and G"):
        elastic("steal")
    with pytest.raises(ArgumentError, match="fibre and lay-up"):
        tube(0.04, 0.002, "carbon fibre")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tube(0.04, 0.021, UNIT), "wall is 0.021 m, more than half the outer diameter 0.04 m"),
        (lambda: tube(0.04, 0.0, UNIT), r"tube: wall is 0 \(m\); it must be finite and above 0"),
        (lambda: rod(math.nan, UNIT), r"rod: diameter is nan \(m\)"),
        (lambda: rectangle(0.1, -0.1, UNIT), r"rectangle: height is -0.1 \(m\)"),
        (lambda: rod(0.1, Elastic(1.0, -1.0, 1.0)), "rod: material: E is -1"),
    ],
)
def test_refusals(make, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make()
