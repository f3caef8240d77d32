"""Link poses of any robot from the state that simulations, recordings and topics have."""

from __future__ import annotations

import numpy as np

from rne_dynamics.dispatch import follower
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics as open_forward_kinematics
from rne_dynamics.flexible.energy import flexible_forward_kinematics
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot


class Kinematics:
    """Poses of all links; of a mechanism its loops are closed, from the last posture on."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._follower = follower(robot.rigid) if robot.loops else None

    def poses(self, q: Array, *, posture: Array | None = None, delta: Array | None = None) -> LinkPoses:
        """Poses in the root link's frame at q, (n,), a tree's `posture`, amplitudes `delta`; raises as a `Follower`."""
        if self.robot.kind == "flexible" and delta is not None:
            return flexible_forward_kinematics(self.robot, q, delta)
        return open_forward_kinematics(self.robot.open_tree, self.tree_positions(q, posture))

    def tree_positions(self, q: Array, posture: Array | None = None) -> Array:
        """Positions of all joints of the tree, (nq of the tree,); parameters and errors as `poses`."""
        if posture is not None or self._follower is None:
            return q if posture is None else posture
        self._follower.follow(q, np.zeros(self.robot.n))
        return np.array(self._follower.posture)


def moving_links(robot: Robot) -> tuple[str, ...]:
    """Links that move, of those that are fixed together the first; the last is likely the tool."""
    seen: dict[int, str] = {}
    for name, frame in robot.links.items():
        if frame.body >= 0:
            seen.setdefault(frame.body, name)
    return tuple(seen.values())
