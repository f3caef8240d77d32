"""Robot of a node's parameters: an arm from a URDF, or the robot of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rne_dynamics.description.sources import Source, SourceLike, names_model_file, read_source
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import closed
from rne_dynamics.errors import DescriptionError, ParameterError, refuse, unknown_name
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.tree import KinematicTree

if TYPE_CHECKING:
    from rne_dynamics.model.protocol import Robot


@dataclass(frozen=True, eq=False)
class DescribedRobot:
    """A robot and the joints that were locked out of it."""

    #: Without payload; of a mechanism the posture is exact. Of an arm with flexible links a controller takes the rigid
    #: one, `robot.rigid`.
    robot: Robot
    #: Where the joints are that `joints` left out, by name; rad or m.
    locked: dict[str, float]
    #: The links and joints before any were locked, with the rigid links of an arm that has flexible ones.
    free: KinematicTree


def load_robot(model: str, description: str, joints: Sequence[str], gravity: Sequence[float]) -> DescribedRobot:
    """The robot of the parameters of these names; joints left out are locked at zero, or in a mechanism's posture."""
    # ParameterError, DescriptionError, ModelError: both or the wrong kind of source, joints that are none or named
    # twice
    refuse(
        ParameterError,
        (model and description,
         f"parameter model is {model!r} and robot_description is given too; give one of them: a model file names its "
         "URDF itself"),
        (not model and names_model_file(description),
         f"parameter robot_description is {description[:80]!r}, a model file; give it as the parameter model"),
    )
    source = model or description
    robot = _read(source, gravity)
    if not joints:
        return DescribedRobot(robot.with_shared_code(), {}, robot.tree)
    for name in joints:
        robot.joint_index(name)
    if len(set(joints)) != len(joints):
        raise ParameterError(f"parameter joints names a joint twice: {', '.join(joints)}")
    at = np.zeros(robot.n) if robot.posture is None else robot.neutral
    locked = {name: float(at[j]) for j, name in enumerate(robot.joint_names) if name not in joints}
    return DescribedRobot(_read(source, gravity, locked) if locked else robot.with_shared_code(), locked, robot.tree)


def relocked(described: DescribedRobot, positions: Mapping[str, float]) -> DescribedRobot:
    """The same with joints locked at other positions, rad or m: nothing is read or compiled again. ModelError."""
    # 1 ms for an arm, 10 to 20 ms for a robot of 50 joints; of an arm with flexible links the rigid one
    for name in positions:
        if name not in described.locked:
            raise unknown_name("locked joint", name, described.locked, f"robot {described.robot.name!r}")
    locked = described.locked | {name: float(position) for name, position in positions.items()}
    old = described.robot.rigid
    tree = assemble(described.free.with_locked(locked), base=old.base, gravity=old.gravity)
    return DescribedRobot(closed(old.on_tree(tree)), locked, described.free)


def _read(source: str, gravity: Sequence[float], lock: Mapping[str, float] | None = None) -> Robot:
    robot: Robot
    if not names_model_file(source):
        # Payloads and locked joints change the model under way, and nothing may be compiled then. `with_shared_code`
        # serves all payloads; not locked joints, which move the places of other joints.
        robot = load_urdf(source, lock=lock).with_own_code(False)
    else:
        # late: the import takes 0.1 s, which a URDF does not need
        from rne_dynamics.description.model_file import load_model

        robot = load_model(source, lock=lock).with_own_code(False)
    return closed(robot.with_gravity(gravity) if len(gravity) else robot)


# -- the robot description as text, for the topic and the parameter of that name ---------------------------------------


def description_source(source: SourceLike, mappings: Mapping[str, str] | None = None) -> Source:
    """The URDF of a description, as `description_text` has its text; parameters and errors likewise."""
    if not names_model_file(source):
        return read_source(source, mappings)
    from rne_dynamics.description.model_file import urdf_source  # late, as in `_read`

    return urdf_source(source)


def description_text(source: SourceLike, mappings: Mapping[str, str] | None = None) -> str:
    """URDF text of a path, a URI, a shipped robot's name, text itself, or that of a model file; DescriptionError."""
    read = description_source(source, mappings)
    try:
        return read.data.decode(read.encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DescriptionError(
            f"{read.name} is not UTF-8 (byte {error.start}); a topic carries text only, so save it as UTF-8"
        ) from None
