"""`rne info`: the model as tables or JSON."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.text import Text

from rne_dynamics.cli.answer import Answer, Rows, finite, shown
from rne_dynamics.cli.arguments import NO_ROTORS, ROBOT, base, configuration, flag, load_robot, several
from rne_dynamics.closed_chain.coordinates import mobility
from rne_dynamics.description.lint.description import MOST_COORDINATES
from rne_dynamics.dispatch import closed, gravity_torque, mass_matrix
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.flexible.linearised import Linearised, linearised
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import FlexibleArm, clamped_frequencies, loads
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.mechanism import DIRECTIONS, LoopKind, Mechanism
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
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

_STILL = "(does not move)"
_LIMITS = ("lower", "upper", "velocity", "effort")


ARGUMENTS = (
    *ROBOT, NO_ROTORS, base(),
    several("--at", "JOINT=VALUE", "also the posture with this joint position: rad or m, or with a unit (90deg, 20mm); "
            "others at zero; gravity and inertia are those there"),
    flag("--json", "print the model as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """The model."""
    info = describe(closed(load_robot(args, MOST_COORDINATES)), args.at)
    return Answer(info, list(_parts(info)))


def describe(whole: Robot, at: Sequence[str] = ()) -> dict[str, Any]:
    """The model as plain values, SI units; gravity torques at zero, in a mechanism's posture, or `at` JOINT=VALUE."""
    described = whole.rigid
    robot = described.open_tree
    if at and described.nq != described.n:
        raise ArgumentError(f"--at: robot {described.name!r} has a floating joint or base; leave --at out")
    q = configuration("--at", at, described)

    def by_joint(values: Array) -> dict[str, float]:
        return dict(zip(described.joint_names, values.tolist(), strict=True))

    effort, there = by_joint(gravity_torque(described, q)), by_joint(q) if at else {}
    inertia = by_joint(np.diagonal(mass_matrix(described, q))) if at else {}
    joints = {joint.name: joint for joint in robot.tree.joints}
    rows = []
    for i, name in enumerate(robot.joint_names):
        # coordinates of planar and floating joints are named joint/coordinate, those of a floating base root/coordinate
        joint = joints.get(name) or joints.get(name.rpartition("/")[0])
        placed = {
            "kind": "floating base", "parent": "world", "child": robot.tree.root, **_limits(robot, i),
            "viscous": 0.0, "coulomb": 0.0, "rotor_inertia": 0.0,
        } if joint is None else {
            "kind": joint.kind.value, "parent": joint.parent, "child": joint.child, **_limits(robot, i),
            "viscous": joint.friction.viscous, "coulomb": joint.friction.coulomb,
            "rotor_inertia": joint.rotor_inertia,
        }  # fmt: skip
        posed = {"position": there.get(name), "inertia": inertia.get(name)} if at else {}
        rows.append({"name": name, **placed, "gravity_effort": effort.get(name), **posed})
    bodies = {name: robot.body_names[frame.body] for name, frame in robot.links.items() if frame.body >= 0}
    masses = [(link.name, link.inertia or Inertia()) for link in robot.tree.links]
    return {
        "name": robot.name, "base": robot.base, "n": robot.n, "mass": robot.mass, "gravity": robot.gravity.tolist(),
        "joints": rows,
        "mimics": [
            {"name": joint.name, "kind": joint.kind.value, **vars(robot.tree.leader(joint))}
            for joint in robot.tree.depth_first if joint.mimic is not None
        ],
        "links": [
            {"name": name, "mass": body.mass, "com": body.com.tolist(), "moves_with": bodies.get(name)}
            for name, body in masses
        ],
        "mechanism": describe_mechanism(described) if described.kind == "mechanism" else None,
        "flexible": describe_flexible(whole) if whole.kind == "flexible" else None,
    }  # fmt: skip


def _limits(robot: RobotModel, i: int) -> dict[str, float | None]:
    """Limits of a coordinate."""
    limits = zip(_LIMITS, (robot.lower, robot.upper, robot.velocity_limit, robot.effort_limit), strict=True)
    return {name: finite(values[i]) for name, values in limits}


def describe_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """Loops, joints with and without motors, the posture with the loops closed (rad or m), and freedoms."""
    freedoms = mobility(mechanism)
    rows = []
    for loop in mechanism.loops:
        blocked = [d for d, held in zip(DIRECTIONS, loop.blocked.tolist(), strict=True) if held]
        kind = next((k.name.lower() for k in LoopKind if list(k.value) == blocked), None)
        rows.append({"name": loop.name, "a": loop.a.link, "b": loop.b.link, "kind": kind, "blocked": blocked})
    return {
        "loops": rows, "actuated": list(mechanism.joint_names), "passive": list(mechanism.passive_names),
        "posture": dict(zip(mechanism.robot.joint_names, mechanism.posture.tolist(), strict=True)),
        "freedoms": freedoms.freedoms, "idle": freedoms.idle, "redundant": freedoms.redundant,
    }  # fmt: skip


def describe_flexible(arm: FlexibleArm) -> dict[str, Any]:
    """Flexible links, and vibrations of the arm at rest at zero with its joints held, as plain values, SI units."""
    sags = frequencies = ratios = unsettled = None
    try:
        delta, found = at_rest(arm)
        sags = tip_deflections(arm, delta).tolist()
        frequencies, ratios = hertz(found.frequencies), found.damping_ratios.tolist()
    except ModelError as fault:
        unsettled = str(fault)
    return {
        "links": [
            {
                "name": link.link, "tip": link.tip.tolist(), "elastic_mass": link.inertia.mass,
                "modes": list(link.mode_names), "bare": hertz(clamped_frequencies(link)),
                "carrying": hertz(clamped_frequencies(link, loads(arm.robot, link.link))),
                "sag": None if sags is None else sags[k],
            }
            for k, link in enumerate(arm.flexible_links)
        ],
        "modes": arm.modes, "frequencies": frequencies, "damping_ratios": ratios, "unsettled": unsettled,
    }  # fmt: skip


