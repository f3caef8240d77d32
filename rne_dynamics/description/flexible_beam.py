"""Distributed mass and stiffness of a flexible link's beam: from its section, or as the model file gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.description.findings import Reading, error
from rne_dynamics.description.model_parts import Values
from rne_dynamics.description.model_schema import SECTIONS
from rne_dynamics.description.schema_scalars import Marked
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.flexible.section import Section
from rne_dynamics.model.materials import Elastic

_PER_LENGTH = ("mass_per_length", "EI", "GJ", "polar")


def distributed_properties(given: Values, line: int, where: str) -> Reading[dict[str, tuple[float, ...]] | None]:
    """Yield what is wrong; return the properties by the names of `Beam`, with one value or one at each station."""
    direct = [key for key in _PER_LENGTH if key in given]
    if "section" in given:
        if direct:
            message = f"section and {direct[0]} are both given; only one may describe the beam"
            yield error(given[direct[0]].line, where, message, f"delete {direct[0]}, or section")
            return None
        section = yield from _section(given["section"], f"{where} section")
        return None if section is None else {name: (value,) for name, value in section._asdict().items()}
    if "mass_per_length" not in given:
        message = "neither section nor mass_per_length is given"
        yield error(line, where, message, "write for example `section: {kind: tube, ...}`")
        return None
    along: dict[str, tuple[float, ...]] = {"mass_per_length": given["mass_per_length"].value}
    EI = _by_plane(given, "EI")
    along |= {f"EI_{plane}": values for plane, values in EI.items()}
    if "GJ" in given:
        along["GJ"] = given["GJ"].value
    polar = _by_plane(given, "polar")
    if "polar" in given and not isinstance(given["polar"].value, dict):
        # in a section of one material ∫ ρ y² dA is proportional to E ∫ y² dA
        y, z = (float(np.mean(EI.get(plane, (0.0,)))) for plane in ("y", "z"))
        part = y / (y + z) if y > 0.0 and z > 0.0 else 0.5
        polar = {
            plane: tuple(share * value for value in polar["y"]) for plane, share in (("y", part), ("z", 1.0 - part))
        }
    along |= {f"spread_{plane}": values for plane, values in polar.items()}
    return along


def _by_plane(given: Values, key: str) -> dict[str, tuple[float, ...]]:
    if key not in given:
        return {}
    value = given[key].value
    if isinstance(value, dict):
        return {plane: marked.value for plane, marked in value.items()}
    return {"y": value, "z": value}


def _section(entry: Marked, where: str) -> Reading[Section | None]:
    given: dict[str, Marked] = entry.value
    kind = given["kind"].value
    make, lengths = SECTIONS[kind]
    wrong = [key for key in given if key not in ("kind", "material", *lengths)]
    missing = [key for key in lengths if key not in given]
    if wrong:
        message = f"a {kind} has no {wrong[0]}; it has {' and '.join(lengths)}"
        yield error(given[wrong[0]].line, where, message, "delete it, or correct kind")
    if missing:
        message = f"{missing[0]} is missing: a {kind} has {' and '.join(lengths)}, m"
        yield error(entry.line, where, message, f"write `{missing[0]}: ...`")
    if wrong or missing:
        return None
    material: Any = given["material"].value
    if isinstance(material, dict):
        material = Elastic(*(material[key].value for key in ("density", "E", "G")))
    try:
        return make(*(given[key].value for key in lengths), material)
    except RneDynamicsError as fault:
        yield error(entry.line, where, *message_and_fix(str(fault), "correct it (m, kg/m^3, Pa)"))
        return None


def message_and_fix(text: str, otherwise: str) -> tuple[str, str]:
    """Split an error message at its last semicolon, which the fix follows."""
    message, found, fix = text.rpartition("; ")
    return (message, fix) if found else (text, otherwise)
