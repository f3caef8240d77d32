"""Densities of what robots are made of, with where each figure comes from.

Typical values: an alloy varies by a percent or so, a plastic by a few, a printed part by its infill. Weigh the part
where it matters.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from rne_dynamics.errors import ArgumentError, unknown_name


class Material(NamedTuple):
    """Density in kg/m³, and its source."""

    density: float
    source: str


_EUROCODE9 = "EN 1999-1-1, 3.2.5"
_EUROCODE1 = "EN 1991-1-1, table A.4"
_EN10088 = "EN 10088-1, annex E"
_ASM = "ASM Handbook vol. 2"
_CRC = "CRC Handbook of Chemistry and Physics"

MATERIALS = MappingProxyType(
    {
        "aluminium": Material(2700.0, _EUROCODE9),
        "steel": Material(7850.0, f"{_EUROCODE1} (lower value, 77.0 kN/m3, over g)"),
        "stainless_steel": Material(7900.0, f"{_EN10088}, 1.4301"),
        "cast_iron": Material(7240.0, f"{_EUROCODE1} (lower value, 71.0 kN/m3, over g)"),
        "titanium": Material(4430.0, f"{_ASM}, Ti-6Al-4V"),
        "magnesium": Material(1770.0, f"{_ASM}, AZ31"),
        "brass": Material(8500.0, f"{_ASM}, C36000"),
        "copper": Material(8960.0, _CRC),
        "lead": Material(11300.0, _CRC),
        "tungsten": Material(19300.0, _CRC),
        "carbon_fibre": Material(1580.0, "data sheet of Hexcel HexPly 8552 with AS4, cured laminate"),
        "abs": Material(1040.0, "typical of makers' data sheets (ISO 1183)"),
        "pla": Material(1240.0, "data sheet of NatureWorks Ingeo 4043D"),
        "petg": Material(1270.0, "typical of makers' data sheets (ISO 1183)"),
        "nylon": Material(1140.0, "data sheet of DuPont Zytel 101 (PA 66)"),
        "pom": Material(1420.0, "data sheet of DuPont Delrin 500P"),
        "polycarbonate": Material(1200.0, "data sheet of Covestro Makrolon"),
        "acrylic": Material(1190.0, "data sheet of Plexiglas"),
        "peek": Material(1300.0, "data sheet of Victrex 450G"),
        "ptfe": Material(2160.0, "typical of makers' data sheets (ISO 1183)"),
        "water": Material(998.2, f"{_CRC}, 20 degrees C"),
    }
)


def density_of(material: str) -> float:
    """Density of a material of `MATERIALS`, kg/m³; `ArgumentError` with the nearest names for an unknown one."""
    key = {"aluminum": "aluminium"}.get(material.lower(), material.lower().replace("-", "_").replace(" ", "_"))
    try:
        return MATERIALS[key].density
    except KeyError:
        told = unknown_name("material", material, MATERIALS, "the table of densities")
        raise ArgumentError(f"{told}; or give the density in kg/m^3") from None
