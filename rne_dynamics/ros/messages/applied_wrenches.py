"""Wrenches that a topic applies to the links of a simulated arm."""

from __future__ import annotations

from bisect import insort
from operator import itemgetter

import numpy as np
from geometry_msgs.msg import WrenchStamped

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.node.lifecycle import ArmNode

#: Wrenches that may wait for the node: it serves them 20 times a second, and links may be pushed at once.
WRENCHES = 100
#: Largest number of wrenches that wait for their time, and how long they may have to, s.
MOST_WAITING, LONGEST_AHEAD = 1000, 60.0


class AppliedWrenches:
    """The present wrench on each link, in its frame, and those for later.

    `node`: logs what is refused; `tree`: the robot that has the links.
    """

    def __init__(self, node: ArmNode, tree: RobotModel) -> None:
        self._node, self._tree, self._now = node, tree, 0
        self._by_link: dict[str, Array] = {}
        self._later: list[tuple[int, str, Array]] = []

    def clear(self) -> None:
        """Remove all wrenches."""
        self._by_link.clear()
        self._later.clear()

    def at(self, now: int) -> dict[str, Array] | None:
        """The wrenches that act from a time of the simulation on, ns: N and N·m by link; None for none."""
        self._now = now
        while self._later and self._later[0][0] <= now:
            _, link, wrench = self._later.pop(0)
            if wrench.any():
                self._by_link[link] = wrench
            else:
                self._by_link.pop(link, None)
        return self._by_link or None

    def take(self, message: WrenchStamped) -> None:
        """Apply a wrench to the link named by frame_id until the next one for that link.

        It acts from its stamp on, in the time of the joint states; at once where the stamp is past or zero.
        """
        f, m, stamp = message.wrench.force, message.wrench.torque, message.header.stamp
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        begin = stamp.sec * NANOSECONDS + stamp.nanosec
        try:
            self._tree.link(message.header.frame_id)
        except RneDynamicsError as error:
            self._refuse(str(error))
            return
        ahead = (begin - self._now) / NANOSECONDS
        if not np.isfinite(wrench).all():
            self._refuse(f"{wrench.tolist()}; it must be finite")
        elif self._now and ahead > LONGEST_AHEAD:
            self._refuse(
                f"its stamp is {ahead:.6g} s after the last joint state; at most {LONGEST_AHEAD:g} s are allowed"
            )
        elif len(self._later) >= MOST_WAITING:
            self._refuse(f"{MOST_WAITING} wrenches wait for their time already")
        else:
            insort(self._later, (begin, message.header.frame_id, wrench), key=itemgetter(0))

    def _refuse(self, why: str) -> None:
        self._node.get_logger().warning(f"wrench refused: {why}")
