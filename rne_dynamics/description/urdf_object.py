"""URDF text of a robot that urdf_parser_py has read or a program has made, for `load_urdf`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from rne_dynamics.description.outline import INERTIAL_ELEMENTS, JOINT_ELEMENTS


class UrdfObject(Protocol):
    """A ``urdf_parser_py.urdf.Robot`` (or ``URDF``, its other name), which has no types."""

    name: Any
    links: Any
    joints: Any


def is_urdf_object(source: object) -> bool:
    """Whether something is a robot of urdf_parser_py, which is not imported for that."""
    module = sys.modules.get("urdf_parser_py.urdf")
    return module is not None and isinstance(source, module.Robot)


def urdf_of_object(robot: UrdfObject) -> str:
    """Parts of a urdf_parser_py robot that dynamics need, as URDF; it reads no rotor inertias, so no transmissions."""
    return "".join(["<robot", _attributes(robot, ("name",)), ">", *_links(robot), *_joints(robot), "</robot>"])


def _links(robot: UrdfObject) -> Iterator[str]:
    for link in robot.links:
        yield f"<link{_attributes(link, ('name',))}>"
        # only whether there are shapes matters to the checks
        yield from (f"<{tag}/>" for tag in ("visual", "collision") if getattr(link, f"{tag}s", None))
        inertial = getattr(link, "inertial", None)
        if inertial is not None:
            mass = f"<mass{_written('value', getattr(inertial, 'mass', None))}/>"
            yield f"<inertial>{mass}{_elements(inertial, INERTIAL_ELEMENTS, ('origin', 'inertia'))}</inertial>"
        yield "</link>"


def _joints(robot: UrdfObject) -> Iterator[str]:
    for joint in robot.joints:
        ends = "".join(f"<{end}{_written('link', getattr(joint, end, None))}/>" for end in ("parent", "child"))
        axis = getattr(joint, "axis", None)
        along = "" if axis is None else f"<axis{_written('xyz', axis)}/>"
        parts = _elements(joint, JOINT_ELEMENTS, ("origin", "limit", "dynamics", "mimic", "safety_controller"))
        yield f"<joint{_attributes(joint, ('name', 'type'))}>{ends}{along}{parts}</joint>"


def _elements(owner: object, known: dict[str, tuple[str, ...]], tags: tuple[str, ...]) -> str:
    """The parts that an object has, as elements of the same names."""
    parts = ((tag, getattr(owner, tag, None)) for tag in tags)
    return "".join(f"<{tag}{_attributes(part, known[tag])}/>" for tag, part in parts if part is not None)


def _attributes(part: object, names: tuple[str, ...]) -> str:
    return "".join(_written(name, getattr(part, name, None)) for name in names)


def _written(name: str, value: object) -> str:
    """An attribute with a text, a number or numbers; empty for None."""
    from html import escape  # here: robots that are read from files do not need it

    if value is None:
        return ""
    text = value if isinstance(value, str) else " ".join(map(str, np.ravel(np.array(value))))
    return f' {name}="{escape(text)}"'
