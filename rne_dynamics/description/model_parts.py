"""Parts of a model file checked against the tree of its URDF: drives, payload, loops, actuated joints, posture."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from rne_dynamics.description.lint.findings import Finding, Reading, error, first_of
from rne_dynamics.description.model_schema import KINDS, NO_ROTORS
from rne_dynamics.description.schema import Marked, value_of
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.model.inertia import Array, symmetric
from rne_dynamics.model.layout import FLOATING, KIND
from rne_dynamics.model.mechanism import DIRECTIONS, Loop, LoopFrame
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import ONE_FREEDOM, Friction, JointKind, KinematicTree, Payload

Values = Mapping[str, Marked]
_ZERO = (0.0, 0.0, 0.0)


def with_drives(values: Values, tree: KinematicTree) -> Reading[KinematicTree]:
    """Yield what is wrong with `friction` and `rotors`; return the tree with them."""
    friction: dict[str, Friction] = {}
    if value_of(values, "rotors", None) == NO_ROTORS:
        tree, rotors = tree.without_rotors(), dict[str, float]()
    else:
        rotors = {name: x.value for name, x in (yield from _of_joints(values, "rotors", tree)).items()}
    for name, given in (yield from _of_joints(values, "friction", tree)).items():
        friction[name] = (yield from _friction(name, given)) or Friction()
    joints = (
        replace(joint, friction=friction.get(joint.name, joint.friction),
                rotor_inertia=rotors.get(joint.name, joint.rotor_inertia)) for joint in tree.joints
    )  # fmt: skip
    return replace(tree, joints=tuple(joints)) if friction or rotors else tree


def _of_joints(values: Values, key: str, tree: KinematicTree) -> Reading[dict[str, Marked]]:
    """Yield names in a table that are no joint that moves; return the other entries."""
    movable = [joint.name for joint in tree.joints if joint.kind in ONE_FREEDOM]
    found = {}
    for name, given in value_of(values, key, {}).items():
        if (yield from known_name(name, movable, given.line, key, "joint that moves")):
            found[name] = given
    return found


def read_payload(values: Values, tree: KinematicTree) -> Reading[Payload | None]:
    """Yield what is wrong with `payload`; return it."""
    if "payload" not in values:
        return None
    given: dict[str, Marked] = values["payload"].value
    link = given["link"]
    if not (yield from known_name(link.value, [x.name for x in tree.links], link.line, "payload link", "link")):
        return None
    inertia = symmetric(value_of(given, "inertia", (0.0,) * 6))
    moments = np.linalg.eigvalsh(inertia)
    slack = 1e-6 * abs(moments[2])
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        yield error(
            given["inertia"].line, "payload inertia",
            f"has the principal moments {', '.join(f'{x:.4g}' for x in moments)} kg m^2; no body has them: each must "
            "be positive and at most the sum of the other two", "write ixx ixy ixz iyy iyz izz about the mass centre",
        )
        return None
    return Payload(link.value, given["mass"].value, value_of(given, "com", _ZERO), inertia)


def read_loops(values: Values, robot: RobotModel) -> Reading[tuple[Loop, ...]]:
    """Yield what is wrong with `loops`; return the valid ones."""
    loops: list[Loop] = []
    seen: dict[str, int] = {}
    for entry in values["loops"].value:
        given: dict[str, Marked] = entry.value
        name = str(given["name"].value)
        where = f"loop {name!r}"
        if name in seen:
            yield error(
                given["name"].line, where,
                f"the name is there twice, first in line {seen[name]}; names must be unique", "rename one of them",
            )
            continue
        seen[name] = given["name"].line
        blocked = yield from _blocked(given, entry.line, where)
        a = yield from _frame(given["a"], f"{where} a", robot)
        b = yield from _frame(given["b"], f"{where} b", robot)
        if blocked is None or a is None or b is None:
            continue
        if robot.links[a.link].body == robot.links[b.link].body:
            yield error(
                entry.line, where, f"links {a.link!r} and {b.link!r} are one body, so the loop closes nothing",
                "name two links with a joint between them",
            )
            continue
        loops.append(Loop(name, a, b, np.array(blocked)))
    return tuple(loops)


def read_actuated(values: Values, robot: RobotModel) -> Reading[tuple[str, ...]]:
    """Yield what is wrong with `actuated`; return the valid joints."""
    names: list[str] = []
    for given in values["actuated"].value:
        if given.value in names:
            yield error(given.line, "actuated", f"joint {given.value!r} is there twice", "delete one of them")
        elif (yield from _coordinate(given.value, given.line, "actuated", robot)):
            names.append(given.value)
    return tuple(names)


def read_sharing(values: Values, key: str, actuated: tuple[str, ...]) -> Reading[dict[str, float]]:
    """Yield what is wrong with `effort_weights` or `preload`; return it by joint name."""
    shares: dict[str, float] = {}
    for name, given in value_of(values, key, {}).items():
        if not (yield from known_name(name, actuated, given.line, key, "actuated joint")):
            continue
        if key == "effort_weights" and not given.value > 0.0:
            yield error(
                given.line, key, f"of {name!r} is {given.value:g}; it must be above 0", "give a weight above 0"
            )
            continue
        shares[name] = given.value
    return shares


def read_posture(values: Values, robot: RobotModel) -> Reading[Array]:
    """Yield what is wrong with `posture`; return positions of all joints of the tree, shape (nq,)."""
    posture = np.zeros(robot.nq)
    for name, given in value_of(values, "posture", {}).items():
        if (yield from _coordinate(name, given.line, "posture", robot)):
            posture[robot.joint_index(name)] = given.value
    return posture


def lint_whole(values: Values, root_line: int, robot: RobotModel) -> Iterator[Finding]:
    """Yield keys that loops require, that need loops, or that do not fit this tree."""
    if "loops" not in values:
        for key in ("actuated", "posture", "effort_weights", "preload"):
            if key in values and not (key == "posture" and "flexible" in values):
                yield error(
                    values[key].line, key, "is given, but there are no loops; every joint of an open arm is actuated",
                    "delete it, or add `loops`",
                )
        return
    loops, actuated = values["loops"], values.get("actuated")
    yield from first_of(
        loops.line, "loops",
        (not loops.value, error, "is an empty list", "describe a loop, or delete `loops`"),
        (bool((robot.topology[:, KIND] == FLOATING).any()), error,
         "the URDF has a floating joint; closed loops are supported with joints of one freedom",
         "make the joint fixed, or split it into joints of one freedom"),
    )  # fmt: skip
    yield from first_of(
        root_line if actuated is None else actuated.line, "the file" if actuated is None else "actuated",
        (actuated is None, error, "actuated is missing: with loops, the joints with motors", "write `actuated: [...]`"),
        (actuated is not None and not actuated.value, error, "is an empty list; at least one joint must be driven",
         "name a joint"),
    )  # fmt: skip


def _blocked(given: Values, line: int, where: str) -> Reading[list[bool] | None]:
    if ("kind" in given) == ("blocked" in given):
        both = "both kind and blocked are given" if "kind" in given else "neither kind nor blocked is given"
        yield error(line, where, f"{both}; one of them is needed", f"write for example kind: {next(iter(KINDS))}")
        return None
    if "kind" in given:
        directions = list(KINDS[given["kind"].value].value)
    else:
        directions = [x.value for x in given["blocked"].value]
        twice = [x for i, x in enumerate(directions) if x in directions[:i]]
        if twice or not directions:
            message = f"direction {twice[0]} is there twice" if twice else "is an empty list: nothing would be closed"
            yield error(
                given["blocked"].line, f"{where} blocked", message, f"list some of {', '.join(DIRECTIONS)}, each once"
            )
            return None
    return [direction in directions for direction in DIRECTIONS]


def _frame(entry: Marked, where: str, robot: RobotModel) -> Reading[LoopFrame | None]:
    given: dict[str, Marked] = entry.value
    link = given["link"]
    if not (yield from known_name(link.value, robot.link_names, link.line, where, "link")):
        return None
    rotation = rotation_rpy(*value_of(given, "rpy", _ZERO))
    return LoopFrame(link.value, rotation, np.array(value_of(given, "xyz", _ZERO)))


def _friction(name: str, given: Marked) -> Reading[Friction | None]:
    numbers: dict[str, Marked] = given.value
    one = [key for key in ("coulomb_forward", "coulomb_backward") if key in numbers]
    for key in ("coulomb", "offset"):
        if one and key in numbers:
            yield error(
                numbers[key].line, f"friction {name!r}", f"{key} and {one[0]} are both given; one or the other",
                f"delete {key}",
            )
            return None
    read = {key: number.value for key, number in numbers.items()}
    both, offset = read.pop("coulomb", 0.0), read.pop("offset", 0.0)
    friction = Friction(**{"coulomb_forward": both + offset, "coulomb_backward": both - offset, **read})
    if fault := friction.fault():
        line, message = numbers.get("stribeck", given).line, fault.removeprefix("friction ")
        yield error(line, f"friction {name!r}", message, "add it")
        return None
    return friction


def _coordinate(name: str, line: int, where: str, robot: RobotModel) -> Reading[bool]:
    """Whether a name is that of an independent joint of the tree; yield what is wrong if not."""
    joint = next((j for j in robot.tree.joints if j.name == name), None)
    if name in robot.joint_names or joint is None or (joint.mimic is None and joint.kind is not JointKind.FIXED):
        return (yield from known_name(name, robot.joint_names, line, where, "joint"))
    leader = robot.tree.leader(joint).joint
    yield from first_of(
        line, where,
        (joint.mimic is not None, error, f"joint {name!r} mimics {leader!r} and moves with it",
         f"name {leader!r} instead"),
        (True, error, f"joint {name!r} is fixed", "delete it here, or give it another type in the URDF"),
    )  # fmt: skip
    return False


def known_name(name: str, known: Collection[str], line: int, where: str, kind: str) -> Reading[bool]:
    """Whether a name is one of the URDF's; yield what is wrong if not."""
    if name in known:
        return True
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    names = [*known]
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    fix = f"write {' or '.join(map(repr, near))}" if near else f"name one of: {listed or 'there is none'}"
    yield error(line, where, f"there is no {kind} named {name!r} in the URDF", fix)
    return False
