"""`load_urdf`: from a robot description to the model."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from numpy.typing import ArrayLike

from rne_dynamics.description.findings import FaultyDescriptionError, Report, Severity
from rne_dynamics.description.lint import examine
from rne_dynamics.description.sources import SourceLike, read_source
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.robot import Base, RobotModel
from rne_dynamics.model.tree import Payload

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # a library that is not asked to speak says nothing on the terminal


def load_urdf(
    source: SourceLike,
    *,
    payload: Payload | None = None,
    lock: Mapping[str, float] | None = None,
    base: Base = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    mappings: Mapping[str, str] | None = None,
) -> RobotModel:
    """Load a robot.

    Parameters
    ----------
    source
        A path, XML text, a ``package://`` or ``file://`` URI, a ``.xacro`` file, or the name of a robot that ships.
    payload
        A load on one link.
    lock
        Joints frozen at a value by name, rad or m.
    base
        ``"fixed"``, or ``"floating"`` for a root link that moves freely.
    gravity
        In world axes, m/s²; shape (3,).
    mappings
        Arguments for xacro by name.

    Returns
    -------
    RobotModel
        Coordinates in the order of the tree, depth first.

    Raises
    ------
    DescriptionError
        What `rne_dynamics.description.lint.lint` calls an error; the message names file, line, element, value and
        mend. Warnings go to the logger ``rne_dynamics.description.urdf``; `rne check` shows them.
    ModelError
        An unknown link in `payload`, an unknown or immovable joint in `lock`, an unknown `base`.
    MissingDependencyError
        A ``.xacro`` file where xacro is not installed.

    Notes
    -----
    Links without inertia are massless. Limits that are not given are infinite, except `lower` and `upper`, which
    URDF takes as 0. A mimic of a joint that does not exist is ignored. Rotor inertia and gear ratio come from
    <transmission> elements, see `rne_dynamics.description.transmissions`. Materials, meshes and Gazebo tags are not
    read at all.
    """
    examination = examine(read_source(source, mappings))
    tree = examination.tree
    if tree is None:
        raise _refusal(examination.report)
    warnings = examination.report.of(Severity.WARNING)
    if warnings:
        _log.warning("%s: %d warnings, `rne check` lists them", examination.report.file, len(warnings))
    for finding in warnings:
        _log.info("%s:%d: %s", examination.report.file, finding.line, finding)
    if payload is not None:
        tree = tree.with_payload(payload)
    if lock:
        tree = tree.with_locked(lock)
    return assemble(tree, base=base, gravity=gravity)


def _refusal(report: Report) -> FaultyDescriptionError:
    errors = report.of(Severity.ERROR)
    return FaultyDescriptionError(report.file, errors[0], len(errors) - 1)
