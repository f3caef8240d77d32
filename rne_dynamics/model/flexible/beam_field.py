"""The mode shapes of a beam as a function of place, in the frame of its link."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_shapes import ShapeFunctions, beam_shapes
from rne_dynamics.model.flexible.modal import Attachment
from rne_dynamics.model.flexible.nodal_masses import Motion
from rne_dynamics.model.flexible.ritz import ascending, gauss
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.model.rebuilt import Rebuilt, set_fields


def drawn_in(rotation: Array, line: Array) -> Array:
    """S_kl of `Attachment` for a line (3,) that turns by Σ δ_k θ_k: −½ Σ δ_k δ_l S_kl is ½ θ × (θ × line).

    Shape (points, m, m, 3), for turns θ_k of shape (points, m, 3).
    """
    across = np.einsum("pk,pli->pkli", rotation @ line, rotation)
    square = np.einsum("pki,pli->pkl", rotation, rotation)
    return np.asarray(np.multiply.outer(square, line) - 0.5 * (across + across.transpose(0, 2, 1, 3)))


@dataclass(frozen=True, eq=False)
class BeamField(Rebuilt):
    """Displacement and turn of points of a link whose beam bends and twists.

    Sections stay plane and the same: a point moves as if it sat on a rigid arm fixed to the axis at its own distance
    from the root. What lies before the root does not move, what lies beyond the tip moves with the tip.
    """

    #: The beam.
    beam: Beam
    #: its shapes in bending along y, along z, and in torsion
    shapes: tuple[ShapeFunctions, ShapeFunctions, ShapeFunctions] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_fields(self, shapes=beam_shapes(self.beam))

    @property
    def breaks(self) -> Array:
        """Between these all shapes and properties are smooth, m."""
        return ascending([self.beam.ends, *(shapes.breaks for shapes in self.shapes)])

    def deflection(self, x: Array) -> Motion:
        """The motion of the axis by each mode at distances x in [0, L] from the root, m; shape (points,).

        Turns are w_y' about z, −w_z' about y and θ about x.
        """
        y, z, twist = self.shapes
        m = y.count + z.count + twist.count
        of_y, of_z = slice(0, y.count), slice(y.count, y.count + z.count)
        translation, rotation = np.zeros((2, len(x), m, 3))
        translation[:, of_y, 1], translation[:, of_z, 2] = y.evaluate(x, 0), z.evaluate(x, 0)
        rotation[:, of_y, 2], rotation[:, of_z, 1] = y.evaluate(x, 1), -z.evaluate(x, 1)
        rotation[:, y.count + z.count :, 0] = twist.evaluate(x, 0)
        return Motion(translation, rotation)

    def curvature(self, x: Array) -> Array:
        """Derivative of the turns with respect to x; shape (points, m, 3)."""
        y, z, twist = self.shapes
        out = np.zeros((len(x), y.count + z.count + twist.count, 3))
        out[:, : y.count, 2], out[:, y.count : y.count + z.count, 1] = y.evaluate(x, 2), -z.evaluate(x, 2)
        out[:, y.count + z.count :, 0] = twist.evaluate(x, 1)
        return out

    def at(self, position: Array) -> Attachment:
        """The shapes at a point of the link's frame, m; shape (3,).

        With stiffening, turns count to the second order: those of the axis before the point, and at a point next to the
        axis or beyond the tip that of its section.
        """
        beam = self.beam
        R = beam.rotation
        where = frozen_array(position, (3,), f"flexible link {beam.link!r}: position")
        place = R.T @ (where - beam.origin)
        m = sum(beam.modes)
        if place[0] <= 0.0:
            return Attachment(np.zeros((m, 3)), np.zeros((m, 3)), np.zeros((m, m, 3)))
        eta = min(float(place[0]), beam.length)
        offset = np.array([place[0] - eta, place[1], place[2]])
        found = self.deflection(np.array([eta]))
        rotation = found.rotation[0]
        translation = found.translation[0] + np.cross(rotation, offset)
        shortening = np.zeros((m, m, 3))
        if beam.stiffening:
            breaks = self.breaks
            rule = gauss(np.append(breaks[breaks < eta], eta), max(shapes.points for shapes in self.shapes))
            along = drawn_in(self.deflection(rule.x).rotation, np.array([1.0, 0.0, 0.0]))
            shortening = np.einsum("p,pkli->kli", rule.w, along) + drawn_in(rotation[None], offset)[0]
        return Attachment(translation @ R.T, rotation @ R.T, shortening @ R.T)