def at_rest(arm: FlexibleArm) -> tuple[Array, Linearised]:
    """Amplitudes, (modes,), and vibrations at rest under gravity, joints held at zero; `ModelError` if it buckles."""
    rest = np.zeros(arm.n)
    delta = balance(arm, arm.neutral, rest, rest).delta
    vibrations = linearised(arm, arm.neutral, delta=delta)
    if (vibrations.damping_ratios < -1e-9).any():
        raise ModelError(
            f"arm {arm.name!r} buckles under gravity with all joints at zero: its links cannot hold the load; make "
            "them stiffer (EI), or the load lighter"
        )
    return delta, vibrations


def hertz(omega: Array) -> list[float]:
    """Frequencies in Hz from rad/s."""
    return [float(x) for x in omega / (2.0 * math.pi)]


def _parts(info: dict[str, Any]) -> Iterator[str | Rows]:
    """The tables, and what their units are."""
    mechanism, joints = info["mechanism"], info["joints"]
    posed = bool(joints) and "position" in joints[0]
    headings = (
        "joint", "kind", "moves", *_LIMITS, "viscous", "Coulomb", "rotor", *["at"] * posed, "gravity",
        *["inertia"] * posed,
    )  # fmt: skip
    keys = (*_LIMITS, "viscous", "coulomb", "rotor_inertia", *["position"] * posed)
    rows: list[list[str | Text]] = []
    for row in joints:
        over = None not in (row["effort"], row["gravity_effort"]) and abs(row["gravity_effort"]) > row["effort"]
        holding = Text(shown(row["gravity_effort"]), "bold red" if over else "")
        inertia = [shown(row["inertia"])] if posed else []
        rows.append([row["name"], row["kind"], row["child"], *(shown(row[key]) for key in keys), holding, *inertia])
    for mimic in info["mimics"]:
        rows.append([mimic["name"], mimic["kind"], f"{mimic['multiplier']:g} x {mimic['joint']} {mimic['offset']:+g}"])
    n = info["n"] if mechanism is None else f"{len(mechanism['actuated'])} actuated of {info['n']}"
    yield Rows(headings, rows, f"{info['name']}: {n} coordinates, {info['base']} base", words=range(3))
    if mechanism is not None:
        yield from _mechanism_parts(mechanism)
    if info["flexible"] is not None:
        yield from _flexible_parts(info["flexible"])
    links = [
        [link["name"], shown(link["mass"]), "  ".join(map(shown, link["com"])), link["moves_with"] or _STILL]
        for link in info["links"] if link["mass"] > 0.0
    ]  # fmt: skip
    yield Rows(("link", "mass", "mass centre", "moves with"), links, words=(0, 2, 3))
    kinds, prismatic = {row["kind"] for row in joints}, JointKind.PRISMATIC.value
    units = (
        "m, m/s, N" if kinds == {prismatic} else "rad, rad/s, N m" + ("; prismatic m, m/s, N" * (prismatic in kinds))
    )
    gravity = _GRAVITY[mechanism is None and not posed]
    yield f"units: {units}, kg. Bounds that are not given are shown as -. {gravity}"
    if posed:
        yield _INERTIA
    massless = sum(link["mass"] == 0.0 for link in info["links"])
    yield f"total mass: {info['mass']:.6g} kg; links without mass are not shown: {massless}"


def _mechanism_parts(info: dict[str, Any]) -> Iterator[str | Rows]:
    """The loops, and the joints with and without motors."""
    loops = [[r["name"], r["b"], r["a"], r["kind"] or "-", " ".join(r["blocked"])] for r in info["loops"]]
    yield Rows(("loop", "holds", "against", "kind", "blocked"), loops, words=range(5))
    motors = [
        [name, "actuated" if name in info["actuated"] else "passive", shown(value)]
        for name, value in info["posture"].items()
    ]
    yield Rows(("joint", "motor", "posture"), motors, words=(0, 1))
    more = f", {info['redundant']} redundant constraint{'s' * (info['redundant'] != 1)}" if info["redundant"] else ""
    idle = f", {info['idle']} of them idle" if info["idle"] else ""
    yield f"degrees of freedom: {info['freedoms']}{idle}{more}"


def _flexible_parts(info: dict[str, Any]) -> Iterator[str | Rows]:
    """The flexible links and the vibrations."""
    rows = []
    for row in info["links"]:
        clamped = ("  ".join(f"{x:.4g}" for x in row[kind]) or "-" for kind in ("bare", "carrying"))
        moved = ["-", "-"]
        if row["sag"] is not None:
            sag, turn = np.linalg.norm(np.reshape(row["sag"], (2, 3)), axis=1)
            moved = [f"{1e3 * sag:.4g} mm", f"{turn:.3g}"]
        rows.append([row["name"], f"{row['elastic_mass']:.5g}", " ".join(row["modes"]), *clamped, *moved])
    columns = ("flexible link", "elastic mass", "modes", "clamped, bare", "clamped, carrying", "sag", "turn")
    yield Rows(columns, rows, words=range(7))
    damped = ", ".join(
        f"{f:.4g} ({100.0 * r:.2g} %)"
        for f, r in zip(info["frequencies"] or (), info["damping_ratios"] or (), strict=True)
    )
    yield f"vibrations: {info['unsettled']}" if info["frequencies"] is None else (
        f"vibrations at zero with the joints held: {damped} Hz (of critical damping)"
    )
    yield "flexible links: kg, Hz; sag (mm) and turn (rad) of the tip at rest under gravity, all joints at zero."
