"""The mode shapes of a beam as a function of place, in the frame of its link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_shapes import ShapeFunctions, beam_shapes
from rne_dynamics.model.flexible.modal import Attachment
from rne_dynamics.model.flexible.ritz import gauss
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.model.rebuilt import Rebuilt


class Deflection(NamedTuple):
    """What all modes do to the beam's axis, along the beam's own axes x, y, z; shapes (points, m, 3).

    Parameters
    ----------
    translation
        Displacement per unit of amplitude.
    rotation
        Turn: w_y' about z, −w_z' about y, θ about x.
    slope
        Derivative of the displacement with respect to x.
    """

    translation: Array
    rotation: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class BeamField(Rebuilt):
    """Displacement and turn of points of a link whose beam bends and twists.

    Sections stay plane and the same: a point moves as if it sat on a rigid arm fixed to the axis at its own distance
    from the root. What lies before the root does not move, what lies beyond the tip moves with the tip.

    Parameters
    ----------
    beam
        The beam.
    """

    beam: Beam
    #: its shapes in bending along y, along z, and in torsion
    shapes: tuple[ShapeFunctions, ShapeFunctions, ShapeFunctions] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", beam_shapes(self.beam))

    @property
    def breaks(self) -> Array:
        """Between these all shapes and properties are smooth, m."""
        return np.unique(np.concatenate([self.beam.ends, *(shapes.breaks for shapes in self.shapes)]))

    def deflection(self, x: Array) -> Deflection:
        """The deflection of the axis at distances x in [0, L] from the root, m; shape (points,)."""
        y, z, twist = self.shapes
        m = y.count + z.count + twist.count
        of_y, of_z = slice(0, y.count), slice(y.count, y.count + z.count)
        translation, rotation, slope = (np.zeros((len(x), m, 3)) for _ in range(3))
        translation[:, of_y, 1], translation[:, of_z, 2] = y.evaluate(x, 0), z.evaluate(x, 0)
        slope[:, of_y, 1], slope[:, of_z, 2] = y.evaluate(x, 1), z.evaluate(x, 1)
        rotation[:, :, 1], rotation[:, :, 2] = -slope[:, :, 2], slope[:, :, 1]
        rotation[:, y.count + z.count :, 0] = twist.evaluate(x, 0)
        return Deflection(translation, rotation, slope)

    def at(self, position: Array) -> Attachment:
        """The shapes at a point of the link's frame, m; shape (3,).

        With stiffening, a point beside the axis or beyond the tip also counts the second order of the bent axis' turn,
        ½ θ × (θ × offset), as a longer beam would.
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
            slope = self.deflection(rule.x).slope
            shortening[:, :, 0] = np.einsum("p,pki,pli->kl", rule.w, slope, slope)
            bent = rotation * [0.0, 1.0, 1.0]
            across = np.multiply.outer(bent @ offset, bent)
            shortening += np.multiply.outer(bent @ bent.T, offset) - 0.5 * (across + across.transpose(1, 0, 2))
        return Attachment(translation @ R.T, rotation @ R.T, shortening @ R.T)
