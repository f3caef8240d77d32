"""The visual elements of a URDF: geometry, placement and colour of each link's appearance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rne_dynamics.description.markup import read_markup
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.model.inertia import Array

#: Colour of parts without a material, RGBA.
GREY = (0.66, 0.69, 0.73, 1.0)
#: Attributes of the primitives, and how many numbers these have.
_SHAPES = {"box": ("size", 3), "cylinder": ("radius length", 2), "sphere": ("radius", 1)}

Colour = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Visual:
    """One visual element."""

    #: Pose of the geometry in the link's frame, (4, 4), m.
    placement: Array
    #: ``"box"`` (x, y, z), ``"cylinder"`` (radius, length along z), ``"sphere"`` (radius), m; or ``"mesh"``
    #: with the three factors by which the mesh is scaled.
    shape: str
    size: tuple[float, ...]
    #: File name of a mesh as it is written.
    file: str = ""
    #: RGBA from 0 to 1; `None` where the description gives none.
    colour: Colour | None = None


def visuals(source: Source, tags: tuple[str, ...] = ("visual",)) -> dict[str, list[Visual]]:
    """By link, the elements of a URDF with these tags that can be read; raises as `read_markup`."""
    read_markup(source.data, source.name, source.encoding, repairs=[])  # refuses entities, which ElementTree expands
    text = source.data.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(encoding=source.encoding))
    except ElementTree.ParseError:  # a prefix that is not declared, as left by xacro, which `read_markup` accepts
        return {}
    known = {m.get("name", ""): colour for m in root.iter("material") if (colour := _colour(m, {})) is not None}
    found: dict[str, list[Visual]] = {}
    for link in root.iter("link"):
        for element in (element for tag in tags for element in link.iter(tag)):
            if (visual := _visual(element, known)) is not None:
                found.setdefault(link.get("name", ""), []).append(visual)
    return found


def _visual(element: Any, known: Mapping[str, Colour]) -> Visual | None:
    geometry = element.find("geometry")
    origin, material = element.find("origin"), element.find("material")
    placement = np.eye(4)
    if origin is not None:
        xyz, rpy = _numbers(origin.get("xyz", "0 0 0"), 3), _numbers(origin.get("rpy", "0 0 0"), 3)
        if xyz is None or rpy is None:
            return None
        placement[:3, :3], placement[:3, 3] = rotation_rpy(*rpy), xyz
    colour = None if material is None else _colour(material, known)
    for shape in () if geometry is None else geometry:
        if shape.tag == "mesh" and shape.get("filename"):
            scale = _numbers(shape.get("scale", "1 1 1"), 3)
            return None if scale is None else Visual(placement, "mesh", scale, shape.get("filename"), colour)
        if shape.tag in _SHAPES:
            names, count = _SHAPES[shape.tag]
            size = _numbers(" ".join(shape.get(name, "") for name in names.split()), count)
            return None if size is None else Visual(placement, shape.tag, size, "", colour)
    return None


def _colour(material: Any, known: Mapping[str, Colour]) -> Colour | None:
    """The material's own colour, or that of another material of the same name."""
    colour = material.find("color")
    rgba = None if colour is None else _numbers(colour.get("rgba", ""), 4)
    if rgba is None:
        return known.get(material.get("name", ""))
    r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
    return r, g, b, a


def _numbers(text: str, count: int) -> tuple[float, ...] | None:
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    return values if len(values) == count and np.isfinite(values).all() else None
