"""The identified model: as a robot, and as files that all commands and nodes load, a URDF and a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from rne_dynamics.advice import rne
from rne_dynamics.description.lint import examine
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_edits import with_inertias
from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.consistent_fit import corrected, moved, parameters_of, pseudo_inertia
from rne_dynamics.identification.identify import Identified
from rne_dynamics.identification.triangles import STRIBECK
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array, Inertia, symmetric
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Payload, TreeJoint, TreeLink

#: Largest difference of the model that is loaded again, as a part of each body's size.
_CLOSE = 1e-6
#: Significant digits of numbers in a model file.
_DIGITS = 10


def identified_robot(found: Identified) -> RobotModel:
    """The robot with the identified inertias, friction and rotors, and with the payload where there is one.

    Where efforts are measured in the joints, its joints feel no rotors.
    """
    payload = identified_payload(found)
    tree = identified_tree(found) if payload is None else identified_tree(found).with_payload(payload)
    return assemble(tree, gravity=found.layout.robot.gravity).with_own_code()


def identified_tree(found: Identified) -> KinematicTree:
    """The description with the identified inertias, friction and rotors; without the payload."""
    robot = found.layout.robot
    links = links_with(robot, pseudo_inertia(found.parameters[: 10 * robot.bodies]))
    own: dict[str, tuple[Friction, float]] = {}
    for name, form, row in zip(robot.joint_names, found.forms, found.layout.own(found.parameters), strict=True):
        rotor, offset, viscous, coulomb, stribeck = row.tolist()
        speed = STRIBECK * form.threshold if form.stribeck else 0.0
        own[name] = Friction(viscous, coulomb + offset, coulomb - offset, stribeck, speed, form.threshold), rotor
    joints = tuple(_joint(robot.tree, joint, own) for joint in robot.tree.joints)
    return replace(robot.tree, links=tuple(links.get(x.name, x) for x in robot.tree.links), joints=joints)


def _joint(tree: KinematicTree, joint: TreeJoint, own: Mapping[str, tuple[Friction, float]]) -> TreeJoint:
    """A joint with what was found; joints that mimic another one leave friction and rotor to it."""
    follows = joint.mimic is not None and tree.leader(joint).joint in own
    friction, rotor = own.get(joint.name) or ((Friction(), 0.0) if follows else (joint.friction, joint.rotor_inertia))
    return replace(joint, friction=friction, rotor_inertia=rotor)


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
    files, whose links are all positive definite and as they were identified; joints that are locked in the robot are
    locked in it.
    """
    robot, payload = found.layout.robot, identified_payload(found) if payload_only else None
    tree = robot.tree if payload_only else identified_tree(found)
    urdf, model = path.with_name(f"{path.name}.urdf"), path.with_name(f"{path.name}.yaml")
    before = examine(source).tree  # without the model file's payload
    old = {} if before is None else {link.name: link.inertia for link in before.links}
    changed = {x.name: x.inertia for x in tree.links if x.inertia is not None and not _same(x.inertia, old[x.name])}
    urdf.write_text(with_inertias(source, changed), encoding="utf-8")
    values = {"urdf": urdf.name, **_entries(tree, robot, payload, rotors=found.layout.rotors)}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=1000)
    model.write_text(f"# {command}\n{text}", encoding="utf-8")
    written = _locked(load_model(model).open_tree, robot)
    P = pseudo_inertia(inertial_parameters(written))
    expected = assemble(tree, gravity=robot.gravity) if payload is None else robot.with_payload(payload)
    Q = pseudo_inertia(inertial_parameters(expected))
    apart = np.abs(P - Q).max(axis=(1, 2)) / np.abs(Q).max(axis=(1, 2))
    if apart.max() > _CLOSE or (payload is None and np.linalg.eigvalsh(P)[:, 0].min() <= 0.0):
        body = written.body_names[int(apart.argmax())]
        raise RneDynamicsError(
            f"{model} does not describe what was identified: body {body!r} differs by {apart.max():.2g}; "
            f"the robot's description is at fault: check it with `{rne('check')}`"
        )
    return written


def _locked(written: RobotModel, robot: RobotModel) -> RobotModel:
    """The written model with the joints locked that are in the given one: those that were not logged."""
    fixed = {joint.name: joint for joint in robot.tree.joints if joint.kind is JointKind.FIXED}
    joints = tuple(fixed.get(joint.name, joint) for joint in written.tree.joints)
    return assemble(replace(written.tree, joints=joints), gravity=written.gravity).with_own_code()


def _entries(tree: KinematicTree, robot: RobotModel, payload: Payload | None, *, rotors: bool) -> dict[str, Any]:
    """The entries of a model file besides its URDF."""
    moving = [joint for joint in tree.joints if joint.name in robot.joint_names or joint.mimic is not None]
    values: dict[str, Any] = {} if np.array_equal(robot.gravity, (0.0, 0.0, -9.81)) else {"gravity": robot.gravity}
    values["friction"] = {}
    for joint in moving:
        f = joint.friction
        entry = {"viscous": f.viscous, "coulomb": f.coulomb, "offset": f.offset, "threshold": f.threshold}
        more = {"stribeck": f.stribeck, "stribeck_velocity": f.stribeck_velocity} if f.stribeck > 0.0 else {}
        values["friction"][joint.name] = entry | more
    values["rotors"] = {joint.name: joint.rotor_inertia for joint in moving} if rotors else "none"
    if payload is not None:
        inertia = np.asarray(payload.inertia)[np.triu_indices(3)]
        values["payload"] = {"link": payload.link, "mass": payload.mass, "com": payload.com, "inertia": inertia}
    return {key: _rounded(value) for key, value in values.items()}


def _rounded(value: Any) -> Any:
    """Numbers with few digits, arrays as lists."""
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return [_rounded(part) for part in value.tolist()]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _same(a: Inertia, b: Inertia | None) -> bool:
    return b is not None and a.mass == b.mass and bool((a.second_moments == b.second_moments).all())
