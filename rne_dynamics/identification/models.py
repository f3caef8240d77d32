"""The identified model: as a robot, and as files that all commands and nodes load, a URDF and a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from rne_dynamics.description.lint.description import examine
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_writer import with_inertias
from rne_dynamics.identification.consistent_fit import corrected, moved, parameters_of, pseudo_inertia
from rne_dynamics.identification.identify import Identified
from rne_dynamics.identification.triangles import STRIBECK
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array, Inertia, symmetric
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import ONE_FREEDOM, Friction, JointKind, KinematicTree, Payload, TreeJoint, TreeLink


def identified_robot(found: Identified) -> RobotModel:
    """The robot with the identified inertias, friction and rotors, and with the payload where there is one.

    Where efforts are measured in the joints, its joints feel no rotors.
    """
    tree, payload = identified_tree(found), identified_payload(found)
    whole = tree if payload is None else tree.with_payload(payload)
    return assemble(whole, gravity=found.layout.robot.gravity).with_own_code()


def identified_tree(found: Identified) -> KinematicTree:
    """The description with the identified inertias, friction and rotors; without the payload."""
    robot, k = found.layout.robot, found.layout.links
    links = links_with(robot, pseudo_inertia(found.parameters[: 10 * robot.bodies]))
    own: dict[str, tuple[Friction, float]] = {}
    for name, form, row in zip(robot.joint_names, found.forms, found.parameters[k:].reshape(-1, 5), strict=True):
        rotor, offset, viscous, coulomb, stribeck = row.tolist()
        speed = STRIBECK * form.threshold if form.stribeck else 0.0
        own[name] = Friction(viscous, coulomb + offset, coulomb - offset, stribeck, speed, form.threshold), rotor
    joints = []
    for joint in robot.tree.joints:  # those that mimic another one leave friction and rotor to it
        follows = joint.mimic is not None and robot.tree.leader(joint).joint in own
        as_given = (Friction(), 0.0) if follows else (joint.friction, joint.rotor_inertia)
        friction, rotor = own.get(joint.name, as_given)
        joints.append(replace(joint, friction=friction, rotor_inertia=rotor))
    return replace(robot.tree, links=tuple(links.get(x.name, x) for x in robot.tree.links), joints=tuple(joints))


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

    All links of a body share its change: an affine map of its density, after which each is still a body. Links that
    were none are corrected first.
    """
    found: dict[str, TreeLink] = {}
    for i, new in enumerate(bodies):
        parts = {x: robot.links[x.name] for x in robot.tree.links if robot.links[x.name].body == i}
        heavy = {x: x.inertia for x in parts if x.inertia is not None and x.inertia.mass > 0.0}
        heavy = heavy or {next(iter(parts)): Inertia()}
        ten = [np.r_[x.mass, x.first_moment, x.about_origin[np.triu_indices(3)]] for x in heavy.values()]
        own, _ = corrected(np.concatenate(ten), tuple(x.name for x in heavy))
        in_body = [moved(P, parts[x].rotation, parts[x].position) for x, P in zip(heavy, own, strict=True)]
        A = _upper(new) @ np.linalg.inv(_upper(np.sum(in_body, axis=0)))
        for x, P in zip(heavy, in_body, strict=True):
            R, p = parts[x].rotation, parts[x].position
            found[x.name] = replace(x, inertia=_inertia(moved(A @ P @ A.T, R.T, -R.T @ p)))
    return found


def _upper(P: Array) -> Array:
    """Upper triangular U with U Uᵀ = P: it maps points to points."""
    return np.asarray(np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1])


def _inertia(P: Array) -> Inertia:
    mass, *rest = parameters_of(P[None])
    return Inertia.from_origin(mass, np.array(rest[:3]) / mass, symmetric(rest[3:]))


def write_model(found: Identified, source: Source, path: Path, command: str, *, payload_only: bool) -> RobotModel:
    """Write PATH.urdf and PATH.yaml, and load them again.

    `source`: the expanded URDF that the robot was loaded from. `path`: without ending. `command`: what made the files,
    for their first line. `payload_only`: only the payload is new; otherwise it is left out. Returns the model of the
    files, as it was identified, with joints locked that are locked in the robot.
    """
    tree = found.layout.robot.tree if payload_only else identified_tree(found)
    urdf, model = path.with_name(f"{path.name}.urdf"), path.with_name(f"{path.name}.yaml")
    before = examine(source).tree  # without the model file's payload
    assert before is not None, "the robot was loaded from it"
    old = {link.name: link.inertia for link in before.links}
    changed = {x.name: x.inertia for x in tree.links if x.inertia is not None and not _same(x.inertia, old[x.name])}
    urdf.write_text(with_inertias(source, changed), encoding="utf-8")
    moving = [joint for joint in tree.joints if before.joint(joint.name).kind in ONE_FREEDOM]
    values = {"urdf": urdf.name, **_entries(moving, found, payload_only=payload_only)}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=1000)
    model.write_text(f"# {command}\n{text}", encoding="utf-8")
    loaded = load_model(model).open_tree
    fixed = {joint.name: joint for joint in tree.joints if joint.kind is JointKind.FIXED}
    joints = tuple(fixed.get(joint.name, joint) for joint in loaded.tree.joints)
    return assemble(replace(loaded.tree, joints=joints), gravity=loaded.gravity).with_own_code()


def _entries(moving: list[TreeJoint], found: Identified, *, payload_only: bool) -> dict[str, Any]:
    """The entries of a model file besides its URDF; `moving`: joints that move there, also those that were locked."""
    robot, payload = found.layout.robot, identified_payload(found) if payload_only else None
    values: dict[str, Any] = {"friction": {}, "rotors": "none"}
    if not np.array_equal(robot.gravity, (0.0, 0.0, -9.81)):
        values["gravity"] = _plain(robot.gravity)
    for joint in moving:
        names = ("viscous", "coulomb", "offset", "threshold", "stribeck", "stribeck_velocity")
        numbers = _plain([getattr(joint.friction, name) for name in names])
        values["friction"][joint.name] = dict(list(zip(names, numbers, strict=True))[: 6 if numbers[4] else 4])
    if found.layout.rotors:
        values["rotors"] = dict(zip([x.name for x in moving], _plain([x.rotor_inertia for x in moving]), strict=True))
    if payload is not None:
        com, inertia = _plain(payload.com), _plain(np.asarray(payload.inertia)[np.triu_indices(3)])
        values["payload"] = {"link": payload.link, "mass": _plain(payload.mass)[0], "com": com, "inertia": inertia}
    return values


def _plain(values: ArrayLike) -> list[float]:
    """Numbers with few digits."""
    return [float(f"{x:.10g}") for x in np.ravel(values)]


def _same(a: Inertia, b: Inertia | None) -> bool:
    return b is not None and a.mass == b.mass and bool((a.second_moments == b.second_moments).all())
