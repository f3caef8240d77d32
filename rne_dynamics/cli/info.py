"""`rne info`: the model as tables or JSON."""

from __future__ import annotations

import argparse
import json
import math
from typing import Literal, TypedDict

from rich.table import Table
from rich.text import Text

from rne_dynamics.cli.info_flexible import FlexibleInfo, describe_flexible, print_flexible
from rne_dynamics.cli.info_mechanism import MechanismInfo, describe_mechanism, print_mechanism
from rne_dynamics.cli.robot_argument import add_base, add_no_rotors, add_robot, load_robot
from rne_dynamics.cli.terminal import console
from rne_dynamics.dispatch import closed, gravity_torque
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, TreeJoint

EXAMPLES = """\
examples:
  rne info puma560
  rne info my_arm.urdf --json
  rne info pantograph                     a mechanism: loops, joints with and without motors
  rne info flexible_arm                   flexible links: modes, frequencies, sag under gravity
  rne info my_humanoid.urdf --base floating
"""

#: Explanation of the gravity column, of a mechanism and of an open arm.
_GRAVITY = (
    "gravity: effort that holds the posture; passive joints have none.",
    "gravity: effort that holds the arm at zero.",
)


class JointRow(TypedDict):
    """One joint; limits are `None` where there is no bound. Units rad or m, rad/s or m/s, N·m or N.

    The gravity effort is `None` for a passive joint of a mechanism, which has no motor.
    """

    name: str
    kind: str
    parent: str
    child: str
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    viscous: float
    coulomb: float
    rotor_inertia: float
    gravity_effort: float | None


class MimicRow(TypedDict):
    """One dependent joint."""

    name: str
    kind: str
    joint: str
    multiplier: float
    offset: float


class LinkRow(TypedDict):
    """One link: mass in kg, mass centre in its own frame in m, and the joint it moves with."""

    name: str
    mass: float
    com: list[float]
    moves_with: str | None


class Info(TypedDict):
    """The output of the command."""

    name: str
    base: str
    n: int
    mass: float
    gravity: list[float]
    joints: list[JointRow]
    mimics: list[MimicRow]
    links: list[LinkRow]
    mechanism: MechanismInfo | None
    flexible: FlexibleInfo | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_no_rotors(parser)
    add_base(parser)
    parser.add_argument("--json", action="store_true", help="print the model as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the model and return the exit code."""
    robot = load_robot(args)
    info = describe(closed(robot))
    if args.json:
        print(json.dumps(info, indent=2))
    else:
        _print(info)
    return 0


def describe(whole: AnyRobot) -> Info:
    """The model as plain values, with gravity torques at zero, of a mechanism in its posture."""
    described = whole.rigid
    robot = described.open_tree
    holding = gravity_torque(described, described.neutral).tolist()
    effort: dict[str, float] = dict(zip(described.joint_names, holding, strict=True))
    joints = {joint.name: joint for joint in robot.tree.joints}
    rows: list[JointRow] = []
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
            }
        )
    return {
        "name": robot.name,
        "base": robot.base,
        "n": robot.n,
        "mass": robot.mass,
        "gravity": robot.gravity.tolist(),
        "joints": rows,
        "mimics": [_mimic(robot, joint) for joint in robot.tree.depth_first if joint.mimic is not None],
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


def _mimic(robot: RobotModel, joint: TreeJoint) -> MimicRow:
    led = robot.tree.leader(joint)
    return {
        "name": joint.name,
        "kind": joint.kind.value,
        "joint": led.joint,
        "multiplier": led.multiplier,
        "offset": led.offset,
    }


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _print(info: Info) -> None:
    out = console()
    prismatic = JointKind.PRISMATIC.value
    limits: tuple[Literal["lower", "upper", "velocity", "effort"], ...] = ("lower", "upper", "velocity", "effort")
    columns = ("joint", "kind", "moves", *limits, "viscous", "Coulomb", "rotor", "gravity")
    mechanism = info["mechanism"]
    n = info["n"] if mechanism is None else f"{len(mechanism['actuated'])} actuated of {info['n']}"
    joints = Table(*columns, title=f"{info['name']}: {n} coordinates, {info['base']} base", header_style="bold")
    for row in info["joints"]:
        limit = row["effort"]
        over = None not in (limit, row["gravity_effort"]) and abs(row["gravity_effort"] or 0.0) > (limit or 0.0)
        joints.add_row(
            row["name"],
            row["kind"],
            row["child"],
            *(_shown(row[key]) for key in limits),
            *(_shown(row[key]) for key in ("viscous", "coulomb", "rotor_inertia")),
            Text(_shown(row["gravity_effort"]), "bold red" if over else ""),
        )
    for mimic in info["mimics"]:
        joints.add_row(mimic["name"], mimic["kind"], f"{mimic['multiplier']:g} x {mimic['joint']} {mimic['offset']:+g}")
    links = Table("link", "mass", "mass centre", "moves with", header_style="bold")
    for link in info["links"]:
        if link["mass"] > 0.0:
            com = "  ".join(_shown(x) for x in link["com"])
            links.add_row(link["name"], _shown(link["mass"]), com, link["moves_with"] or "(does not move)")
    out.print(joints)
    if mechanism is not None:
        print_mechanism(mechanism, out)
    if info["flexible"] is not None:
        print_flexible(info["flexible"], out)
    out.print(links)
    kinds = {row["kind"] for row in info["joints"]}
    units = (
        "m, m/s, N" if kinds == {prismatic} else "rad, rad/s, N m" + ("; prismatic m, m/s, N" * (prismatic in kinds))
    )
    print(f"units: {units}, kg. Bounds that are not given are shown as -. {_GRAVITY[mechanism is None]}")
    print(f"total mass: {info['mass']:.6g} kg; links without mass are not shown: {_massless(info)}")


def _massless(info: Info) -> int:
    return sum(link["mass"] == 0.0 for link in info["links"])


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < 1e-12 else value:.5g}"
