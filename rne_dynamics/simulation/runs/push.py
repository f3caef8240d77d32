"""Pushes on the links of a simulated arm: as typed on a command line, and one that moves an arm gently."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics, mass_matrix
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Effort that counts as none, N·m or N.
ROUND_OFF = 1e-9
_FORM = re.compile(r"(?P<link>.+)=(?P<force>[^=@]+)@(?P<begin>[^@]+)\.\.(?P<end>[^@]+)")
#: Forces of a gentle push, N, its time, s, how far it is to move some joint, rad or m, and the fraction of the velocity
#: limits that it may reach.
FORCES = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0)
BEGIN, END, TRAVEL, FASTEST = 0.2, 0.7, 0.05, 0.5


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a link.

    Parameters
    ----------
    link
        Its name.
    force
        At the origin of the link's frame, in its axes, N; shape (3,).
    begin, end
        s, from the beginning of the pushes' times.
    """

    link: str
    force: Array
    begin: float
    end: float

    def __str__(self) -> str:
        force = ",".join(f"{f:g}" for f in self.force.tolist())
        return f"{self.link}={force}@{self.begin:g}..{self.end:g}"


def parse_push(text: str, robot: RigidRobot) -> Push:
    """A push written as LINK=fx,fy,fz@t..t: N in the link's axes, s.

    Raises
    ------
    ArgumentError
        Another form, values that are not finite, an end that is not after the beginning.
    ModelError
        An unknown link.
    """
    found = _FORM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        force = np.array([float(f) for f in found["force"].split(",")])
        begin, end = float(found["begin"]), float(found["end"])
    except ValueError:
        raise ArgumentError(f"push {text!r}: write LINK=FX,FY,FZ@BEGIN..END, as in tool0=0,0,10@0.5..1, in N and s"
                            ) from None
    if force.shape != (3,) or not np.isfinite(force).all():
        raise ArgumentError(f"push {text!r} has the force {force.tolist()}; it must be three finite numbers, N")
    if not (0.0 <= begin < end <= 60.0):
        raise ArgumentError(f"push {text!r} acts from {begin:g} to {end:g} s; write 0 <= BEGIN < END <= 60")
    robot.open_tree.link(found["link"])
    return Push(found["link"], force, begin, end)


def load(robot: RigidRobot, q: Array, push: Push) -> Array:
    """Effort of a push on each joint at rest, N·m or N; shape (n,)."""
    rest = np.zeros(robot.n)
    wrench = np.concatenate((push.force, np.zeros(3)))
    effort = gravity_torque(robot, q) - inverse_dynamics(robot, q, rest, rest, wrenches={push.link: wrench})
    return np.where(np.abs(effort) > ROUND_OFF, effort, 0.0)


def static_friction(robot: RigidRobot, direction: Array) -> Array:
    """Coulomb friction of each joint against motion with these signs, N·m or N; shape (n,)."""
    signs = np.where(direction < 0.0, -1.0, 1.0)
    still: Array = np.abs(friction_torque(robot, 1e-12 * signs))
    return still


def gentle_push(robot: RigidRobot, q: Array) -> Push:
    """A push on the last link that can move a joint, in the axis and with the smallest force that does it gently.

    Some joint is to move by `TRAVEL` meanwhile; a joint moves towards the farther of its limits. If friction holds all
    joints against the largest force, it is the push that comes closest.

    Parameters
    ----------
    robot
        The robot.
    q
        Where it is, (n,).
    """
    for link in reversed(robot.open_tree.link_names):
        push, effect = _gentle(robot, q, link)
        if effect > ROUND_OFF - 1.0:
            break
    return push


def _gentle(robot: RigidRobot, q: Array, link: str) -> tuple[Push, float]:
    """The same for one link, with the travel that it causes; between -1 (no effect) and 0 if friction holds all."""
    inertia = np.diag(mass_matrix(robot, q))
    fastest = np.where(robot.velocity_limit > 0.0, FASTEST * robot.velocity_limit, np.inf)
    seconds = END - BEGIN
    axes = (*np.eye(3), *-np.eye(3))
    loads = [load(robot, q, Push(link, axis, BEGIN, END)) for axis in axes]
    best, effect = Push(link, FORCES[0] * axes[2], BEGIN, END), -1.0
    for size in FORCES:
        for axis, unit in zip(axes, loads, strict=True):
            effort = size * unit
            still = static_friction(robot, effort)
            free = np.maximum(np.abs(effort) - still, 0.0) / inertia
            if (free * seconds > fastest).any():
                continue
            towards = np.where(effort > 0.0, robot.upper - q, q - robot.lower)
            travel = float(np.minimum(0.5 * free * seconds**2, 0.5 * towards).max())
            if travel == 0.0:
                travel = float((np.abs(effort) / np.maximum(still, ROUND_OFF)).max()) - 1.0
            if travel > effect + 1e-9:
                best, effect = Push(link, size * axis, BEGIN, END), travel
        if effect >= TRAVEL:
            break
    return best, effect
