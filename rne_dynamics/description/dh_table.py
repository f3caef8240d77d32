"""The Denavit–Hartenberg table of a model file: its schema, and its conversion to URDF."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath

import numpy as np

from rne_dynamics.description.lint.findings import Reading, error
from rne_dynamics.description.schema import Key, Marked, choice, list_of, number, numbers, record, text, value_of
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.errors import ModelError, refuse
from rne_dynamics.model.assembly import DHLink, dh_tree
from rne_dynamics.model.inertia import Inertia, symmetric
from rne_dynamics.model.tree import KinematicTree, Limits

#: Appended to a model file's name where lines are those of the URDF made of its table.
WRITTEN = " (as URDF)"

_ROW = record(
    {
        "name": Key(text(), "the link's name; link3 for the third row if not given"),
        "joint": Key(text(), "the joint's name; joint3 for the third row if not given"),
        "kind": Key(choice(("revolute", "prismatic")), "revolute (default): theta varies; prismatic: d varies"),
        "a": Key(number("m"), "m; 0 if not given"),
        "alpha": Key(number("rad"), "rad; 0 if not given"),
        "d": Key(number("m"), "m; 0 if not given"),
        "theta": Key(number("rad"), "rad; 0 if not given"),
        "mass": Key(number("kg", 0.0), "kg; 0 if not given"),
        "com": Key(numbers("m"), "mass centre in the link's Denavit-Hartenberg frame, m; 0 0 0 if not given"),
        "inertia": Key(
            numbers("kg m^2", 6), "ixx ixy ixz iyy iyz izz along the axes of that frame, kg m^2; 0 if not given"
        ),
        "inertia_about": Key(choice(("com", "origin")), "the mass centre, if not given, or the origin of that frame"),
        "lower": Key(number("rad or m"), "lower position limit, rad or m; none if not given"),
        "upper": Key(number("rad or m"), "upper position limit, rad or m; none if not given"),
        "velocity": Key(number("rad/s or m/s", 0.0), "velocity limit, rad/s or m/s; none if not given"),
        "effort": Key(number("N m or N", 0.0), "effort limit, N m or N; none if not given"),
    }
)
_TOOL = record(
    {
        "xyz": Key(numbers("m"), "origin in the last link's frame, m; 0 0 0 if not given"),
        "rpy": Key(numbers("rad"), "roll, pitch, yaw as in URDF, rad; 0 0 0 if not given"),
    }
)

#: The value of the key `dh`.
TABLE = record(
    {
        "convention": Key(
            choice(("standard", "modified")),
            "standard: Rz(theta) Tz(d) Tx(a) Rx(alpha); modified (Craig): Rx(alpha) Tx(a) Rz(theta) Tz(d)",
            required=True,
        ),
        "name": Key(text(), "the robot's name; that of the file if not given"),
        "links": Key(
            list_of(_ROW, "row", key="name"), "the rows of the table, from the base to the tip", required=True
        ),
        "tool": Key(_TOOL, "a tool frame, tool0, fixed to the last link"),
    }
)


def dh_source(table: Marked, file: str) -> Reading[tuple[Source, KinematicTree] | None]:
    """Yield what is wrong with a table as read by `TABLE`; return its URDF, and the tree that this was written from.

    The name of the URDF is that of the model file followed by `WRITTEN`.
    """
    given: Mapping[str, Marked] = table.value
    rows = []
    for k, row in enumerate(given["links"].value, 1):
        try:
            rows.append(_link(row.value))
        except ModelError as fault:
            where = f"dh link {value_of(row.value, 'name', f'link{k}')!r}"
            yield error(row.line, where, str(fault), "correct the row")
    if len(rows) < len(given["links"].value):
        return None
    tool = None
    if "tool" in given:
        xyz, rpy = (value_of(given["tool"].value, key, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
        tool = (rotation_rpy(*rpy), xyz)
    stem = "dh_arm" if file.startswith("<") else PurePath(file).stem
    name = value_of(given, "name", stem)
    try:
        tree = dh_tree(rows, convention=given["convention"].value, name=name, tool=tool)
    except ModelError as fault:  # an empty table, or a duplicate name
        yield error(table.line, "dh", str(fault), "correct the table")
        return None
    from rne_dynamics.description.urdf_writer import to_urdf  # here: robots of other files start without it

    return Source(f"{file}{WRITTEN}", to_urdf(tree).encode(), "utf-8"), tree


def _link(row: Mapping[str, Marked]) -> DHLink:
    bounds = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    limits = Limits(*(value_of(row, key, absent) for key, absent in bounds.items()))
    refuse(
        ModelError,
        ("com" in row and "mass" not in row, "com is given, but no mass; a mass centre needs a mass"),
        (limits.lower > limits.upper,
         f"lower is {limits.lower:g}, above upper, which is {limits.upper:g}; swap them"),
    )  # fmt: skip
    inertia = None
    if "mass" in row or "inertia" in row:
        tensor, com = symmetric(value_of(row, "inertia", (0.0,) * 6)), np.array(value_of(row, "com", (0.0, 0.0, 0.0)))
        about_origin = value_of(row, "inertia_about", "com") == "origin"
        inertia = (Inertia.from_origin if about_origin else Inertia)(value_of(row, "mass", 0.0), com, tensor)
    return DHLink(
        **{key: value_of(row, key, 0.0) for key in ("a", "alpha", "d", "theta")},
        kind=value_of(row, "kind", "revolute"), inertia=inertia, limits=limits, name=value_of(row, "name", None),
        joint=value_of(row, "joint", None),
    )  # fmt: skip
