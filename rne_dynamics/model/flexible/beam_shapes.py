"""Mode shapes of a beam, all held at its root: w = 0 and w' = 0 in bending, θ = 0 in torsion.

The joint before the link then measures what its encoder sees. That holds for ``pinned`` shapes too: an eigenfunction φ
of the beam on a free hinge, less its own slope at the root, φ(x) − φ'(0) x, differs from φ by a turn of the whole link,
which is the joint's own coordinate. Joint and shapes together span the same motions as joint and eigenfunctions, so
such shapes suit a joint that moves freely, as clamped ones suit a joint held stiffly. Such a hinge holds against
torsion.

Every shape is scaled so that its largest value, met at equal steps along the beam, is 1, positive at the tip: an
amplitude is in metres, or radians for torsion. For ``clamped_free`` and ``polynomial`` shapes it is the deflection of
the tip. (Tip deflection 1 for all would blow up shapes whose tip a heavy load keeps still.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rne_dynamics.model.flexible import euler_bernoulli
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.euler_bernoulli import root_between
from rne_dynamics.model.flexible.finite_element import element_modes
from rne_dynamics.model.inertia import Array

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
    #: (x, order) → derivatives of that order, 0 to 2, at x; shape (points, count).
    function: Callable[[Array, int], Array]
    #: What makes the largest value 1; shape (count,).
    scale: Array

    def evaluate(self, x: Array, order: int) -> Array:
        """Derivatives of some order, 0 to 2, at x in [0, L], m; shape (len(x), count)."""
        return np.asarray(self.function(np.asarray(x, dtype=np.float64), order) * self.scale)


def beam_shapes(beam: Beam) -> tuple[ShapeFunctions, ShapeFunctions, ShapeFunctions]:
    """The beam's shapes in bending along y, along z, and in torsion."""
    return _bending(beam, 0), _bending(beam, 1), _torsion(beam)


def _bending(beam: Beam, plane: int) -> ShapeFunctions:
    count, L = beam.modes[plane], beam.length
    if beam.shapes == "finite_element":
        return _element_shapes(beam, plane)
    if beam.shapes == "polynomial":
        return _scaled(count, L, 1, lambda x, order: _powers(x, L, count, 2, order))
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

    return _scaled(count, L, count + 1, function)


def _torsion(beam: Beam) -> ShapeFunctions:
    count, L = beam.modes[2], beam.length
    if beam.shapes == "finite_element":
        return _element_shapes(beam, 2)
    if beam.shapes == "polynomial":
        return _scaled(count, L, 1, lambda x, order: _powers(x, L, count, 1, order))
    inertia = 0.0
    if beam.shapes != "clamped_free" and count:
        inertia = beam.tip_inertia[0] / (float(beam.spread_y[0] + beam.spread_z[0]) * L)
    b = np.array(torsion_roots(count, inertia)) / L

    def function(x: Array, order: int) -> Array:
        return np.asarray(b**order * np.sin(np.multiply.outer(x, b) + 0.5 * math.pi * order))

    return _scaled(count, L, count + 1, function)


def torsion_roots(count: int, inertia: float) -> list[float]:
    """First roots b of cos b = J b sin b: natural modes sin(b x/L) in torsion, J the tip's inertia over the beam's."""
    if inertia == 0.0:
        return [(k + 0.5) * math.pi for k in range(count)]
    return [
        root_between(lambda b: math.cos(b) - inertia * b * math.sin(b), k * math.pi, (k + 0.5) * math.pi)
        for k in range(count)
    ]


def _powers(x: Array, L: float, count: int, first: int, order: int) -> Array:
    """(x/L)^first, (x/L)^(first+1), …, or their derivatives; shape (points, count)."""
    columns = []
    for power in range(first, first + count):
        if power < order:
            columns.append(np.zeros_like(x))
        else:
            columns.append(math.perm(power, order) * (x / L) ** (power - order) / L**order)
    return np.stack(columns, axis=-1) if columns else np.zeros((len(x), 0))


def _element_shapes(beam: Beam, direction: int) -> ShapeFunctions:
    if not beam.modes[direction]:
        return _scaled(0, beam.length, 1, lambda x, order: np.zeros((len(x), 0)))
    mesh, columns = element_modes(beam, direction)
    return _scaled(
        columns.shape[1], beam.length, mesh.elements, lambda x, order: mesh.basis(x, order) @ columns, points=6
    )


def _scaled(
    count: int, L: float, intervals: int, function: Callable[[Array, int], Array], points: int = 20
) -> ShapeFunctions:
    values = function(np.linspace(0.0, L, _STEPS + 1), 0)
    scale = np.where(values[-1] < 0.0, -1.0, 1.0) / np.abs(values).max(axis=0)
    return ShapeFunctions(count, np.linspace(0.0, L, intervals + 1), points, function, scale)
