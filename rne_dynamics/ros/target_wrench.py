"""The topic ``~/target_wrench`` of a controller: wrenches that its law applies besides its springs."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import WrenchStamped

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.loop.cycle import REFUSALS


class WrenchTargets:
    """Takes target wrenches for the control loop of `node`, a controller."""

    def __init__(self, node: EffortNode) -> None:
        self._node, self._warned, self._refused, self._said = node, -np.inf, 0, ""
        node.keep(node.create_subscription(WrenchStamped, "~/target_wrench", self._on_wrench, 1))

    def _on_wrench(self, message: WrenchStamped) -> None:
        f, m = message.wrench.force, message.wrench.torque
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        try:
            said = self._node.control.call("apply_wrench", wrench, message.header.frame_id)
        except RneDynamicsError as error:
            self._refused, said = self._refused + 1, f"refused: {error}"
        self._said = said
        if said and time.monotonic() - self._warned > REFUSALS:
            self._warned = time.monotonic()
            self._node.get_logger().warning(f"target wrench: {said}")

    def status(self) -> dict[str, object]:
        """For the diagnostics."""
        return {"last target wrench": self._said, "refused target wrenches": self._refused}
