"""How far the shapes of links reach, for checks of inertias."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rne_dynamics.errors import DescriptionError
from rne_dynamics.model.inertia import Array
from rne_dynamics.viewer.meshes import add_shape, load_trimesh, merged
from rne_dynamics.viewer.visuals import Visual


def farthest(shapes: Iterable[Visual], origin: str, point: Array) -> float | None:
    """Largest distance of the shapes' surfaces from a point, m; None where a mesh is missing or empty.

    Parameters
    ----------
    shapes
        Of one link.
    origin
        Path of the URDF, see `mesh_path`.
    point
        In the link's frame, m.

    Raises
    ------
    MissingDependencyError
        trimesh is not installed.
    """
    trimesh = load_trimesh()
    scene = trimesh.Scene()
    try:
        for shape in shapes:
            add_shape(trimesh, scene, shape, origin)
    except DescriptionError:
        return None
    corners, _ = merged(scene)
    if not len(corners):
        return None  # an empty mesh
    return float(np.linalg.norm(corners - point, axis=1).max())
