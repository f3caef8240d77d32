"""Densities and elastic moduli of materials of robots, with sources; cross-sections of slender beams.

Typical values: an alloy's density varies by a percent or so, a plastic's by a few, a printed part's by its infill.
Weigh the part where it matters. Moduli vary more: alloys by some percent, plastics by 10 % and more with
temperature, moisture and the speed of loading, and a printed part is softer across its layers. Bend the part where it
matters.

Cross-sections say what tubes, rods and bars of a material weigh and how stiff they are, per length. The beam runs along
x; y and z lie in the section, through its centroid. Second moments of area and torsion constants are those of any text
on the strength of materials (Saint-Venant's torsion; the rectangle by its series).
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import NamedTuple

from rne_dynamics.errors import ArgumentError, unknown_name


class Material(NamedTuple):
    """Density, kg/m³; Young's modulus, Pa, and Poisson's ratio where the material has one of each; their sources."""

    density: float
    source: str
    young: float | None = None
    poisson: float | None = None
    elastic_source: str = ""


class Elastic(NamedTuple):
    """An isotropic elastic material: density, kg/m³; Young's modulus E and shear modulus G, Pa."""

    density: float
    E: float
    G: float


_EUROCODE9 = "EN 1999-1-1, 3.2.5"
_EUROCODE1 = "EN 1991-1-1, table A.4"
_EN10088 = "EN 10088-1, annex E"
_ASM = "ASM Handbook vol. 2"
_CRC = "CRC Handbook of Chemistry and Physics"
_KAYE = "Kaye and Laby, Tables of Physical and Chemical Constants, 2.2.2"
_SHEETS = "typical of makers' data sheets (ISO 1183)"
_STIFF = "tensile modulus typical of makers' data sheets (ISO 527), dry, 23 degrees C; Poisson's ratio of its kind"

# fmt: off
MATERIALS = MappingProxyType(
    {
        "aluminium": Material(2700.0, _EUROCODE9, 70e9, 0.3, _EUROCODE9),
        "steel": Material(
            7850.0, f"{_EUROCODE1} (lower value, 77.0 kN/m3, over g)", 210e9, 0.3, "EN 1993-1-1, 3.2.6"
        ),
        "stainless_steel": Material(
            7900.0, f"{_EN10088}, 1.4301", 200e9, 0.3, f"{_EN10088}, 1.4301; EN 1993-1-4, 2.1.3"
        ),
        "cast_iron": Material(
            7240.0, f"{_EUROCODE1} (lower value, 71.0 kN/m3, over g)",
            110e9, 0.26, "EN 1561, annex A, EN-GJL-250 (within 103 to 118 GPa)",
        ),
        "titanium": Material(4430.0, f"{_ASM}, Ti-6Al-4V", 113.8e9, 0.342, f"{_ASM}, Ti-6Al-4V"),
        "magnesium": Material(1770.0, f"{_ASM}, AZ31", 45e9, 0.35, f"{_ASM}, AZ31"),
        "brass": Material(8500.0, f"{_ASM}, C36000", 97e9, 0.31, f"{_ASM}, C36000 (shear modulus 37 GPa)"),
        "copper": Material(8960.0, _CRC, 129.8e9, 0.343, _KAYE),
        "lead": Material(11300.0, _CRC, 16.1e9, 0.44, _KAYE),
        "tungsten": Material(19300.0, _CRC, 411e9, 0.28, _KAYE),
        "carbon_fibre": Material(1580.0, "data sheet of Hexcel HexPly 8552 with AS4, cured laminate"),
        "abs": Material(1040.0, _SHEETS, 2.2e9, 0.35, _STIFF),
        "pla": Material(
            1240.0, "data sheet of NatureWorks Ingeo 4043D",
            3.6e9, 0.36, "data sheet of NatureWorks Ingeo 4043D (ASTM D882); Poisson's ratio of its kind",
        ),
        "petg": Material(1270.0, _SHEETS, 2.1e9, 0.38, _STIFF),
        "nylon": Material(
            1140.0, "data sheet of DuPont Zytel 101 (PA 66)", 3.1e9, 0.39, f"{_STIFF}; half as stiff in humid air"
        ),
        "pom": Material(1420.0, "data sheet of DuPont Delrin 500P", 3.1e9, 0.37, _STIFF),
        "polycarbonate": Material(1200.0, "data sheet of Covestro Makrolon", 2.4e9, 0.38, _STIFF),
        "acrylic": Material(1190.0, "data sheet of Plexiglas", 3.3e9, 0.37, _STIFF),
        "peek": Material(1300.0, "data sheet of Victrex 450G", 4.0e9, 0.4, _STIFF),
        "ptfe": Material(2160.0, _SHEETS, 0.5e9, 0.46, _STIFF),
        "water": Material(998.2, f"{_CRC}, 20 degrees C"),
    }
)
# fmt: on
#: Why a material of the table has no modulus that holds for every part.
_NO_MODULUS = MappingProxyType(
    {
        "carbon_fibre": "its stiffness depends on fibre and lay-up (along a tube's axis about 40 to 150 GPa)",
        "water": "it is a liquid",
    }
)


def density_of(material: str) -> float:
    """Density of a material of `MATERIALS`, kg/m³; `ArgumentError` with the nearest names for an unknown one."""
    return MATERIALS[_key(material, "give the density in kg/m^3")].density


def elastic(material: str) -> Elastic:
    """Density and moduli of a material of `MATERIALS`, with G = E / (2 (1 + ν)) as for any isotropic one.

    Raises ArgumentError: an unknown name, with the nearest known ones, or a material without a modulus of its own.
    """
    key = _key(material, "give density, E and G")
    found = MATERIALS[key]
    if found.young is None or found.poisson is None:
        raise ArgumentError(
            f"material {material!r} has no modulus in the table: {_NO_MODULUS[key]}; give E and G in Pa "
            "(or the stiffnesses EI_y, EI_z, GJ in N m^2), measured or from its maker"
        )
    return Elastic(found.density, found.young, found.young / (2.0 * (1.0 + found.poisson)))


def _key(material: str, otherwise: str) -> str:
    key = {"aluminum": "aluminium"}.get(material.lower(), material.lower().replace("-", "_").replace(" ", "_"))
    if key not in MATERIALS:
        unknown_material = unknown_name("material", material, MATERIALS, "the table of materials")
        raise ArgumentError(f"{unknown_material}; or {otherwise}")
    return key


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
    rest = sum(2.0 / (n**5 * (math.exp(min(n * math.pi * a / b, 700.0)) + 1.0)) for n in range(1, 16, 2))
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
