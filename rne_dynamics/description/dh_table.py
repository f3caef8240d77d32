"""The Denavit–Hartenberg table of a model file: its schema, and its conversion to URDF."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath

import numpy as np

from rne_dynamics.description.lint.findings import Reading, error
from rne_dynamics.description.schema import Choice, Key, ListOf, Marked, Name, Number, Numbers, Record
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import DHLink, dh_tree
from rne_dynamics.model.inertia import Inertia, symmetric
from rne_dynamics.model.tree import KinematicTree, Limits

#: Appended to a model file's name where lines are those of the URDF made of its table.
WRITTEN = " (as URDF)"

_ROW = Record(
    {
        "name": Key(Name(), "the link's name; link3 for the third row if not given"),
        "joint": Key(Name(), "the joint's name; joint3 for the third row if not given"),
        "kind": Key(Choice(("revolute", "prismatic")), "revolute (default): theta varies; prismatic: d varies"),
        "a": Key(Number("m"), "m; 0 if not given"),
        "alpha": Key(Number("rad"), "rad; 0 if not given"),
        "d": Key(Number("m"), "m; 0 if not given"),
        "theta": Key(Number("rad"), "rad; 0 if not given"),
        "mass": Key(Number("kg", 0.0), "kg; 0 if not given"),
        "com": Key(Numbers("m"), "mass centre in the link's Denavit-Hartenberg frame, m; 0 0 0 if not given"),
        "inertia": Key(
            Numbers("kg m^2", 6), "ixx ixy ixz iyy iyz izz along the axes of that frame, kg m^2; 0 if not given"
        ),
        "inertia_about": Key(Choice(("com", "origin")), "the mass centre, if not given, or the origin of that frame"),
        "lower": Key(Number("rad or m"), "lower position limit, rad or m; none if not given"),
        "upper": Key(Number("rad or m"), "upper position limit, rad or m; none if not given"),
        "velocity": Key(Number("rad/s or m/s", 0.0), "velocity limit, rad/s or m/s; none if not given"),
        "effort": Key(Number("N m or N", 0.0), "effort limit, N m or N; none if not given"),
    }
)
_TOOL = Record(
    {
        "xyz": Key(Numbers("m"), "origin in the last link's frame, m; 0 0 0 if not given"),
        "rpy": Key(Numbers("rad"), "roll, pitch, yaw as in URDF, rad; 0 0 0 if not given"),
    }
)

#: The value of the key `dh`.
TABLE = Record(
    {
        "convention": Key(
            Choice(("standard", "modified")),
            "standard: Rz(theta) Tz(d) Tx(a) Rx(alpha); modified (Craig): Rx(alpha) Tx(a) Rz(theta) Tz(d)",
            required=True,
        ),
        "name": Key(Name(), "the robot's name; that of the file if not given"),
        "links": Key(ListOf(_ROW, "row"), "the rows of the table, from the base to the tip", required=True),
        "tool": Key(_TOOL, "a tool frame, tool0, fixed to the last link"),
    }
)


def dh_source(table: Marked, file: str) -> Reading[tuple[Source, KinematicTree] | None]:
    """Yield what is wrong with a table as read by `TABLE`; return its URDF, and the tree that this was written from.

    The name of the URDF is that of the model file followed by `WRITTEN`.
    """
    given: Mapping[str, Marked] = table.value
    rows = []
    for number, row in enumerate(given["links"].value, 1):
        try:
            rows.append(_link(row.value))
        except ModelError as fault:
            yield error(row.line, _where(row.value, number), str(fault), "correct the row")
    if len(rows) < len(given["links"].value):
        return None
    tool = None
    if "tool" in given:
        placed = given["tool"].value
        xyz, rpy = (placed.get(key, Marked((0.0, 0.0, 0.0), 0)).value for key in ("xyz", "rpy"))
        tool = (rotation_rpy(*rpy), xyz)
    stem = "dh_arm" if file.startswith("<") else PurePath(file).stem
    name = given["name"].value if "name" in given else stem
    try:
        tree = dh_tree(rows, convention=given["convention"].value, name=name, tool=tool)
    except ModelError as fault:  # an empty table, or a duplicate name
        yield error(table.line, "dh", str(fault), "correct the table")
        return None
    from rne_dynamics.description.urdf_writer import to_urdf  # here: robots of other files start without it

    return Source(f"{file}{WRITTEN}", to_urdf(tree).encode(), "utf-8"), tree


def _link(row: Mapping[str, Marked]) -> DHLink:
    def number(key: str, absent: float = 0.0) -> float:
        return float(row[key].value) if key in row else absent

    if "com" in row and "mass" not in row:
        raise ModelError("com is given, but no mass; a mass centre needs a mass")
    inertia = None
    if "mass" in row or "inertia" in row:
        tensor = symmetric(row["inertia"].value if "inertia" in row else (0.0,) * 6)
        com = np.array(row["com"].value if "com" in row else (0.0, 0.0, 0.0))
        about_origin = row.get("inertia_about", Marked("com", 0)).value == "origin"
        inertia = (Inertia.from_origin if about_origin else Inertia)(number("mass"), com, tensor)
    bounds = (("lower", -math.inf), ("upper", math.inf), ("velocity", math.inf), ("effort", math.inf))
    limits = Limits(*(number(key, absent) for key, absent in bounds))
    if limits.lower > limits.upper:
        raise ModelError(f"lower is {limits.lower:g}, above upper, which is {limits.upper:g}; swap them")
    return DHLink(
        a=number("a"),
        alpha=number("alpha"),
        d=number("d"),
        theta=number("theta"),
        kind=row.get("kind", Marked("revolute", 0)).value,
        inertia=inertia,
        limits=limits,
        name=row["name"].value if "name" in row else None,
        joint=row["joint"].value if "joint" in row else None,
    )


def _where(row: Mapping[str, Marked], number: int) -> str:
    return f"dh link {row['name'].value if 'name' in row else f'link{number}'!r}"
