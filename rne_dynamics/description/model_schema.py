"""Schema of a model file: its keys, their units and meaning."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import get_args

from rne_dynamics.description.dh_table import TABLE
from rne_dynamics.description.schema import (
    Key,
    Reader,
    choice,
    either,
    list_of,
    number,
    numbers,
    record,
    table,
    text,
)
from rne_dynamics.model.flexible.beam import Shapes
from rne_dynamics.model.materials import Section, rectangle, rod, tube
from rne_dynamics.model.mechanism import DIRECTIONS, LoopKind

#: Cross-sections by `kind`: the function that makes one, and the lengths that it takes.
SECTIONS: MappingProxyType[str, tuple[Callable[..., Section], tuple[str, ...]]] = MappingProxyType(
    {
        "tube": (tube, ("outer_diameter", "wall")),
        "rod": (rod, ("diameter",)),
        "rectangle": (rectangle, ("width", "height")),
    }
)
#: The words for `tip` and `inertial`.
CARRIED, WHOLE_LINK, HUB = "carried", "whole", "hub"

_MATERIAL = record(
    {
        "density": Key(number("kg/m^3", 0.0), "kg/m^3", required=True),
        "E": Key(number("Pa", 0.0), "Young's modulus, Pa", required=True),
        "G": Key(number("Pa", 0.0), "shear modulus, Pa", required=True),
    }
)
_SECTION = record(
    {
        "kind": Key(choice(tuple(SECTIONS)), "the form of the section", required=True),
        "material": Key(
            either(text("the name of a material"), _MATERIAL),
            "a material of the table (aluminium, steel, ...), or its density, E and G",
            required=True,
        ),
        "outer_diameter": Key(number("m", 0.0), "of a tube, m"),
        "wall": Key(number("m", 0.0), "of a tube: its thickness, m"),
        "diameter": Key(number("m", 0.0), "of a rod, m"),
        "width": Key(number("m", 0.0), "of a rectangle, along the beam's y (the normal), m"),
        "height": Key(number("m", 0.0), "of a rectangle, along the beam's z, m"),
    }
)


def _by_plane(unit: str, y: str, z: str) -> Reader:
    return either(numbers(unit, None), record({"y": Key(numbers(unit, None), y), "z": Key(numbers(unit, None), z)}))


#: One flexible link.
FLEXIBLE = record(
    {
        "link": Key(text("the name of a link"), "the flexible link; its root is at its joint", required=True),
        "length": Key(number("m", 0.0), "of the beam from root to tip, m"),
        "axis": Key(numbers("no unit"), "from root to tip in the link's frame; 1 0 0 if not given"),
        "normal": Key(numbers("no unit"), "the beam's y in the link's frame, made square to axis; 0 1 0 if not given"),
        "origin": Key(numbers("m"), "the beam's root in the link's frame, m; 0 0 0 if not given"),
        "mass_per_length": Key(numbers("kg/m", None), "kg/m; a list for a taper: equal distances from root to tip"),
        "EI": Key(
            _by_plane("N m^2", "deflections along the beam's y", "deflections along the beam's z"),
            "bending stiffness, N m^2, of both planes, or y and z separately",
        ),
        "GJ": Key(numbers("N m^2", None), "torsional stiffness, N m^2"),
        "polar": Key(
            _by_plane("kg m", "integral of density times y^2 over the section", "integral of density times z^2"),
            "inertia of the section per length, kg m: about the axis, split between the planes as EI is, or y and z "
            "separately; "
            "0 if not given",
        ),
        "section": Key(_SECTION, "instead of mass_per_length, EI, GJ and polar: a uniform section of a material"),
        "modal": Key(
            text("a path or a URI"),
            "instead of a beam: file of modal matrices, or of nodal modes and a nodal mass matrix (.npz, "
            ".json), path relative to this file, file:// or package:// URI",
        ),
        "modes": Key(
            record(
                {
                    "y": Key(number("", 0, whole=True), "modes in bending along the beam's y; 0 if not given"),
                    "z": Key(number("", 0, whole=True), "modes in bending along the beam's z; 0 if not given"),
                    "torsion": Key(number("", 0, whole=True), "modes in torsion; 0 if not given"),
                }
            ),
            "number of modes of each kind",
        ),
        "shapes": Key(choice(get_args(Shapes)), "mode shapes; clamped_mass if not given, finite_element for a taper"),
        "elements": Key(number("", 1, whole=True), "number of elements of finite_element shapes; 20 if not given"),
        "damping": Key(
            numbers("", None),
            "ratio of critical damping of the clamped beam's modes, one for all or [y..., z..., torsion...]; 0 if not "
            "given",
        ),
        "stiffening": Key(
            choice(("true", "false")),
            "whether the shortening and the true curvature of the bent beam count (spin stiffens it); true if not "
            "given; false is the plain theory, for small and slow bending only",
        ),
        "tip": Key(
            either(
                choice((CARRIED,)),
                record(
                    {
                        "mass": Key(number("kg", 0.0), "kg", required=True),
                        "inertia": Key(
                            numbers("kg m^2"), "about the tip, about the beam's x, y and z, kg m^2; 0 0 0 if not given"
                        ),
                        "offset": Key(number("m"), "distance of its mass centre beyond the tip, m; 0 if not given"),
                    }
                ),
            ),
            "tip load for which mode shapes and damping are computed; carried (default): the whole subtree of the link "
            "in `posture`. The shapes clamped_free and polynomial are for a free tip, their default",
        ),
        "inertial": Key(
            choice((WHOLE_LINK, HUB)),
            "what the URDF's inertia of the link describes: the whole link (default), or the part clamped to its root, "
            "to which the beam's inertia is added",
        ),
    }
)

#: Values of `kind`, and the joint that each means.
KINDS = {kind.name.lower(): kind for kind in LoopKind}
#: Value of `rotors` that leaves out all of them.
NO_ROTORS = "none"

_FRAME = record(
    {
        "link": Key(text("the name of a link"), "the link the frame is fixed to", required=True),
        "xyz": Key(numbers("m"), "origin of the frame in the link's frame, m; 0 0 0 if not given"),
        "rpy": Key(numbers("rad"), "roll, pitch, yaw of the frame as in URDF, rad; 0 0 0 if not given"),
    }
)
_LOOP = record(
    {
        "name": Key(text(), "the loop's name in messages and results", required=True),
        "kind": Key(
            choice(tuple(KINDS)),
            "the joint that closes the loop; its axis, or the normal of its plane, is z of frame a (and of b)",
        ),
        "blocked": Key(
            list_of(choice(DIRECTIONS), "direction"),
            "instead of kind: the blocked motions of frame b along the axes of frame a",
        ),
        "a": Key(_FRAME, "the frame on one link", required=True),
        "b": Key(_FRAME, "the frame on the other link, held against a", required=True),
    }
)
_PAYLOAD = record(
    {
        "link": Key(text("the name of a link"), "the link that carries it", required=True),
        "mass": Key(number("kg", 0.0), "kg", required=True),
        "com": Key(numbers("m"), "mass centre in the link's frame, m; 0 0 0 if not given"),
        "inertia": Key(
            numbers("kg m^2", 6),
            "ixx ixy ixz iyy iyz izz about the mass centre in the link's axes, kg m^2; 0 if not given",
        ),
    }
)
_FRICTION = record(
    {
        "viscous": Key(number("N m s/rad or N s/m", 0.0), "N m s/rad, prismatic N s/m; 0 if not given"),
        "coulomb": Key(number("N m or N", 0.0), "N m, prismatic N, in both directions; 0 if not given"),
        "offset": Key(number("N m or N"), "added in both directions of motion, N m, prismatic N; 0 if not given"),
        "coulomb_forward": Key(number("N m or N", 0.0), "instead of coulomb: against motion in the positive direction"),
        "coulomb_backward": Key(number("N m or N", 0.0), "instead of coulomb: against motion in the negative one"),
        "stribeck": Key(number("N m or N", 0.0), "added to coulomb at rest, N m, prismatic N; 0 if not given"),
        "stribeck_velocity": Key(number("rad/s or m/s", 0.0), "speed v at which a part 1/e of stribeck is left"),
        "threshold": Key(
            number("rad/s or m/s", 0.0),
            "speed below which coulomb grows, of controllers and predictions; simulated joints stick. If not given, "
            "friction_velocity_threshold of the controller",
        ),
    }
)

#: Keys of the file.
KEYS = {
    "urdf": Key(
        text("a path, a URI or a name"),
        "the robot, or the open tree of a mechanism: path relative to this file, file:// or package:// URI, or the "
        "name of a robot that ships",
    ),
    "dh": Key(TABLE, "in place of urdf: the robot by its Denavit-Hartenberg parameters"),
    "based_on": Key(
        text("a path, a URI or a name"),
        "another model file, path as for urdf: its entries hold where this file has none; friction, rotors and "
        "other tables joint by joint, loops and flexible links by their names",
    ),
    "loops": Key(list_of(_LOOP, "loop", key="name"), "closed loops, which make the tree a mechanism"),
    "actuated": Key(
        list_of(text("the name of a joint"), "joint"),
        "with loops: the joints with motors, in the order of all joint vectors",
    ),
    "effort_weights": Key(
        table(number("1/(N m)^2 or 1/N^2"), "joint"),
        "with more motors than freedoms: weights w of the least sum of w (effort - preload)^2, which distributes "
        "the load; above 0, 1 for joints not given",
    ),
    "preload": Key(
        table(number("N m or N"), "joint"),
        "with more motors than freedoms: efforts of motors against each other, N m, prismatic N; the part that "
        "would move the mechanism is removed; 0 for joints not given",
    ),
    "posture": Key(
        table(number("rad or m"), "joint"),
        "position of joints, rad or m; 0 for those not given. With loops: where they are closed; with flexible: "
        "where tip loads are computed for the mode shapes",
    ),
    "flexible": Key(list_of(FLEXIBLE, "flexible link", key="link"), "links that bend and twist"),
    "payload": Key(_PAYLOAD, "a load on one link"),
    "friction": Key(table(_FRICTION, "joint"), "joint friction, in place of what the URDF gives"),
    "rotors": Key(
        either(choice((NO_ROTORS,), ", or a mapping"), table(number("kg m^2 or kg", 0.0), "joint")),
        "reflected rotor inertia (rotor's own times gear ratio squared), in place of what the URDF gives; kg m^2, "
        "prismatic kg. none: efforts are measured or commanded behind the gears, without rotors",
    ),
    "gravity": Key(numbers("m/s^2"), "in world axes, m/s^2; 0 0 -9.81 if not given"),
}
#: The whole file.
SCHEMA = record(KEYS)
