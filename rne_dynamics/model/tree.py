"""A robot as described: links and joints in their own frames, nothing merged.

`KinematicTree` is what parsers produce and what `assemble` turns into a `RobotModel`. Payloads and
locked joints are changes of the tree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError, index_of, refuse, unknown_name
from rne_dynamics.model.inertia import Array, Inertia, Rebuilt, frozen_array, set_fields, skew


class JointKind(Enum):
    """The kinds of joint a description can name (those of URDF)."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"
    FLOATING = "floating"
    PLANAR = "planar"


#: Joints of one freedom.
ONE_FREEDOM = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; absent ones are infinite. Units rad or m, rad/s or m/s, N·m or N."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class Friction:
    """Joint friction, for the law in `rne_dynamics.model.friction`.

    Coulomb friction that differs by direction is Coulomb friction with an offset, half of the difference. One of the
    two is negative where the offset is larger than Coulomb friction; their sum never is.
    """

    #: N·m·s/rad or N·s/m.
    viscous: float = 0.0
    #: Against motion in the positive and in the negative direction, N·m or N.
    coulomb_forward: float = 0.0
    coulomb_backward: float = 0.0
    #: What is added at rest, N·m or N, and the speed at which a part 1/e of it is left, rad/s or m/s.
    stribeck: float = 0.0
    stribeck_velocity: float = 0.0
    #: Speed below which Coulomb friction grows, rad/s or m/s: of the controller and of identification; 0 for theirs.
    threshold: float = 0.0

    @property
    def coulomb(self) -> float:
        """Coulomb friction without the offset, N·m or N."""
        return 0.5 * (self.coulomb_forward + self.coulomb_backward)

    @property
    def offset(self) -> float:
        """Friction besides that which changes its sign with the motion, N·m or N."""
        return 0.5 * (self.coulomb_forward - self.coulomb_backward)

    def fault(self) -> str:
        """What is wrong with the numbers; empty where nothing is."""
        for label, value in vars(self).items():
            signed = label in ("coulomb_forward", "coulomb_backward") and self.coulomb >= 0.0
            if not (math.isfinite(value) and (value >= 0.0 or signed)):
                return f"friction {label} is {value}; it must be finite and not negative"
        if self.stribeck > 0.0 and not self.stribeck_velocity > 0.0:
            return f"friction stribeck is {self.stribeck:g} without a stribeck_velocity; give one above 0, rad/s or m/s"
        return ""


