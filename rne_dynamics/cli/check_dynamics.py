"""Checks of a description by its dynamics: drives too weak for gravity, inertias too small to control."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.startup.gravity_load import effort_units
from rne_dynamics.control.thresholds import SAFETY
from rne_dynamics.description.findings import Finding, note, warning
from rne_dynamics.description.outline import JointOutline, Outline
from rne_dynamics.dispatch import gravity_torque, mass_matrix
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Number of random postures, and of those with mass matrices, which take longer.
_POSTURES, _MATRICES = (1000, 25) if COMPILED else (100, 5)
#: Most numbers of all postures, products of all inverses, and joints whose mass matrix is inverted: with more it takes
#: more than a few seconds and 100 MB.
_NUMBERS, _PRODUCTS, _MOST_JOINTS = 1_000_000, 10**9, 1000
#: Relative excess over effort limits that is ignored as rounding.
_NOTICED = 0.01
#: Highest rate of joint states, 1/s.
_RATE = 1000.0
#: Least part of the effort limit that the largest safe damping uses at the velocity limit; published robots without
#: rotor inertia use at least 2e-4.
_USABLE = 5e-5


def lint_dynamics(robot: RobotModel, outline: Outline) -> Iterator[Finding]:
    """Yield joints whose effort limit is below gravity, and joints with too little inertia for any gain.

    Parameters
    ----------
    robot
        The model.
    outline
        Its elements, for lines.
    """
    if robot.n == 0:
        return
    q = random_configuration(robot, np.random.default_rng(0), max(min(_POSTURES, _NUMBERS // robot.n), 1))
    yield from _lint_gravity(robot, outline, q)
    if robot.n > _MOST_JOINTS:
        yield note(
            0, "<robot>", f"has {robot.n} joints; the inertia that each of them moves is checked for up to "
            f"{_MOST_JOINTS}", "check the arms that it is made of one by one"
        )  # fmt: skip
        return
    yield from _lint_small(robot, outline, q[: max(min(_MATRICES, _PRODUCTS // robot.n**3), 1)])


def _lint_gravity(robot: RobotModel, outline: Outline, q: Array) -> Iterator[Finding]:
    needed, units = np.abs(gravity_torque(robot, q)), effort_units(robot)
    for k, joint in _driven(robot, outline):
        limit, most = robot.effort_limit[k], needed[:, k].max()
        if most > limit * (1.0 + _NOTICED):
            share, unit = 100.0 * float((needed[:, k] > limit).mean()), units[k]
            yield note(
                _line(joint),
                f"{joint.where} <limit>",
                f"effort is {limit:g} {unit}, while gravity needs up to {most:.4g} {unit}, and more than the limit in "
                f"{share:.1f} % of random postures",
                "correct the masses, or the limit if it is that of the motor without its gears; a URDF has no springs, "
                "counterweights or weightlessness",
            )


def _lint_small(robot: RobotModel, outline: Outline, q: Array) -> Iterator[Finding]:
    """Yield joints whose largest safe damping, inertia · rate / `SAFETY`, is useless (`control.damping_limits`)."""
    inertia, units = _inertia(robot, q), effort_units(robot)
    for k, joint in _driven(robot, outline):
        damping, fastest = inertia[k] * _RATE / SAFETY, robot.velocity_limit[k]
        if 0.0 < fastest < np.inf and 0.0 <= damping * fastest < _USABLE * robot.effort_limit[k]:
            unit, per = units[k], "s/m" if units[k] == "N" else "s/rad"
            yield warning(
                joint.element.line,
                joint.where,
                f"has an inertia of at most {inertia[k]:.3g} in half of all postures: at {_RATE:g} Hz damping is safe "
                f"up to {damping:.2g} {unit} {per} only, far too little for its effort limit of "
                f"{robot.effort_limit[k]:g} {unit}",
                "correct the inertias of the links it moves, or add the rotor inertia of its drive",
            )


def _inertia(robot: RobotModel, q: Array) -> Array:
    """Median over postures of each joint's inertia with all others free, 1 / (M⁻¹)ₖₖ; NaN without any; (n,)."""
    inertia = np.full((len(q), robot.n), np.nan)
    for row, posture in enumerate(q):  # one matrix at a time, of the joints that move something
        M = mass_matrix(robot, posture)
        moving = np.flatnonzero(np.diagonal(M) > 0.0)
        try:
            inertia[row, moving] = 1.0 / np.diagonal(np.linalg.inv(M[np.ix_(moving, moving)]))
        except np.linalg.LinAlgError:
            continue  # a motion without inertia; `lint_bodies` reports it
    known = np.isfinite(inertia).any(axis=0)
    median = np.full(robot.n, np.nan)
    median[known] = np.nanmedian(inertia[:, known], axis=0)
    return median


def _driven(robot: RobotModel, outline: Outline) -> Iterator[tuple[int, JointOutline]]:
    """Index and joint of coordinates with one joint and an effort limit."""
    for k, name in enumerate(robot.joint_names):
        joint = outline.joints.get(name)
        if joint is not None and 0.0 < robot.effort_limit[k] < np.inf:
            yield k, joint


def _line(joint: JointOutline) -> int:
    limit = joint.element.first("limit")
    return joint.element.line if limit is None else limit.line
