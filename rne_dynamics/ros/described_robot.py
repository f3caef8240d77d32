"""What a node's parameters describe: an arm from a URDF, or whatever a model file makes of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.description.sources import names_model_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ParameterError, unknown_name
from rne_dynamics.model.assembly import assemble, with_payload
from rne_dynamics.model.flexible.arm import AnyRobot, FlexibleArm
from rne_dynamics.model.inertia import frozen_array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Payload


@dataclass(frozen=True, eq=False)
class DescribedRobot:
    """A machine and the joints that were locked out of it.

    Parameters
    ----------
    machine
        Without payload; of a mechanism the posture is exact. Of an arm with flexible links a controller takes the
        rigid one, `machine.rigid`.
    locked
        Where the joints are that `joints` left out, by name; rad or m.
    free
        The links and joints before any were locked, with the rigid links of an arm that has flexible ones.
    """

    machine: AnyRobot
    locked: dict[str, float]
    free: KinematicTree


def load_robot(model: str, description: str, joints: Sequence[str], gravity: Sequence[float]) -> DescribedRobot:
    """The machine that the parameters of these names describe.

    Parameters
    ----------
    model
        As `load_model` takes it; empty for none.
    description
        As `load_urdf` takes it; not used, and to be empty, where there is a model.
    joints
        The joints to drive, of a mechanism among its actuated ones; empty for all. Others are locked: at zero, those of
        a mechanism where its posture has them.
    gravity
        In the axes of the base link, m/s²; empty for the model's own.

    Raises
    ------
    ParameterError
        Both a model and a description, a model file where a URDF should be, a joint named twice.
    DescriptionError, ModelError
        What `load_model` refuses; an unknown or passive joint, a mechanism whose loops do not close.
    """
    if model and description:
        raise ParameterError(
            f"parameter model is {model!r} and robot_description is given too; give one of them: a model file names "
            "its URDF itself"
        )
    if not model and names_model_file(description):
        raise ParameterError(
            f"parameter robot_description is {description[:80]!r}, a model file; give it as the parameter model"
        )
    source = model or description
    machine = ready(_read(source), gravity)
    if not joints:
        return DescribedRobot(machine, {}, machine.tree)
    for name in joints:
        machine.joint_index(name)
    if len(set(joints)) != len(joints):
        raise ParameterError(f"parameter joints names a joint twice: {', '.join(joints)}")
    at = machine.neutral if isinstance(machine, Mechanism) else np.zeros(machine.n)
    locked = {name: float(at[j]) for j, name in enumerate(machine.joint_names) if name not in joints}
    return DescribedRobot(ready(_read(source, locked), gravity) if locked else machine, locked, machine.tree)


def relocked(described: DescribedRobot, positions: Mapping[str, float]) -> DescribedRobot:
    """The same with joints locked elsewhere: nothing is read or compiled again.

    A new model takes 1 ms for an arm, 10 to 20 ms for a robot of 50 joints.

    Parameters
    ----------
    described
        What `load_robot` gave. Of an arm with flexible links the rigid one is made.
    positions
        Where joints of `described.locked` are now, by name, rad or m; the others stay.

    Raises
    ------
    ModelError
        A joint that is not locked, a position that is not finite, a mechanism whose loops do not close then.
    """
    for name in positions:
        if name not in described.locked:
            raise unknown_name("locked joint", name, described.locked, f"robot {described.machine.name!r}")
    locked = described.locked | {name: float(position) for name, position in positions.items()}
    old = described.machine.rigid
    tree = described.free.with_locked(locked)
    if isinstance(old, Mechanism):
        robot = assemble(tree, base=old.robot.base, gravity=old.robot.gravity)
        machine: RigidRobot = assembled(old.on_tree(robot))
    else:
        machine = assemble(tree, base=old.base, gravity=old.gravity)
    return DescribedRobot(machine, locked, described.free)


def endless(tree: KinematicTree) -> frozenset[str]:
    """Names of the joints that turn without end."""
    return frozenset(joint.name for joint in tree.joints if joint.kind is JointKind.CONTINUOUS)


def _read(source: str, lock: Mapping[str, float] | None = None) -> AnyRobot:
    if not names_model_file(source):
        return load_urdf(source, lock=lock)
    # late: the import takes 0.1 s, which a URDF does not need
    from rne_dynamics.description.model_file import load_model

    return load_model(source, lock=lock)


def ready(machine: AnyRobot, gravity: Sequence[float]) -> AnyRobot:
    """The machine under another gravity, if one is given, its loops closed to round-off."""
    if len(gravity):
        pull = frozen_array(gravity, (3,), "gravity")
        machine = (
            replace(machine, gravity=pull) if isinstance(machine, RobotModel)
            else replace(machine, robot=replace(machine.robot, gravity=pull))
        )
    return assembled(machine) if isinstance(machine, Mechanism) else machine


@overload
def loaded(machine: RigidRobot, payload: Payload | None) -> RigidRobot: ...


@overload
def loaded(machine: AnyRobot, payload: Payload | None) -> AnyRobot: ...


def loaded(machine: AnyRobot, payload: Payload | None) -> AnyRobot:
    """The machine carrying a payload, if there is one; `ModelError` for an unknown link."""
    if payload is None:
        return machine
    return with_payload(machine, payload) if isinstance(machine, RobotModel) else machine.with_payload(payload)


def with_effort_limit(machine: AnyRobot, limit: ArrayLike) -> AnyRobot:
    """The machine with other effort limits of its driven joints, N·m or N; shape (n,)."""
    if isinstance(machine, RobotModel):
        return replace(machine, effort_limit=np.asarray(limit, dtype=np.float64))
    if isinstance(machine, FlexibleArm):
        return replace(machine, robot=replace(machine.robot, effort_limit=np.asarray(limit, dtype=np.float64)))
    limits = np.array(machine.robot.effort_limit)
    limits[machine.actuated] = limit
    return replace(machine, robot=replace(machine.robot, effort_limit=limits))


def driven_first(machine: RigidRobot) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of all joints, the driven ones in front, and the places of these joints in the tree's vectors."""
    places = np.arange(machine.n)
    if isinstance(machine, Mechanism):
        places = np.concatenate([machine.actuated, machine.passive])
    names = machine.open_tree.joint_names
    return tuple(names[k] for k in places), places
