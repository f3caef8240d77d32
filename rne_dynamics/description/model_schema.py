"""Schema of a model file: its keys, their units and meaning."""

from __future__ import annotations

from rne_dynamics.description.dh_table import TABLE
from rne_dynamics.description.flexible_schema import FLEXIBLE
from rne_dynamics.description.schema import Key, ListOf, Record, Table, TableOr, Vector
from rne_dynamics.description.schema_scalars import Choice, Name, Number
from rne_dynamics.model.loop import DIRECTIONS, LoopKind

#: Values of `kind`, and the joint that each means.
KINDS = {kind.name.lower(): kind for kind in LoopKind}
#: Value of `rotors` that leaves out all of them.
NO_ROTORS = "none"

_FRAME = Record(
    {
        "link": Key(Name("the name of a link"), "the link the frame is fixed to", required=True),
        "xyz": Key(Vector("m"), "origin of the frame in the link's frame, m; 0 0 0 if not given"),
        "rpy": Key(Vector("rad"), "roll, pitch, yaw of the frame as in URDF, rad; 0 0 0 if not given"),
    }
)
_LOOP = Record(
    {
        "name": Key(Name(), "the loop's name in messages and results", required=True),
        "kind": Key(
            Choice(tuple(KINDS)),
            "the joint that closes the loop; its axis, or the normal of its plane, is z of frame a (and of b)",
        ),
        "blocked": Key(
            ListOf(Choice(DIRECTIONS), "direction"),
            "instead of kind: the blocked motions of frame b along the axes of frame a",
        ),
        "a": Key(_FRAME, "the frame on one link", required=True),
        "b": Key(_FRAME, "the frame on the other link, held against a", required=True),
    }
)
_PAYLOAD = Record(
    {
        "link": Key(Name("the name of a link"), "the link that carries it", required=True),
        "mass": Key(Number("kg", 0.0), "kg", required=True),
        "com": Key(Vector("m"), "mass centre in the link's frame, m; 0 0 0 if not given"),
        "inertia": Key(
            Vector("kg m^2", 6),
            "ixx ixy ixz iyy iyz izz about the mass centre in the link's axes, kg m^2; 0 if not given",
        ),
    }
)
_FRICTION = Record(
    {
        "viscous": Key(Number("N m s/rad or N s/m", 0.0), "N m s/rad, prismatic N s/m; 0 if not given"),
        "coulomb": Key(Number("N m or N", 0.0), "N m, prismatic N, in both directions; 0 if not given"),
        "coulomb_forward": Key(Number("N m or N", 0.0), "instead of coulomb: against motion in the positive direction"),
        "coulomb_backward": Key(Number("N m or N", 0.0), "instead of coulomb: against motion in the negative one"),
    }
)

#: The whole file.
SCHEMA = Record(
    {
        "urdf": Key(
            Name("a path, a URI or a name"),
            "the robot, or the open tree of a mechanism: path relative to this file, file:// or package:// URI, or the "
            "name of a robot that ships",
        ),
        "dh": Key(TABLE, "in place of urdf: the robot by its Denavit-Hartenberg parameters"),
        "loops": Key(ListOf(_LOOP, "loop"), "closed loops, which make the tree a mechanism"),
        "actuated": Key(
            ListOf(Name("the name of a joint"), "joint"),
            "with loops: the joints with motors, in the order of all joint vectors",
        ),
        "effort_weights": Key(
            Table(Number("1/(N m)^2 or 1/N^2"), "joint"),
            "with more motors than freedoms: weights w of the least sum of w (effort - preload)^2, which distributes "
            "the load; above 0, 1 for joints not given",
        ),
        "preload": Key(
            Table(Number("N m or N"), "joint"),
            "with more motors than freedoms: efforts of motors against each other, N m, prismatic N; the part that "
            "would move the mechanism is removed; 0 for joints not given",
        ),
        "posture": Key(
            Table(Number("rad or m"), "joint"),
            "position of joints, rad or m; 0 for those not given. With loops: where they are closed; with flexible: "
            "where tip loads are computed for the mode shapes",
        ),
        "flexible": Key(ListOf(FLEXIBLE, "flexible link", key="link"), "links that bend and twist"),
        "payload": Key(_PAYLOAD, "a load on one link"),
        "friction": Key(Table(_FRICTION, "joint"), "joint friction, in place of what the URDF gives"),
        "rotors": Key(
            TableOr(NO_ROTORS, Table(Number("kg m^2 or kg", 0.0), "joint")),
            "reflected rotor inertia (rotor's own times gear ratio squared), in place of what the URDF gives; kg m^2, "
            "prismatic kg. none: efforts are measured or commanded behind the gears, without rotors",
        ),
        "gravity": Key(Vector("m/s^2"), "in world axes, m/s^2; 0 0 -9.81 if not given"),
    }
)
