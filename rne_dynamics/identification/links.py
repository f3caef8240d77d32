"""Identified parameters in the links and joints of a description: what the model is written from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.identification.columns import STRIBECK
from rne_dynamics.identification.identify import Identified
from rne_dynamics.identification.pseudo_inertia import corrected, moved, parameters_of, pseudo_inertia
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.inertia import Array, Inertia, symmetric
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Friction, KinematicTree, Payload, TreeJoint, TreeLink

#: Least eigenvalue of a link's pseudo-inertia over that of its body, where one link takes all of a body's change.
_MARGIN = 1e-3


def identified_robot(found: Identified) -> RobotModel:
    """The robot with the identified inertias, friction and rotors, and with the payload where there is one.

    Where efforts are measured in the joints, its joints feel no rotors.
    """
    robot = found.layout.robot
    tree = identified_tree(found)
    payload = identified_payload(found)
    return assemble(tree if payload is None else tree.with_payload(payload), gravity=robot.gravity).with_own_code()


def identified_tree(found: Identified) -> KinematicTree:
    """The description with the identified inertias, friction and rotors; without the payload."""
    robot, links = found.layout.robot, 10 * found.layout.robot.bodies
    new = links_with(robot, pseudo_inertia(found.parameters[:links]))
    rotors = found.layout.rotors
    own = {
        name: (_friction(found, j), float(found.parameters[place[-1]]) if rotors else 0.0)
        for j, (name, place) in enumerate(zip(robot.joint_names, found.layout.places(found.forms), strict=True))
    }
    joints = tuple(_joint(robot.tree, joint, own) for joint in robot.tree.joints)
    return replace(robot.tree, links=tuple(new.get(x.name, x) for x in robot.tree.links), joints=joints)


def identified_payload(found: Identified) -> Payload | None:
    """The payload that was found, in its link's frame."""
    name, robot = found.layout.payload, found.layout.robot
    if name is None:
        return None
    frame = robot.links[name]
    body = pseudo_inertia(found.parameters[found.layout.links - 10 : found.layout.links])[0]
    load = _inertia(moved(body, frame.rotation.T, -frame.rotation.T @ frame.position))
    return Payload(name, load.mass, load.com, load.inertia)


def links_with(robot: RobotModel, bodies: Array) -> dict[str, TreeLink]:
    """Links by name, changed until the bodies that they make have given pseudo-inertias, shape (bodies, 4, 4).

    A body's first link with mass takes the change. Where it would not be a body any more, all links of the body share
    the change: one congruence, after which each still is one. Links that were none are corrected first.
    """
    found: dict[str, TreeLink] = {}
    for i in range(robot.bodies):
        parts = {x: robot.links[x.name] for x in robot.tree.links if robot.links[x.name].body == i}
        heavy = [x for x in parts if x.inertia is not None and x.inertia.mass > 0.0]
        own, _ = corrected(np.concatenate([_parameters(x.inertia) for x in heavy] or [np.zeros(0)]), robot.link_names)
        heavy = heavy or [next(iter(parts))]
        in_body = {x: moved(P, parts[x].rotation, parts[x].position) for x, P in zip(heavy, own, strict=False)}
        first = bodies[i] - sum((in_body[x] for x in heavy[1:]), np.zeros((4, 4)))
        if len(heavy) == 1 or np.linalg.eigvalsh(first)[0] > _MARGIN * np.linalg.eigvalsh(bodies[i])[0]:
            in_body[heavy[0]] = first
        else:
            A = _congruence(sum(in_body.values(), np.zeros((4, 4))), bodies[i])
            in_body = {x: A @ P @ A.T for x, P in in_body.items()}
        for x, P in in_body.items():
            R, p = parts[x].rotation, parts[x].position
            found[x.name] = replace(x, inertia=_inertia(moved(P, R.T, -R.T @ p)))
    return found


def _parameters(inertia: Inertia | None) -> Array:
    """The ten of a link, in its own frame."""
    assert inertia is not None
    return np.asarray(np.r_[inertia.mass, inertia.first_moment, inertia.about_origin[np.triu_indices(3)]])


def _inertia(P: Array) -> Inertia:
    mass, *rest = parameters_of(P[None])
    return Inertia.from_origin(mass, np.array(rest[:3]) / mass, symmetric(rest[3:]))


def _congruence(old: Array, new: Array) -> Array:
    """A with A old Aᵀ = new, both positive definite: the geometric mean of old⁻¹ and new."""
    root = _power(old, 0.5)
    back = _power(old, -0.5)
    return np.asarray(back @ _power(root @ new @ root, 0.5) @ back)


def _power(P: Array, exponent: float) -> Array:
    values, axes = np.linalg.eigh(P)
    return np.asarray((axes * np.maximum(values, 1e-12 * values[-1]) ** exponent) @ axes.T)


def _friction(found: Identified, j: int) -> Friction:
    form = found.forms[j]
    viscous, coulomb, offset, *more = found.parameters[found.layout.places(found.forms)[j]].tolist()
    stribeck = {"stribeck": more[0], "stribeck_velocity": STRIBECK * form.threshold} if form.stribeck else {}
    return Friction(viscous, coulomb + offset, coulomb - offset, threshold=form.threshold, **stribeck)


def _joint(tree: KinematicTree, joint: TreeJoint, own: dict[str, tuple[Friction, float]]) -> TreeJoint:
    """A joint with what was found; joints that mimic another one leave friction and rotor to it."""
    if joint.name in own:
        friction, rotor = own[joint.name]
        return replace(joint, friction=friction, rotor_inertia=rotor)
    if joint.mimic is not None and tree.leader(joint).joint in own:
        return replace(joint, friction=Friction(), rotor_inertia=0.0)
    return joint


def open_arm(robot: AnyRobot) -> RobotModel:
    """The robot; `ModelError` if its parameters cannot be identified."""
    joints = {joint.name for joint in robot.rigid.open_tree.tree.joints}
    if robot.kind != "arm" or robot.nq != robot.n or not joints.issuperset(robot.joint_names):
        raise ModelError(
            f"robot {robot.name!r} is no open arm on a fixed base with joints of one freedom; parameters of other "
            "robots are not identified: name the URDF of its arm"
        )
    return robot
