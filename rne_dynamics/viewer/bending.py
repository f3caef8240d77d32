"""The surface of a flexible link as its modes bend it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array
from rne_dynamics.viewer.meshes import merged

#: Parts into which a link's surface is divided along its longest side: a box has corners at its ends only.
PARTS = 12


class BentSurface:
    """Vertices of a link's mesh as functions of the amplitudes δ.

    `link`: the flexible link; `scene`: its undeformed appearance, in the link's frame. Raises ModelError: a mesh of
    finite elements, whose shapes are not known at every point.
    """

    def __init__(self, link: ModalLink, scene: Any) -> None:
        vertices, triangles = _divided(*merged(scene))
        there = [link.field.at(vertex) for vertex in vertices]
        self.triangles: NDArray[np.int64] = triangles
        self._rest = vertices
        self._shapes = np.array([a.translation for a in there])
        self._shortening = np.array([a.shortening for a in there])

    def vertices(self, delta: Array) -> Array:
        """Vertices in the link's frame at amplitudes `delta`, (modes of the link,); m, shape (vertices, 3)."""
        moved: Array = self._rest + np.einsum("k,vkx->vx", delta, self._shapes)
        moved -= 0.5 * np.einsum("k,l,vklx->vx", delta, delta, self._shortening)
        return moved


def _divided(vertices: Array, triangles: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """The same surface with edges no longer than a `PARTS`-th of its size."""
    from importlib import import_module

    subdivide_to_size: Any = import_module("trimesh.remesh").subdivide_to_size

    longest = float(np.ptp(vertices, axis=0).max()) / PARTS
    fine, faces = subdivide_to_size(vertices, triangles, longest, max_iter=20)
    return np.asarray(fine), np.asarray(faces)
