"""URDFs with joint axes close to coordinate axes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

#: Tilts of an axis from ±x, ±y, ±z, rad.
TILTS = (1e-1, 1e-3, 1e-4, 1e-5, 2e-6, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-15)


def tilted_axis(rng: np.random.Generator) -> np.ndarray:
    """An axis at one of `TILTS` from one of ±x, ±y, ±z, −z as often as all others, of any length.

    Pinocchio's reader of URDF takes an axis within about 1e-12 of x, y or z for that, unless its length is not 1.
    """
    k, sign = (2, -1.0) if rng.random() < 0.5 else (int(rng.integers(3)), float(rng.choice([-1.0, 1.0])))
    aside = np.roll([*rng.normal(size=2), 0.0], k + 1)
    tilt = rng.choice(TILTS)
    axis = np.sin(tilt) * aside / np.linalg.norm(aside)
    axis[k] = sign * np.cos(tilt)
    return axis * rng.choice([1.0, 3.7, 0.02] if tilt > 2e-12 else [3.7, 0.02])


def with_tilted_axes(urdf: Path, folder: Path, seed: int) -> Path:
    """A copy of a URDF whose joints that move have such axes."""
    tree, rng = ET.parse(urdf), np.random.default_rng(seed)
    for joint in tree.getroot().findall("joint"):
        if joint.get("type") not in ("revolute", "continuous", "prismatic"):
            continue
        axis = joint.find("axis")
        if axis is None:
            axis = ET.SubElement(joint, "axis")
        axis.set("xyz", " ".join(repr(float(x)) for x in tilted_axis(rng)))
    path = folder / urdf.name
    tree.write(path)
    return path
