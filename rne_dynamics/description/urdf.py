"""`load_urdf`: read a robot description as a model."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from numpy.typing import ArrayLike

from rne_dynamics.advice import rne
from rne_dynamics.description.lint.description import Examination, examine
from rne_dynamics.description.lint.findings import FaultyDescriptionError, Report, Severity
from rne_dynamics.description.sources import SourceLike, is_model_file, read_source
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.bodies import Base
from rne_dynamics.model.robot import RobotModel, counted
from rne_dynamics.model.tree import KinematicTree, Payload

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # no output on the terminal unless logging is set up


def load_urdf(
    source: SourceLike,
    *,
    payload: Payload | None = None,
    lock: Mapping[str, float] | None = None,
    base: Base = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    mappings: Mapping[str, str] | None = None,
    lenient: bool = False,
    rotors: bool = True,
) -> RobotModel:
    """Load a robot.

    Parameters
    ----------
    source
        A path, XML text, a ``package://`` or ``file://`` URI, a ``.xacro`` file, the name of a robot that ships, or a
        robot of urdf_parser_py (``urdf_parser_py.urdf.URDF``), which has no rotor inertias.
    payload
        A load on one link.
    lock
        Joints locked at a value, by name, rad or m.
    base
        ``"fixed"``, or ``"floating"`` for a free root link.
    gravity
        In world axes, m/s²; shape (3,).
    mappings
        Arguments for xacro by name.
    lenient
        Whether to repair faults that other readers accept, each with a warning in the log and in `rne check`:
        `rne_dynamics.description.repairs` lists them. Read the warnings before such a model drives an arm.
    rotors
        Whether to include the rotor inertias of <transmission> elements. True: efforts are those of the motors,
        multiplied by their gears. False: efforts are those behind the gears, as torque sensors in the joints measure
        them; they are smaller by `rotor_inertia` times the acceleration.

    Returns
    -------
    RobotModel
        Coordinates in the order of the tree, depth first.

    Raises
    ------
    DescriptionError
        An error of `rne_dynamics.lint`; the message names file, line, element, value and fix. Warnings
        go to the logger ``rne_dynamics.description.urdf``; `rne check` shows them.
    ModelError
        A link in `payload` that is unknown or that no joint moves, an unknown or immovable joint in `lock`, an unknown
        `base`.
    MissingDependencyError
        A ``.xacro`` file where xacro is not installed.

    Notes
    -----
    Links without inertia are massless. Missing limits, and those of 1e9 and more, are infinite; missing `lower` and
    `upper` are 0 in URDF; the soft limits of <safety_controller> narrow them. A mimic of a missing joint is ignored.
    Rotor inertia and gear ratio come from <transmission> elements, see `rne_dynamics.description.lint.description`.
    Materials, meshes and Gazebo tags are not read.
    """
    read = read_source(source, mappings, lenient=lenient)
    if not read.name.startswith("<") and is_model_file(read):
        raise DescriptionError(f"{read.name} is a model file, not a URDF; load it with rne_dynamics.load_model")
    tree = accepted(examine(read))
    if not rotors:
        tree = tree.without_rotors()
    robot = assemble(tree, base=base, gravity=gravity).with_payload(payload)
    return (robot.with_lock(lock) if lock else robot).with_own_code()


def accepted(examination: Examination) -> KinematicTree:
    """The tree of a URDF, whose warnings are logged; raises `FaultyDescriptionError` if it has errors."""
    report = examination.report
    if examination.tree is None:
        raise refusal(report)
    warnings = report.of(Severity.WARNING)
    if warnings:
        _log.warning("%s: %s, `%s` lists them", report.file, counted(len(warnings), "warning"), rne("check"))
    for finding in warnings:
        level = logging.WARNING if finding in report.repairs else logging.INFO
        _log.log(level, "%s:%d: %s", report.file, finding.line, finding)
    return examination.tree


def refusal(report: Report) -> FaultyDescriptionError:
    """The exception for a report with errors: its first one."""
    errors = report.of(Severity.ERROR)
    return FaultyDescriptionError(report.file, errors[0], len(errors) - 1, repairable=report.repairable)