@dataclass(frozen=True)
class Mimic:
    """A dependent coordinate: q = multiplier · q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class TreeJoint(Rebuilt):
    """One joint of the description.

    Parameters
    ----------
    name, kind, parent, child
        The joint's name and kind, and the names of the links it connects.
    rotation, position
        Placement ``R_PJ`` (3, 3) and ``p_PJ`` (3,) of the joint frame in the parent link's frame at q = 0; m.
    axis
        Direction of motion in the joint frame, shape (3,); made a unit vector here. Ignored by fixed and
        floating joints; the plane's normal for planar ones.
    limits, friction, mimic
        See their classes.
    rotor_inertia
        Rotor inertia as the joint feels it (rotor's own times gear ratio squared), kg·m² or kg.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    limits: Limits = Limits()
    friction: Friction = Friction()
    rotor_inertia: float = 0.0
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        where, fault = f"joint {self.name!r}", self.friction.fault()
        turns = self.kind not in (JointKind.FIXED, JointKind.FLOATING)
        axis = np.array(self.axis if turns else (0.0, 0.0, 1.0), dtype=np.float64)
        length = math.hypot(*axis.ravel().tolist())
        refuse(
            ModelError,
            (axis.shape != (3,) or not 1e-12 < length < math.inf,
             f"{where}: axis is {axis.tolist()}; it must be three finite numbers, not all zero"),
            (not (math.isfinite(self.rotor_inertia) and self.rotor_inertia >= 0.0),
             f"{where}: rotor inertia is {self.rotor_inertia}; it must be finite and not negative"),
            (fault, f"{where}: {fault}"),
            (self.limits.lower > self.limits.upper,
             f"{where}: lower limit {self.limits.lower} is above the upper limit {self.limits.upper}; swap them"),
        )  # fmt: skip
        set_fields(
            self, rotation=frozen_array(self.rotation, (3, 3), f"{where}: rotation"),
            position=frozen_array(self.position, (3,), f"{where}: position"),
            axis=frozen_array(axis / length, (3,), f"{where}: axis"),
            # nothing moves in a fixed joint, whatever the description says it should follow
            mimic=None if self.kind is JointKind.FIXED else self.mimic,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TreeLink:
    """One link: its name and its inertia in the link's frame (`None` where the description gives none)."""

    name: str
    inertia: Inertia | None = None


@dataclass(frozen=True, eq=False)
class Payload:
    """A load rigidly attached to a link.

    Parameters
    ----------
    link
        The link that carries it.
    mass
        kg.
    com
        Mass centre in the link's frame, m; shape (3,).
    inertia
        About the mass centre along the link's axes, kg·m²; shape (3, 3).
    """

    link: str
    mass: float
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class KinematicTree(Rebuilt):
    """Links and joints that form one tree.

    Parameters
    ----------
    name
        The robot's name.
    links, joints
        In the order of the description.

    Raises
    ------
    ModelError
        Duplicate names, a joint whose links do not exist, a link with two parents, two roots, a loop, or a
        mimic joint whose leader is missing, fixed or itself a mimic of a mimic in a circle.
    """

    name: str
    links: tuple[TreeLink, ...]
    joints: tuple[TreeJoint, ...]

    def __post_init__(self) -> None:
        if not self.links:
            raise ModelError(f"robot {self.name!r} has no link; it needs at least one")
        for kind, parts in (("link", self.links), ("joint", self.joints)):
            twice = [name for name, number in Counter(x.name for x in parts).items() if number > 1]
            if twice:
                raise ModelError(f"robot {self.name!r}: {kind} {twice[0]!r} is there twice; names must be unique")
        links = {x.name for x in self.links}
        parent_joint: dict[str, TreeJoint] = {}
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                if end not in links:
                    raise unknown_name("link", end, links, f"joint {joint.name!r} of robot {self.name!r}")
            if joint.child in parent_joint:
                raise ModelError(
                    f"robot {self.name!r}: link {joint.child!r} has two parents, joints "
                    f"{parent_joint[joint.child].name!r} and {joint.name!r}; a tree allows one"
                )
            parent_joint[joint.child] = joint
        roots = [x.name for x in self.links if x.name not in parent_joint]
        refuse(
            ModelError,
            (not roots, f"robot {self.name!r}: every link has a parent, so the joints form a loop; cut it"),
            (len(roots) > 1,
             f"robot {self.name!r} has {len(roots)} roots: {', '.join(roots)}; join them to one tree"),
        )  # fmt: skip
        if len(self.depth_first) != len(self.joints):
            lost = sorted(links - {roots[0]} - {j.child for j in self.depth_first})
            raise ModelError(f"robot {self.name!r}: links {', '.join(lost)} form a loop apart from the root; cut it")
        for joint in self.joints:
            self.leader(joint)

    @cached_property
    def root(self) -> str:
        """Name of the link that has no parent."""
        children = {j.child for j in self.joints}
        return next(x.name for x in self.links if x.name not in children)

    @cached_property
    def depth_first(self) -> tuple[TreeJoint, ...]:
        """The joints, each after its parent, branches in the order of the description."""
        by_parent: dict[str, list[TreeJoint]] = {}
        for joint in self.joints:
            by_parent.setdefault(joint.parent, []).append(joint)
        order: list[TreeJoint] = []
        stack = list(reversed(by_parent.get(self.root, [])))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(by_parent.get(joint.child, [])))
        return tuple(order)

    def link(self, name: str) -> TreeLink:
        """The link of that name; `ModelError` with the nearest names otherwise."""
        return self.links[index_of(name, [part.name for part in self.links], "link", f"robot {self.name!r}")]

    def joint(self, name: str) -> TreeJoint:
        """The joint of that name; `ModelError` with the nearest names otherwise."""
        return self.joints[index_of(name, [part.name for part in self.joints], "joint", f"robot {self.name!r}")]

    def leader(self, joint: TreeJoint) -> Mimic:
        """The independent joint that moves `joint`, with the multipliers and offsets of the way collected."""
        multiplier, offset, seen = 1.0, 0.0, [joint.name]
        while joint.mimic is not None:
            if joint.kind not in ONE_FREEDOM:
                raise ModelError(f"joint {joint.name!r} is {joint.kind.value} and cannot mimic another joint")
            offset += multiplier * joint.mimic.offset
            multiplier *= joint.mimic.multiplier
            joint = self.joint(joint.mimic.joint)
            if joint.name in seen:
                raise ModelError(f"joints {' -> '.join([*seen, joint.name])} mimic each other in a circle")
            seen.append(joint.name)
        if len(seen) > 1 and joint.kind not in ONE_FREEDOM:
            raise ModelError(
                f"joint {seen[0]!r} mimics {joint.name!r}, which is {joint.kind.value}; "
                "it must be revolute, continuous or prismatic"
            )
        return Mimic(joint.name, multiplier, offset)

    def with_payload(self, payload: Payload) -> KinematicTree:
        """A new tree in which `payload` is part of its link."""
        link = self.link(payload.link)
        load = Inertia(payload.mass, np.asarray(payload.com), np.asarray(payload.inertia))
        loaded = replace(link, inertia=load if link.inertia is None else link.inertia + load)
        return replace(self, links=tuple(loaded if x is link else x for x in self.links))

    def without_rotors(self) -> KinematicTree:
        """A new tree whose joints feel no rotor inertia: its efforts are those behind the gears."""
        return replace(self, joints=tuple(replace(joint, rotor_inertia=0.0) for joint in self.joints))

    def with_locked(self, lock: Mapping[str, float]) -> KinematicTree:
        """A new tree in which the named joints are fixed at a value (rad or m), as are joints that mimic them."""
        for name in lock:
            joint = self.joint(name)
            leader = joint.mimic.joint if joint.mimic else ""
            refuse(
                ModelError,
                (leader, f"joint {name!r} mimics {leader!r}; lock {leader!r} instead"),
                (joint.kind not in ONE_FREEDOM,
                 f"joint {name!r} is {joint.kind.value}; only revolute, continuous and prismatic joints lock"),
                (not math.isfinite(lock[name]),
                 f"joint {name!r} is to be locked at {lock[name]}; the value must be finite"),
            )  # fmt: skip
        joints = list(self.joints)
        for k, joint in enumerate(joints):
            led = self.leader(joint)
            if led.joint in lock and joint.kind is not JointKind.FIXED:
                joints[k] = _fixed_at(joint, led.multiplier * float(lock[led.joint]) + led.offset)
        return replace(self, joints=tuple(joints))


def accumulated(tree: KinematicTree) -> dict[str, Inertia]:
    """By link, the inertia of its subtree in its frame, joints at zero."""
    moved = {link.name: link.inertia or Inertia() for link in tree.links}
    for joint in reversed(tree.depth_first):
        moved[joint.parent] += moved[joint.child].moved(joint.rotation, joint.position)
    return moved


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix by `angle` (rad) about a unit vector (Rodrigues); shape (3, 3)."""
    K = skew(axis)
    return np.asarray(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K)


def _fixed_at(joint: TreeJoint, value: float) -> TreeJoint:
    fixed = replace(joint, kind=JointKind.FIXED)  # with its friction and rotor
    if joint.kind is JointKind.PRISMATIC:
        return replace(fixed, position=joint.position + joint.rotation @ joint.axis * value)
    return replace(fixed, rotation=joint.rotation @ rotation_about(joint.axis, value))
