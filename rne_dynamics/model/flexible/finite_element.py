"""A finite-element model of a beam, clamped at its root: cubic Hermite elements in bending and in torsion.

Section properties are taken as they vary within the elements. The tip carries the beam's `tip_mass` and so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.ritz import gauss, natural_modes
from rne_dynamics.model.inertia import Array

#: Hermite's cubics on ξ in [0, 1] by rising powers: value and slope at the near end, value and slope at the far end.
_HERMITE = np.array([[1.0, 0.0, -3.0, 2.0], [0.0, 1.0, -2.0, 1.0], [0.0, 0.0, 3.0, -2.0], [0.0, 0.0, -1.0, 1.0]])


class Mesh(NamedTuple):
    """Equal elements along a beam; unknowns of a node are its value and its slope times the element's length."""

    #: m.
    length: float
    #: How many.
    elements: int

    @property
    def nodes(self) -> Array:
        """Positions of the nodes, m; shape (elements + 1,)."""
        return np.linspace(0.0, self.length, self.elements + 1)

    def basis(self, x: Array, order: int) -> Array:
        """Shape functions of all unknowns at x, or a derivative of them; shape (len(x), 2 · (elements + 1))."""
        h = self.length / self.elements
        x = np.asarray(x, dtype=np.float64)
        element = np.clip((x / h).astype(np.int64), 0, self.elements - 1)
        polynomials = np.polynomial.polynomial.polyder(_HERMITE.T, order)
        local = np.polynomial.polynomial.polyval(x / h - element, polynomials) / h**order
        full = np.zeros((len(x), 2 * (self.elements + 1)))
        rows = np.arange(len(x))
        for k in range(4):
            full[rows, 2 * element + k] = local[k]
        return full


def energy_roots(beam: Beam, direction: int, breaks: Array, points: int) -> tuple[Array, Array, Array]:
    """Points x along the beam, and factors from shapes there to square roots of its strain and kinetic energy.

    With shapes W of a direction (0, 1, 2: bending along y, along z, torsion), rows √stiffness · W'' (W' in torsion) and
    √inertia · W make ½ |·|² the energies. Shapes are smooth between `breaks`, with so many Gauss points.
    """
    rule = gauss(np.concatenate([breaks, beam.ends]), points)
    stiffness = beam.along(("EI_y", "EI_z", "GJ")[direction], rule.x)
    if direction == 2:
        inertia = beam.along("spread_y", rule.x) + beam.along("spread_z", rule.x)
    else:
        inertia = beam.along("mass_per_length", rule.x)
    return rule.x, np.sqrt(rule.w * stiffness), np.sqrt(rule.w * inertia)


def tip_root(beam: Beam, direction: int, ends: Array) -> Array:
    """Rows that make ½ |·|² the kinetic energy of the tip load, out of shapes W(L) and slopes W'(L), (2, count)."""
    if direction == 2:
        return np.asarray(np.sqrt(beam.tip_inertia[0]) * ends[:1])
    # bending along y turns the tip about z, and the other way round; the mass centre moves by W + offset W'
    about_com = max(beam.tip_inertia[2 - direction] - beam.tip_mass * beam.tip_offset**2, 0.0)
    return np.stack([np.sqrt(beam.tip_mass) * (ends[0] + beam.tip_offset * ends[1]), np.sqrt(about_com) * ends[1]])


def element_modes(beam: Beam, direction: int) -> tuple[Mesh, Array]:
    """The first natural modes of the clamped beam with its tip load, in one direction.

    The mesh, and the modes as columns over all its unknowns; (2 · (elements + 1), modes).
    """
    mesh = Mesh(beam.length, beam.elements)
    held = 1 if direction == 2 else 2
    x, stiffness, inertia = energy_roots(beam, direction, mesh.nodes, 6)
    tip = np.array([beam.length])
    ends = np.vstack([mesh.basis(tip, 0), mesh.basis(tip, 1)])
    strain = stiffness[:, None] * mesh.basis(x, 1 if direction == 2 else 2)
    motion = np.vstack([inertia[:, None] * mesh.basis(x, 0), tip_root(beam, direction, ends)])
    found = natural_modes(strain[:, held:], motion[:, held:])
    columns = np.zeros((strain.shape[1], beam.modes[direction]))
    columns[held:] = found.modes[:, : beam.modes[direction]]
    return mesh, columns
