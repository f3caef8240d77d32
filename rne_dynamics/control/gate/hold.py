"""Gravity torque and stable damping: how the effort gate holds an arm when its controller is gone."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.control.damping_limits import stable_damping
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.felt_inertia import joint_inertia
from rne_dynamics.control.thresholds import INERTIA_PERIOD
from rne_dynamics.dispatch import follower
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class GateHold:
    """Gravity torque and stable damping of one arm or mechanism.

    `robot`: the model, payload included; `rate`: damping over felt inertia, 1/s; `weightless`: whether the arm
    compensates gravity itself, so that its gravity torque counts as 0.
    """

    def __init__(self, robot: RigidRobot, rate: float, *, weightless: bool) -> None:
        self.robot, self.rate, self.weightless = robot, rate, weightless
        self._loops = follower(robot)
        self._law = GravityCompensation(robot, np.zeros(robot.n))
        #: Gravity torque at the last `effort`, N·m or N; shape (n,).
        self.gravity = np.zeros(robot.n)
        self.renew()

    def renew(self) -> None:
        """Let the damping follow the posture at the next `effort`."""
        self._update_at = -math.inf

    @property
    def _posture(self) -> Array | None:
        return None if self._loops is None else self._loops.posture

    def follow(self, q: Array, qd: Array) -> None:
        """Keep the loops of a mechanism on their branch; `AssemblyError`, `SingularPostureError` where they break."""
        if self._loops is not None:
            self._loops.follow(q, qd)

    def restart(self) -> None:
        """Loops in the posture of the model, and new damping at the next `effort`."""
        self._loops = follower(self.robot)
        self.renew()

    def update_inertia(self, q: Array, delay: float) -> None:
        """Update the damping for the posture `q`, (n,), and a delay, s; errors as for `joint_inertia`."""
        inertia = joint_inertia(self.robot, q, self._posture)
        self._law = GravityCompensation(self.robot, stable_damping(inertia, self.rate, delay))

    def effort(self, now: float, q: Array, qd: Array, delay: float) -> Array:
        """Gravity torque and damping at a state, (n,); errors as for the law and `joint_inertia`."""
        if now >= self._update_at:
            self.update_inertia(q, delay)
            self._update_at = now + INERTIA_PERIOD
        self.gravity, damping = self.torque(q, qd)
        held: Array = self.gravity + damping
        return held

    @property
    def damping(self) -> Array:
        """Damping in use, N·m·s/rad or N·s/m; shape (n,)."""
        return self._law.damping

    def torque(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Gravity torque and damping torque at a state, N·m or N; shape (n,) each; errors as for the law."""
        terms = self._law.law(q, qd, posture=self._posture)
        return (np.zeros(self.robot.n) if self.weightless else terms.gravity), terms.feedback
