"""Wrenches that a topic applies to the links of a simulated arm."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.lifecycle import ArmNode


class AppliedWrenches:
    """The present wrench on each link, in its frame.

    Parameters
    ----------
    node
        Logs what is refused.
    tree
        The robot that has the links.
    """

    def __init__(self, node: ArmNode, tree: RobotModel) -> None:
        self._node, self._tree = node, tree
        #: Force and moment by name of the link, N and N·m.
        self.by_link: dict[str, Array] = {}

    def take(self, message: WrenchStamped) -> None:
        """Apply a wrench to the link named by frame_id until the next message for that link."""
        f, m = message.wrench.force, message.wrench.torque
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        try:
            self._tree.link(message.header.frame_id)
        except RneDynamicsError as error:
            self._node.get_logger().warning(f"wrench refused: {error}")
            return
        if not np.isfinite(wrench).all():
            self._node.get_logger().warning(f"wrench refused: {wrench.tolist()}; it must be finite")
        elif wrench.any():
            self.by_link[message.header.frame_id] = wrench
        else:
            self.by_link.pop(message.header.frame_id, None)
