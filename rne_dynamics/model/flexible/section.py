"""Cross-sections of slender beams: what tubes, rods and bars of a material weigh and how stiff they are, per length.

The beam runs along x; y and z lie in the section, through its centroid. Second moments of area and torsion constants
are those of any text on the strength of materials (Saint-Venant's torsion; the rectangle by its series).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.materials import Elastic, elastic

#: Σ 1/n⁵ over odd n: (1 − 2⁻⁵) ζ(5).
_ODD_FIFTHS = 31.0 / 32.0 * 1.0369277551433699


class Section(NamedTuple):
    """A cross-section times its material, under the names that `Beam` gives them."""

    #: ρ A, kg/m.
    mass_per_length: float
    #: Bending stiffness for deflections along y and along z, N·m²: E ∫ y² dA and E ∫ z² dA.
    EI_y: float
    EI_z: float
    #: Torsional stiffness, N·m².
    GJ: float
    #: ∫ ρ y² dA and ∫ ρ z² dA, kg·m.
    spread_y: float
    spread_z: float


def tube(outer_diameter: float, wall: float, material: str | Elastic) -> Section:
    """Round tube of an outer diameter and a wall, m, of a material or its density and moduli; `ArgumentError`."""
    _positive("tube", "m", outer_diameter=outer_diameter, wall=wall)
    if wall > 0.5 * outer_diameter:
        raise ArgumentError(
            f"tube: wall is {wall:g} m, more than half the outer diameter {outer_diameter:g} m; give both in m"
        )
    # differences of fourth powers written as products: a thin wall keeps its digits
    R = 0.5 * outer_diameter
    r = R - wall
    area = math.pi * wall * (R + r)
    second = 0.25 * area * (R * R + r * r)
    return _section("tube", area, second, second, 2.0 * second, material)


def rod(diameter: float, material: str | Elastic) -> Section:
    """Round rod of a diameter, m; otherwise as `tube`."""
    _positive("rod", "m", diameter=diameter)
    second = math.pi / 64.0 * diameter**4
    return _section("rod", 0.25 * math.pi * diameter**2, second, second, 2.0 * second, material)


def rectangle(width: float, height: float, material: str | Elastic) -> Section:
    """Full rectangle, along the beam's y and z, m; as for `tube`."""
    _positive("rectangle", "m", width=width, height=height)
    along_y, along_z = height * width**3 / 12.0, width * height**3 / 12.0
    return _section("rectangle", width * height, along_y, along_z, _rectangle_torsion(width, height), material)


def _rectangle_torsion(width: float, height: float) -> float:
    """Saint-Venant's torsion constant of a rectangle, m⁴.

    With a ≥ b, J = a b³ (1/3 − 64/π⁵ b/a Σ tanh(n π a / 2b) / n⁵) over odd n. As tanh u = 1 − 2 / (e²ᵘ + 1), the sum is
    a constant less one whose terms fall by e^(−2πa/b) and more.
    """
    a, b = max(width, height), min(width, height)
    rest = 0.0
    for n in range(1, 16, 2):
        rest += 2.0 / (n**5 * (math.exp(min(n * math.pi * a / b, 700.0)) + 1.0))
    return a * b**3 * (1.0 / 3.0 - 64.0 / math.pi**5 * (b / a) * (_ODD_FIFTHS - rest))


def _section(
    shape: str, area: float, second_y: float, second_z: float, torsion: float, material: str | Elastic
) -> Section:
    stuff = elastic(material) if isinstance(material, str) else material
    _positive(f"{shape}: material", "SI units", density=stuff.density, E=stuff.E, G=stuff.G)
    return Section(
        stuff.density * area, stuff.E * second_y, stuff.E * second_z, stuff.G * torsion,
        stuff.density * second_y, stuff.density * second_z,
    )  # fmt: skip


def _positive(what: str, unit: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ArgumentError(f"{what}: {name} is {value:g} ({unit}); it must be finite and above 0")
