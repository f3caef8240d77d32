"""`rne info`: the model as tables or JSON."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from rne_dynamics.cli.info_flexible import describe_flexible, print_flexible
from rne_dynamics.cli.info_mechanism import describe_mechanism, print_mechanism
from rne_dynamics.cli.robot_argument import add_base, add_no_rotors, add_robot, load_robot, posture
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.cli.terminal import console
from rne_dynamics.description.lint import MOST_COORDINATES
from rne_dynamics.dispatch import closed, gravity_torque, mass_matrix
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.tree import JointKind

EXAMPLES = """\
examples:
  rne info puma560
  rne info my_arm.urdf --json
  rne info pantograph                     a mechanism: loops, joints with and without motors
  rne info flexible_arm                   flexible links: modes, frequencies, sag under gravity
  rne info puma560 --at joint2=-45deg --at joint3=1.57
  rne info my_humanoid.urdf --base floating
"""

#: Explanation of the gravity column, of a mechanism and of an open arm.
_GRAVITY = (
    "gravity: effort that holds the posture (passive joints have none).",
    "gravity: effort that holds the arm at zero.",
)
#: The same for the columns of --at.
_INERTIA = "inertia: that of the motion of one joint alone, kg m^2 or kg: the diagonal of the mass matrix."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_no_rotors(parser)
    add_base(parser)
    parser.add_argument(
        "--at", action="append", default=[], metavar="JOINT=VALUE", help="also the posture with this joint position: "
        "rad or m, or with a unit (90deg, 20mm); others at zero; gravity and inertia are those there",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the model as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the model and return the exit code."""
    robot = load_robot(args, MOST_COORDINATES)
    info = describe(closed(robot), args.at)
    if args.json:
        print(json.dumps(info, indent=2))
    else:
        _print(info)
    return 0


def describe(whole: AnyRobot, at: Sequence[str] = ()) -> dict[str, Any]:
    """The model as plain values, with gravity torques at zero, of a mechanism in its posture; SI units.

    Limits are `None` where there is no bound, gravity efforts for a passive joint of a mechanism, which has no motor.
    With `at`, texts JOINT=VALUE, gravity torques are those of that posture, and positions and inertias are added.
    """
    described = whole.rigid
    robot = described.open_tree
    q = posture("--at", at, described)
    holding = gravity_torque(described, q).tolist()
    effort = dict(zip(described.joint_names, holding, strict=True))
    there = dict(zip(described.joint_names, q.tolist(), strict=True)) if at else {}
    diagonal = np.diagonal(mass_matrix(described, q)).tolist() if at else [None] * described.n
    inertia = dict(zip(described.joint_names, diagonal, strict=True))
    joints = {joint.name: joint for joint in robot.tree.joints}
    rows = []
    for i, name in enumerate(robot.joint_names):
        # coordinates of planar and floating joints are named joint/coordinate, those of a floating base root/coordinate
        joint = joints.get(name) or joints.get(name.rpartition("/")[0])
        rows.append(
            {
                "name": name,
                "kind": "floating base" if joint is None else joint.kind.value,
                "parent": "world" if joint is None else joint.parent,
                "child": robot.tree.root if joint is None else joint.child,
                "lower": _bound(robot.lower[i]),
                "upper": _bound(robot.upper[i]),
                "velocity": _bound(robot.velocity_limit[i]),
                "effort": _bound(robot.effort_limit[i]),
                "viscous": 0.0 if joint is None else joint.friction.viscous,
                "coulomb": 0.0 if joint is None else joint.friction.coulomb_forward,
                "rotor_inertia": 0.0 if joint is None else joint.rotor_inertia,
                "gravity_effort": effort.get(name),
                **({"position": there.get(name), "inertia": inertia.get(name)} if at else {}),
            }
        )
    return {
        "name": robot.name,
        "base": robot.base,
        "n": robot.n,
        "mass": robot.mass,
        "gravity": robot.gravity.tolist(),
        "joints": rows,
        "mimics": [
            {"name": joint.name, "kind": joint.kind.value, **vars(robot.tree.leader(joint))}
            for joint in robot.tree.depth_first if joint.mimic is not None
        ],
        "links": [
            {
                "name": link.name,
                "mass": 0.0 if link.inertia is None else link.inertia.mass,
                "com": [0.0, 0.0, 0.0] if link.inertia is None else link.inertia.com.tolist(),
                "moves_with": None
                if robot.links[link.name].body < 0
                else robot.body_names[robot.links[link.name].body],
            }
            for link in robot.tree.links
        ],
        "mechanism": describe_mechanism(described) if described.kind == "mechanism" else None,
        "flexible": describe_flexible(whole) if whole.kind == "flexible" else None,
    }


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _print(info: dict[str, Any]) -> None:
    out = console()
    prismatic = JointKind.PRISMATIC.value
    limits = ("lower", "upper", "velocity", "effort")
    posed = bool(info["joints"]) and "position" in info["joints"][0]
    columns = (
        "joint", "kind", "moves", *limits, "viscous", "Coulomb", "rotor", *(("at",) * posed), "gravity",
        *(("inertia",) * posed),
    )
    mechanism = info["mechanism"]
    n = info["n"] if mechanism is None else f"{len(mechanism['actuated'])} actuated of {info['n']}"
    joints = Table(*columns, title=f"{info['name']}: {n} coordinates, {info['base']} base", header_style="bold")
    for row in info["joints"]:
        limit = row["effort"]
        over = None not in (limit, row["gravity_effort"]) and abs(row["gravity_effort"]) > limit
        joints.add_row(
            row["name"],
            row["kind"],
            row["child"],
            *(_shown(row[key]) for key in limits),
            *(_shown(row[key]) for key in ("viscous", "coulomb", "rotor_inertia")),
            *([_shown(row["position"])] if posed else []),
            Text(_shown(row["gravity_effort"]), "bold red" if over else ""),
            *([_shown(row["inertia"])] if posed else []),
        )
    for column in joints.columns[3:]:
        column.justify = "right"
    for mimic in info["mimics"]:
        joints.add_row(mimic["name"], mimic["kind"], f"{mimic['multiplier']:g} x {mimic['joint']} {mimic['offset']:+g}")
    links = Table("link", Column("mass", justify="right"), "mass centre", "moves with", header_style="bold")
    for link in info["links"]:
        if link["mass"] > 0.0:
            com = "  ".join(_shown(x) for x in link["com"])
            links.add_row(link["name"], _shown(link["mass"]), com, link["moves_with"] or "(does not move)")
    print_table(out, joints)
    if mechanism is not None:
        print_mechanism(mechanism, out)
    if info["flexible"] is not None:
        print_flexible(info["flexible"], out)
    print_table(out, links)
    kinds = {row["kind"] for row in info["joints"]}
    units = (
        "m, m/s, N" if kinds == {prismatic} else "rad, rad/s, N m" + ("; prismatic m, m/s, N" * (prismatic in kinds))
    )
    gravity = _GRAVITY[mechanism is None and not posed]
    out.print(f"units: {units}, kg. Bounds that are not given are shown as -. {gravity}")
    if posed:
        out.print(_INERTIA)
    massless = sum(link["mass"] == 0.0 for link in info["links"])
    out.print(f"total mass: {info['mass']:.6g} kg; links without mass are not shown: {massless}")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < 1e-12 else value:.5g}"
