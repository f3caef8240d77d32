"""The moving bodies of a tree, as the arrays that kernels read.

Fixed joints are merged into their parent, every joint frame is turned until its axis is z, planar joints
become three joints, mimic joints share their leader's coordinate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError
from rne_dynamics.model import layout
from rne_dynamics.model.inertia import Array, Inertia, read_only
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Mimic, TreeJoint

Base = Literal["fixed", "floating"]

_KIND = {
    JointKind.REVOLUTE: layout.REVOLUTE,
    JointKind.CONTINUOUS: layout.REVOLUTE,
    JointKind.PRISMATIC: layout.PRISMATIC,
    JointKind.FLOATING: layout.FLOATING,
}
_UPPER = np.triu_indices(3)
_FLOATING_NAMES = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z")


@dataclass(frozen=True, eq=False)
class LinkFrame:
    """Frame of a link of the description on its body."""

    #: The link's name.
    name: str
    #: Number of the body it is part of; −1 where it is fixed to the base.
    body: int
    #: ``R_BL`` (3, 3) and ``p_BL`` (3,) of the link's frame in the body's frame; m. For body −1 the body's frame is the
    #: root link's frame.
    rotation: Array
    position: Array


@dataclass(frozen=True, eq=False, repr=False)
class Bodies:
    """The part of a `RobotModel` that kernels read; its attributes are explained there."""

    n: int
    nq: int
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    links: Mapping[str, LinkFrame]
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    topology: NDArray[np.int64]
    parameters: Array
    root_inertia: Inertia


class _Body(NamedTuple):
    """One moving body before it is written into the arrays."""

    name: str
    parent: int
    kind: int
    rotation: Array
    position: Array
    leads: Mimic
    limits: Limits
    friction: Friction
    rotor: float


def align_z(axis: ArrayLike) -> Array:
    """The rotation whose z column is the unit vector `axis` and whose turn is smallest; shape (3, 3).

    The identity for z, a half turn about x for −z.

    Notes
    -----
    Rodrigues about (−y, x, 0) has the factor 1/(1 + z) = (1 − z)/(x² + y²). The first form loses all digits near −z,
    the second near z. The second is taken for z < 0, with the direction (x, y)/√(x² + y²), which no tilt is too small
    for.
    """
    x, y, z = np.asarray(axis, dtype=np.float64)
    across = np.hypot(x, y)
    if across < 1e-300:  # numbers so small have too few digits to give a direction
        return np.diag([1.0, 1.0, 1.0] if z > 0.0 else [1.0, -1.0, -1.0])
    s, a, b = (1.0 / (1.0 + z), x, y) if z >= 0.0 else (1.0 - z, x / across, y / across)
    return np.array([[1.0 - s * a * a, -s * a * b, x], [-s * a * b, 1.0 - s * b * b, y], [-x, -y, z]])


def merged_bodies(tree: KinematicTree, base: Base) -> Bodies:
    """The moving bodies of a tree, fixed links merged into them; `ModelError` for an unknown `base`."""
    if base not in ("fixed", "floating"):
        raise ModelError(f"base is {base!r}; it must be 'fixed' or 'floating'")
    bodies: list[_Body] = []
    frames = {tree.root: LinkFrame(tree.root, -1, np.eye(3), np.zeros(3))}
    joints = tree.depth_first
    if base == "floating":  # a joint from where the root link is at zero to the root link
        joints = (TreeJoint(tree.root, JointKind.FLOATING, tree.root, tree.root), *joints)
    for joint in joints:
        parent = frames[joint.parent]
        R = parent.rotation @ joint.rotation
        p = parent.position + parent.rotation @ joint.position
        if joint.kind is JointKind.FIXED:
            frames[joint.child] = LinkFrame(joint.child, parent.body, R, p)
            continue
        back = np.eye(3)
        for body, turn in _bodies_of(tree, joint, parent.body, len(bodies), R, p):
            bodies.append(body)
            back = turn
        frames[joint.child] = LinkFrame(joint.child, len(bodies) - 1, back, np.zeros(3))
    return _in_arrays(tree, bodies, frames)


def _bodies_of(
    tree: KinematicTree, joint: TreeJoint, parent: int, number: int, R: Array, p: Array
) -> Iterator[tuple[_Body, Array]]:
    """The bodies a joint makes, each with the rotation of the child link's frame in the body's frame."""
    if joint.kind is JointKind.FLOATING:
        yield (
            _Body(joint.name, parent, layout.FLOATING, R, p, Mimic(joint.name), joint.limits, Friction(), 0.0),
            np.eye(3),
        )
        return
    turn = align_z(joint.axis)
    if joint.kind is not JointKind.PLANAR:
        led = tree.leader(joint)
        yield (
            _Body(
                joint.name, parent, _KIND[joint.kind], R @ turn, p, led, joint.limits, joint.friction,
                joint.rotor_inertia,
            ),
            turn.T,
        )
        return
    # a planar joint: translate along the plane's two directions, then turn about its normal
    x_first, y_then, z_last = turn[:, 0], turn[:, 1], turn[:, 2]
    along_x, along_y = align_z(x_first), align_z(y_then)
    steps = (
        ("x", layout.PRISMATIC, R @ along_x, along_x),
        ("y", layout.PRISMATIC, along_x.T @ along_y, along_y),
        ("theta", layout.REVOLUTE, along_y.T @ align_z(z_last), align_z(z_last)),
    )
    for k, (suffix, kind, rotation, frame) in enumerate(steps):
        name = f"{joint.name}/{suffix}"
        yield (
            _Body(
                name, parent if k == 0 else number + k - 1, kind, rotation, p if k == 0 else np.zeros(3), Mimic(name),
                Limits(velocity=joint.limits.velocity, effort=joint.limits.effort), joint.friction, joint.rotor_inertia,
            ),
            frame.T,
        )


def _in_arrays(tree: KinematicTree, bodies: list[_Body], frames: Mapping[str, LinkFrame]) -> Bodies:
    nothing = Inertia()
    inertia = [nothing] * (len(bodies) + 1)  # the last one of what is fixed to the base, body −1
    for link in tree.links:
        frame = frames[link.name]
        if link.inertia is not None:
            there, before = link.inertia.moved(frame.rotation, frame.position), inertia[frame.body]
            inertia[frame.body] = there if before is nothing else before + there

    names: list[str] = []
    limits: list[Limits] = []
    where: dict[str, tuple[int, int]] = {}
    nq = 0
    for body in bodies:
        if body.leads.joint == body.name:
            where[body.name] = (nq, len(names))
            free = body.kind == layout.FLOATING
            names += [f"{body.name}/{suffix}" for suffix in _FLOATING_NAMES] if free else [body.name]
            limits += [Limits()] * 6 if free else [body.limits]
            nq += 7 if free else 1

    topology = np.zeros((len(bodies), layout.TOPOLOGY_COLUMNS), dtype=np.int64)
    parameters = np.zeros((len(bodies), layout.COLUMNS))
    for i, body in enumerate(bodies):
        topology[i] = (body.parent, body.kind, *where[body.leads.joint])
        about = inertia[i].about_origin
        row = parameters[i]
        row[layout.ROTATION : layout.MASS] = *body.rotation.ravel(), *body.position
        row[layout.MASS : layout.ROTOR] = inertia[i].mass, *inertia[i].first_moment, *about[_UPPER]
        row[layout.ROTOR : layout.VISCOUS] = body.rotor, body.leads.multiplier, body.leads.offset
        row[layout.VISCOUS : layout.COLUMNS] = dataclasses.astuple(body.friction)

    lower, upper, velocity, effort = (
        read_only(np.array([getattr(x, name) for x in limits], dtype=np.float64))
        for name in ("lower", "upper", "velocity", "effort")
    )
    return Bodies(
        n=len(names),
        nq=nq,
        joint_names=tuple(names),
        body_names=tuple(b.name for b in bodies),
        links=MappingProxyType({x.name: frames[x.name] for x in tree.links}),
        lower=lower, upper=upper, velocity_limit=velocity, effort_limit=effort,
        topology=read_only(topology),
        parameters=read_only(parameters),
        root_inertia=inertia[-1],
    )
