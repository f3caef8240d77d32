"""The identified model as files that all commands and nodes load: a URDF and a model file that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.description.lint import examine
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf import accepted
from rne_dynamics.description.urdf_edits import with_inertias
from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.identify import Identified
from rne_dynamics.identification.links import identified_payload, identified_robot, identified_tree
from rne_dynamics.identification.pseudo_inertia import pseudo_inertia
from rne_dynamics.model.assembly import assemble, with_payload
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Payload

#: Largest difference of the model that is loaded again, as a part of each body's size.
_CLOSE = 1e-6


def write_model(found: Identified, source: Source, path: Path, command: str) -> RobotModel:
    """Write PATH.urdf and PATH.yaml, and load them again.

    Parameters
    ----------
    found
        With a payload to be found, only the payload is new.
    source
        The expanded URDF that the robot was loaded from.
    path
        Without ending.
    command
        What made the files, for their first line.

    Returns
    -------
    RobotModel
        The model of the files, whose links are all positive definite and as they were identified; joints that are
        locked in the robot are locked in it.
    """
    robot, payload = found.layout.robot, identified_payload(found)
    tree = identified_tree(found) if payload is None else robot.tree
    old = {link.name: link.inertia for link in accepted(examine(source)).links}  # without the model file's payload
    changed = {x.name: x.inertia for x in tree.links if x.inertia is not None and not _same(x.inertia, old[x.name])}
    urdf, model = path.with_name(f"{path.name}.urdf"), path.with_name(f"{path.name}.yaml")
    urdf.write_text(with_inertias(source, changed), encoding="utf-8")
    lines = _model_lines(tree, robot, payload, rotors=found.layout.rotors)
    model.write_text("\n".join([f"# {command}", f"urdf: {json.dumps(urdf.name)}", *lines, ""]), encoding="utf-8")
    written = _locked(load_model(model).open_tree, robot)
    expected = identified_robot(found) if payload is None else with_payload(robot, payload)
    _check(written, inertial_parameters(expected), str(model), proper=payload is None)
    return written


def _locked(written: RobotModel, robot: RobotModel) -> RobotModel:
    """The written model with the joints locked that are in the given one: those that were not logged."""
    fixed = {joint.name: joint for joint in robot.tree.joints if joint.kind is JointKind.FIXED}
    joints = tuple(fixed.get(joint.name, joint) for joint in written.tree.joints)
    if not any(joint.name in fixed and joint.kind is not JointKind.FIXED for joint in written.tree.joints):
        return written
    return assemble(replace(written.tree, joints=joints), gravity=written.gravity).with_own_code()


def _model_lines(
    tree: KinematicTree, robot: RobotModel, payload: Payload | None, *, rotors: bool
) -> Iterator[str]:
    """The lines of a model file after the first."""
    if not np.array_equal(robot.gravity, (0.0, 0.0, -9.81)):
        yield f"gravity: {_numbers(robot.gravity)}"
    moving = [joint for joint in tree.joints if joint.name in robot.joint_names or joint.mimic is not None]
    yield "friction:"
    for joint in moving:
        f = joint.friction
        parts = {"viscous": f.viscous, "coulomb": f.coulomb, "offset": f.offset, "threshold": f.threshold}
        parts |= {"stribeck": f.stribeck, "stribeck_velocity": f.stribeck_velocity} if f.stribeck > 0.0 else {}
        values = ", ".join(f"{name}: {value:.7g}" for name, value in parts.items())
        yield f"  {json.dumps(joint.name, ensure_ascii=False)}: {{{values}}}"
    if rotors:
        yield "rotors:"
        yield from (f"  {json.dumps(j.name, ensure_ascii=False)}: {j.rotor_inertia:.7g}" for j in moving)
    else:
        yield "rotors: none"
    if payload is not None:
        inertia = np.asarray(payload.inertia)[np.triu_indices(3)]
        yield "payload:"
        yield f"  link: {json.dumps(payload.link, ensure_ascii=False)}"
        yield f"  mass: {payload.mass:.7g}"
        yield f"  com: {_numbers(np.asarray(payload.com))}"
        yield f"  inertia: {_numbers(inertia)}"


def _numbers(values: Array) -> str:
    return f"[{', '.join(f'{value:.10g}' for value in values)}]"


def _same(a: Inertia, b: Inertia | None) -> bool:
    return b is not None and a.mass == b.mass and bool((a.second_moments == b.second_moments).all())


def _check(written: RobotModel, expected: Array, name: str, *, proper: bool) -> None:
    """Refuse a model that is not the expected one, or is not `proper`: has a body that cannot be."""
    P, Q = pseudo_inertia(inertial_parameters(written)), pseudo_inertia(expected)
    apart = np.abs(P - Q).max(axis=(1, 2)) / np.abs(Q).max(axis=(1, 2))
    if apart.max() > _CLOSE or (proper and np.linalg.eigvalsh(P)[:, 0].min() <= 0.0):
        body = written.body_names[int(apart.argmax())]
        raise RneDynamicsError(
            f"{name} does not describe what was identified: body {body!r} differs by {apart.max():.2g}; "
            f"the robot's description is at fault: check it with `{rne('check')}`"
        )
