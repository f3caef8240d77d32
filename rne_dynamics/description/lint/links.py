"""Checks of mass and inertia of links: valid numbers that a body can have.

Impossible values are errors (a negative mass or moment of inertia). Faults of published robots that leave the dynamics
computable are warnings (triangle inequality, products slightly too large).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rne_dynamics.description.lint.findings import Finding, Reading, error, note, warning
from rne_dynamics.description.lint.joints import lint_origin
from rne_dynamics.description.markup import Element
from rne_dynamics.description.outline import INERTIAL_ELEMENTS, LinkOutline, lint_children
from rne_dynamics.description.strict_numbers import read_number
from rne_dynamics.model.inertia import symmetric
from rne_dynamics.model.principal import principal_moments, triangle_margin

MOMENTS = INERTIAL_ELEMENTS["inertia"]
#: URDFs have about six digits: smaller numbers, relative to the largest principal moment, are round-off.
_ROUND_OFF = 1e-6
#: A principal moment more negative than this part of the largest is an error: wrong signs or units.
_GROSS = 0.5
#: Inertia of a millimetre-sized body of that mass; below its round-off an inertia counts as zero (m²).
_SMALL = 1e-6
_HEAVIEST = 1000.0
#: Mass centres farther from their frame are in wrong units, m.
FARTHEST = 10.0


def lint_link(link: LinkOutline) -> Iterator[Finding]:
    """Yield what is wrong with the <inertial> of one link."""
    inertial = link.element.first("inertial")
    if inertial is None:
        return
    where = f"{link.where} <inertial>"
    yield from lint_children(inertial, where, INERTIAL_ELEMENTS, once=tuple(INERTIAL_ELEMENTS))
    yield from lint_origin(inertial, where)
    yield from _lint_centre(inertial, where)
    mass = yield from _mass(inertial, link.where)
    moments = yield from _moments(inertial, link.where)
    if mass is not None and moments is not None:
        yield from _lint_body(inertial, link.where, mass, moments)


def _lint_centre(inertial: Element, where: str) -> Iterator[Finding]:
    origin = inertial.first("origin")
    words = [] if origin is None else origin.attributes.get("xyz", "").split()
    try:
        distance = math.hypot(*map(float, words))
    except ValueError:
        return  # reported by lint_origin
    if origin is not None and distance > FARTHEST:
        yield warning(
            origin.line, f"{where} <origin>", f"the mass centre is {distance:g} m from the link's frame",
            "convert from millimetres if that is what it is",
        )


def _mass(inertial: Element, where: str) -> Reading[float | None]:
    element = inertial.first("mass")
    where = f"{where} <mass>"
    if element is None or "value" not in element.attributes:
        line = inertial.line if element is None else element.line
        yield error(
            line, where, "the mass is missing; it must be one finite number", 'write <mass value="..."/>, in kg'
        )
        return None
    mass = yield from read_number(element, "value", where)
    if mass is None:
        return None
    if mass < 0.0:
        yield error(element.line, where, f"value is {mass:g} kg; a mass must not be negative", "write the mass in kg")
        return None
    if mass > _HEAVIEST:
        yield warning(
            element.line, where, f"value is {mass:g} kg, heavier than {_HEAVIEST:g} kg",
            "convert from grams if that is what it is, or correct the density the CAD export used",
        )
    return mass


def _moments(inertial: Element, where: str) -> Reading[tuple[float, ...] | None]:
    element = inertial.first("inertia")
    where = f"{where} <inertia>"
    if element is None:
        yield warning(
            inertial.line, where, "is missing: the link counts as a point mass",
            "add <inertia> with the values about the mass centre",
        )
        return None
    values: list[float] = []
    for name in MOMENTS:
        if name not in element.attributes:
            yield error(
                element.line, where, f"{name} is missing; all of {', '.join(MOMENTS)} are needed", f'write {name}="..."'
            )
            continue
        value = yield from read_number(element, name, where)
        if value is not None:
            values.append(value)
    return tuple(values) if len(values) == len(MOMENTS) else None


def _lint_body(inertial: Element, where: str, mass: float, moments: tuple[float, ...]) -> Iterator[Finding]:
    element = inertial.first("inertia") or inertial
    where = f"{where} <inertia>"
    about_axes = {"ixx": moments[0], "iyy": moments[3], "izz": moments[5]}
    principal = principal_moments(symmetric(moments))
    low, middle, high = principal.tolist()
    size = max(abs(low), abs(high))
    tolerance = _ROUND_OFF * max(size, _SMALL * mass)
    shown = f"{low:.4g}, {middle:.4g}, {high:.4g} kg m^2"
    negative = [f"{name} is {value:g}" for name, value in about_axes.items() if value < -tolerance]
    if negative:
        yield error(
            element.line, where, f"{', '.join(negative)}; a moment of inertia must not be negative", "correct its sign"
        )
    elif low < -tolerance:
        gross = low < -_GROSS * high
        make = error if gross else warning
        yield make(
            element.line, where, f"is not positive definite: its principal moments are {shown}"
            + ("" if gross else "; the mass matrix may become indefinite"),
            "correct signs and units of the products ixy, ixz, iyz (URDF's are negative integrals)",
        )
    elif triangle_margin(principal) < -_ROUND_OFF * high - tolerance:
        yield warning(
            element.line, where,
            f"breaks the triangle inequality, which every body obeys: principal moments {shown}, and "
            f"{low:.4g} + {middle:.4g} < {high:.4g}", "export the inertia about the mass centre from CAD again",
        )
    elif mass == 0.0 and size > 0.0:
        yield warning(
            element.line, where, f"the mass is 0, but the largest moment is {high:g}; a body with inertia has mass",
            "write the mass",
        )
    elif mass > 0.0 and size == 0.0:
        yield note(
            element.line, where, f"is zero for a mass of {mass:g} kg: a point mass", "write the inertia if it matters"
        )
    elif mass > 0.01 and 0.0 < high < 1e-8 * mass:
        yield warning(
            element.line, where,
            f"its largest moment is {high:g} kg m^2 for a mass of {mass:g} kg: a body of less than a millimetre",
            "correct its units, or write 0 if a point mass is meant",
        )
