"""A hand that drags a link of a simulated arm: a spring and damper between the link's origin and a point in the world.

The spring is scaled with the inertia Λ = (J M⁻¹ Jᵀ)⁻¹ that the hand feels, f = Λ (ω² e − 2 ω v), so that a light wrist
and a heavy shoulder follow alike, and neither shakes.
"""

from __future__ import annotations

import contextlib

import numpy as np

from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.runs.push import Push, load

#: ω, 1/s; the second of arms with flexible links, which a stiff hand would shake.
STIFFNESS, SOFT = 15.0, 4.0
#: Largest force over the robot's weight.
STRONGEST = 2.0
#: Largest felt inertia over the robot's mass: a stretched arm resists along itself like a wall.
HEAVIEST = 3.0


class Hand:
    """The spring, ω in 1/s, at one link; `feel` the posture now and then, ask for `force` in every step."""

    def __init__(self, robot: RigidRobot, link: str, stiffness: float = STIFFNESS) -> None:
        self.robot, self.link, self._stiffness = robot, link, stiffness
        self._strongest = STRONGEST * 9.81 * robot.mass
        #: Where the hand is, in the root link's frame, m; `None` while it lets go.
        self.target: Array | None = None
        self._q = np.zeros(robot.n)
        self._point = np.zeros(3)
        self._turn, self._jacobian = np.eye(3), np.zeros((3, robot.n))
        self._inertia: Array = np.zeros((3, 3))

    def feel(self, q: Array, rotation: Array, position: Array) -> None:
        """Take the posture: joint positions (n,), the link's ``R_WL`` (3, 3) and ``p_WL`` (3,)."""
        self._q, self._turn, self._point = q, rotation, position
        self._jacobian = velocity_map(self.robot, q, self.link, rotation)
        compliance: Array = np.eye(3) / (HEAVIEST * max(self.robot.mass, 1e-3))
        with contextlib.suppress(np.linalg.LinAlgError):  # a joint that moves no inertia; the ceiling alone counts
            compliance = compliance + self._jacobian @ np.linalg.solve(mass_matrix(self.robot, q), self._jacobian.T)
        self._inertia = np.asarray(np.linalg.inv(compliance), dtype=np.float64)

    def force(self, q: Array, qd: Array) -> Array:
        """Force on the link's origin, N, in the axes of the root link, (3,); zero while the hand lets go."""
        if self.target is None:
            return np.zeros(3)
        error = self.target - self._point - self._jacobian @ (q - self._q)
        w = self._stiffness
        pull: Array = self._inertia @ (w * w * error - 2.0 * w * self._jacobian @ qd)
        return pull * min(1.0, self._strongest / max(float(np.linalg.norm(pull)), 1e-9))

    def wrench(self, force: Array) -> Array:
        """The wrench of a force in the root's axes as simulations take it: force and moment in the link's, (6,)."""
        return np.concatenate([self._turn.T @ force, np.zeros(3)])


def velocity_map(robot: RigidRobot, q: Array, link: str, rotation: Array) -> Array:
    """J (3, n) with v = J q̇ for the origin of a link, in the root's axes; of any robot, by virtual work.

    A force f on it gives the joints the effort Jᵀ f, so three calls with unit forces give the rows of J.
    """
    return np.array([load(robot, q, Push(link, rotation.T @ axis, 0.0, 0.0)) for axis in np.eye(3)])
