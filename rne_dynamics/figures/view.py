"""Direction from which a robot is drawn: along the common axis of a planar one, otherwise from the side and above."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rne_dynamics.figures.skeleton import Skeleton
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind

#: Of the view of a robot that moves in space, degrees.
AZIMUTH, ELEVATION = -58.0, 24.0
#: Largest angle between parallel axes, rad.
PARALLEL = 1e-3


class View(NamedTuple):
    """Parallel projection: `axes` has the rows right, up, and towards the reader, unit vectors in the world."""

    axes: Array
    planar: bool

    def project(self, points: Array) -> Array:
        """Coordinates right, up, and towards the reader, m; the shape of the points, (…, 3)."""
        projected: Array = points @ self.axes.T
        return projected


def view_of(drawn: Skeleton) -> View:
    """The view of a robot whose motion is given; planar if everything moves in parallel planes."""
    normals = [j.axis.reshape(-1, 3) for j in drawn.joints if j.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)]
    sliding = [j.axis.reshape(-1, 3) for j in drawn.joints if j.kind is JointKind.PRISMATIC]
    if normals:
        normal = normals[0][0]
        turn_alike = all(np.abs(np.cross(axes, normal)).max() < PARALLEL for axes in normals)
        in_plane = all(np.abs(axes @ normal).max() < PARALLEL for axes in sliding)
        if turn_alike and in_plane:
            return _along(normal)
    return from_side(AZIMUTH, ELEVATION)


def from_side(azimuth: float, elevation: float) -> View:
    """View of a reader at this azimuth and elevation, degrees; z is up."""
    a, e = math.radians(azimuth), math.radians(elevation)
    towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    return View(np.array([right, np.cross(towards, right), towards]), planar=False)


def _along(normal: Array) -> View:
    """View onto a plane: the base's x points right, or its y if x is the normal."""
    k = int(np.argmax(np.abs(normal)))
    towards = normal * np.sign(normal[k]) * (-1.0 if k == 1 else 1.0)  # in the plane x, z the reader looks along +y
    right = np.array([0.0, 1.0, 0.0]) if k == 0 else np.array([1.0, 0.0, 0.0])
    right = right - (right @ towards) * towards
    right /= np.linalg.norm(right)
    return View(np.array([right, np.cross(towards, right), towards]), planar=True)
