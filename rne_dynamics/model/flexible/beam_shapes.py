"""Mode shapes of a beam, all held at its root: w = 0 and w' = 0 in bending, θ = 0 in torsion.

The joint before the link then measures what its encoder sees. That holds for ``pinned`` shapes too: an eigenfunction φ
of the beam on a free hinge, less its own slope at the root, φ(x) − φ'(0) x, differs from φ by a turn of the whole link,
which is the joint's own coordinate. Joint and shapes together span the same motions as joint and eigenfunctions, so
such shapes suit a joint that moves freely, as clamped ones suit a joint held stiffly. Such a hinge holds against
torsion.

Every shape is scaled so that its largest value, met at equal steps along the beam, is 1, positive at the tip: an
amplitude is in metres, or radians for torsion. For ``clamped_free`` and ``polynomial`` shapes it is the deflection of
the tip. (Tip deflection 1 for all would blow up shapes whose tip a heavy load keeps still.)

Finite elements, clamped at the root, are cubic Hermite ones in bending and in torsion. Section properties are taken as
they vary within the elements. The tip carries the beam's `tip_mass` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rne_dynamics.model.flexible import euler_bernoulli
from rne_dynamics.model.flexible.beam import Beam, gauss, natural_modes
from rne_dynamics.model.flexible.euler_bernoulli import root_between
from rne_dynamics.model.inertia import Array

#: Hermite's cubics on ξ in [0, 1] by rising powers: value and slope at the near end, value and slope at the far end.
_HERMITE = np.array([[1.0, 0.0, -3.0, 2.0], [0.0, 1.0, -2.0, 1.0], [0.0, 0.0, 3.0, -2.0], [0.0, 0.0, -1.0, 1.0]])


def hermite(x: Array, length: float, elements: int, order: int) -> Array:
    """Shape functions of equal elements along a beam at x, or a derivative of them; shape (len(x), unknowns).

    Unknowns of each of the elements + 1 nodes are its value and its slope times the element's length.
    """
    h = length / elements
    element = np.clip((x / h).astype(np.int64), 0, elements - 1)
    polynomials = np.polynomial.polynomial.polyder(_HERMITE.T, order)
    local = np.polynomial.polynomial.polyval(x / h - element, polynomials) / h**order
    full = np.zeros((len(x), 2 * (elements + 1)))
    rows = np.arange(len(x))
    for k in range(4):
        full[rows, 2 * element + k] = local[k]
    return full


#: Steps along a beam at which the largest deflection is looked for.
_STEPS = 256


@dataclass(frozen=True, eq=False)
class ShapeFunctions:
    """Shapes of one direction: deflections along y, along z, or turns about x."""

    #: How many.
    count: int
    #: Between these the shapes are smooth, m; ascending from root to tip.
    breaks: Array
    #: Gauss points in such an interval that integrate products of two shapes to round-off.
    points: int
    #: (x, order) → derivatives of that order, 0 to 2, at x in [0, L], m; shape (len(x), count).
    evaluate: Callable[[Array, int], Array]


def energy_roots(beam: Beam, direction: int, shapes: ShapeFunctions) -> tuple[Array, Array]:
    """Square roots of strain and kinetic energy over the amplitudes of shapes: ½ |·|² is the energy; (rows, count).

    Directions 0, 1, 2: bending along y, along z, torsion. With shapes W the rows are √stiffness · W'' (W' in torsion)
    and √inertia · W at Gauss points, and those of the tip load.
    """
    rule = gauss(np.concatenate([shapes.breaks, beam.ends]), shapes.points)
    stiffness = beam.along(("EI_y", "EI_z", "GJ")[direction], rule.x)
    if direction == 2:
        inertia = beam.along("spread_y", rule.x) + beam.along("spread_z", rule.x)
    else:
        inertia = beam.along("mass_per_length", rule.x)
    strain = np.sqrt(rule.w * stiffness)[:, None] * shapes.evaluate(rule.x, 1 if direction == 2 else 2)
    motion = np.sqrt(rule.w * inertia)[:, None] * shapes.evaluate(rule.x, 0)
    tip = np.array([beam.length])
    return strain, np.vstack([motion, _tip_root(beam, direction, shapes.evaluate(tip, 0), shapes.evaluate(tip, 1))])


def _tip_root(beam: Beam, direction: int, end: Array, slope: Array) -> Array:
    """Rows that make ½ |·|² the kinetic energy of the tip load, out of shapes W(L) and slopes W'(L), (1, count)."""
    if direction == 2:
        return np.asarray(np.sqrt(beam.tip_inertia[0]) * end)
    # bending along y turns the tip about z, and the other way round; the mass centre moves by W + offset W'
    about_com = max(beam.tip_inertia[2 - direction] - beam.tip_mass * beam.tip_offset**2, 0.0)
    return np.vstack([np.sqrt(beam.tip_mass) * (end + beam.tip_offset * slope), np.sqrt(about_com) * slope])


def beam_shapes(beam: Beam) -> tuple[ShapeFunctions, ShapeFunctions, ShapeFunctions]:
    """The beam's shapes in bending along y, along z, and in torsion."""
    return _direction(beam, 0), _direction(beam, 1), _direction(beam, 2)


def _direction(beam: Beam, direction: int) -> ShapeFunctions:
    """Shapes in bending along y, z (0, 1) or in torsion (2)."""
    count, L = beam.modes[direction], beam.length
    if beam.shapes == "finite_element":
        return _element_shapes(beam, direction)
    if beam.shapes == "polynomial":
        return _scaled(count, L, 1, lambda x, order: _powers(x, L, count, 1 if direction == 2 else 2, order))
    return _scaled(count, L, count + 1, _torsion(beam) if direction == 2 else _bending(beam, direction))


def _bending(beam: Beam, plane: int) -> Callable[[Array, int], Array]:
    count, L = beam.modes[plane], beam.length
    root: euler_bernoulli.Root = "hinged" if beam.shapes == "pinned" else "clamped"
    load = euler_bernoulli.Load()
    if beam.shapes != "clamped_free":
        mass = beam.tip_mass / (float(beam.mass_per_length[0]) * L)
        # bending along y turns the tip about z, and the other way round
        inertia = beam.tip_inertia[2 - plane] / (float(beam.mass_per_length[0]) * L**3)
        load = euler_bernoulli.Load(mass, mass * beam.tip_offset / L, inertia)
    found = euler_bernoulli.modes(count, root, load)

    def function(x: Array, order: int) -> Array:
        columns = [mode.evaluate(x / L, order) for mode in found]
        if root == "hinged" and order < 2:
            slopes = [mode.evaluate(np.zeros(1), 1)[0] for mode in found]
            columns = [c - s * (x / L if order == 0 else 1.0) for c, s in zip(columns, slopes, strict=True)]
        return np.stack(columns, axis=-1) / L**order if columns else np.zeros((len(x), 0))

    return function


def _torsion(beam: Beam) -> Callable[[Array, int], Array]:
    count, L, inertia = beam.modes[2], beam.length, 0.0
    if beam.shapes != "clamped_free" and count:
        inertia = beam.tip_inertia[0] / (float(beam.spread_y[0] + beam.spread_z[0]) * L)
    b = np.array(torsion_roots(count, inertia)) / L

    return lambda x, order: np.asarray(b**order * np.sin(np.multiply.outer(x, b) + 0.5 * math.pi * order))


def torsion_roots(count: int, inertia: float) -> list[float]:
    """First roots b of cos b = J b sin b: natural modes sin(b x/L) in torsion, J the tip's inertia over the beam's."""
    return [
        root_between(lambda b: math.cos(b) - inertia * b * math.sin(b), k * math.pi, (k + 1) * math.pi)
        for k in range(count)
    ]


def _powers(x: Array, L: float, count: int, first: int, order: int) -> Array:
    """(x/L)^first, (x/L)^(first+1), …, or their derivatives; shape (points, count)."""
    powers = np.arange(first, first + count)
    factors = np.array([math.perm(power, order) for power in powers.tolist()], dtype=np.float64)  # 0 where they vanish
    return np.asarray(factors * (x[:, None] / L) ** np.maximum(powers - order, 0) / L**order)


def _element_shapes(beam: Beam, direction: int) -> ShapeFunctions:
    """The first natural modes of the clamped beam with its tip load, by finite elements."""
    count = beam.modes[direction]
    if not count:
        return _scaled(0, beam.length, 1, lambda x, order: np.zeros((len(x), 0)))
    L, n, held = beam.length, beam.elements, 1 if direction == 2 else 2
    every = ShapeFunctions(2 * (n + 1), np.linspace(0.0, L, n + 1), 6, lambda x, order: hermite(x, L, n, order))
    strain, motion = energy_roots(beam, direction, every)
    columns = np.zeros((every.count, count))
    columns[held:] = natural_modes(strain[:, held:], motion[:, held:]).modes[:, :count]
    return _scaled(count, L, n, lambda x, order: hermite(x, L, n, order) @ columns, points=6)


def _scaled(
    count: int, L: float, intervals: int, function: Callable[[Array, int], Array], points: int = 20
) -> ShapeFunctions:
    """Shapes in equal intervals, whose largest values are made 1."""
    values = function(np.linspace(0.0, L, _STEPS + 1), 0)
    scale = np.where(values[-1] < 0.0, -1.0, 1.0) / np.abs(values).max(axis=0)
    return ShapeFunctions(
        count, np.linspace(0.0, L, intervals + 1), points, lambda x, order: np.asarray(function(x, order) * scale)
    )
