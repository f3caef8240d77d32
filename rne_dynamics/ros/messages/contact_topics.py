"""Topics of contact: external efforts, the wrench of a link, and what is felt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rne_dynamics.control.contact_watch import ContactSettings, ContactWatch
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.publishers import EveryNth
from rne_dynamics.ros.messages.topic_wait import LATCHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from rne_dynamics.ros.node.lifecycle import ArmNode

#: Topics, as the nodes name them.
EXTERNAL_EFFORT, EXTERNAL_WRENCH, CONTACT = "~/external_effort", "~/external_wrench", "~/contact"


class ContactTopics:
    """Publishes what a `ContactWatch` observes every `divisor` cycles; `felt` gets each contact that begins."""

    def __init__(self, node: ArmNode, settings: ContactSettings, divisor: int, felt: Callable[[str], None]) -> None:
        joints, link = settings.observer.robot.joint_names, settings.link
        self._link, self._report, self._joint = link, felt, -1
        message = JointState(name=list(joints), effort=[0.0] * len(joints))
        self._efforts = EveryNth(node, EXTERNAL_EFFORT, message, divisor, "effort")
        self._wrenches = EveryNth(node, EXTERNAL_WRENCH, WrenchStamped(), divisor if link else 0)
        self._wrenches.message.header.frame_id = link
        if link:  # compiles what the first message needs
            self._publish_wrench(0, ContactWatch(settings), np.array(settings.observer.robot.neutral), send=False)
        self._contact = node.keep(node.create_publisher(String, CONTACT, LATCHED))
        self._contact.publish(String())

    @property
    def felt(self) -> bool:
        """Whether the last message on a contact names one."""
        return self._joint >= 0

    @property
    def read(self) -> bool:
        """Whether one of the topics has subscribers."""
        return self._contact.get_subscription_count() > 0 or self._efforts.read or self._wrenches.read

    def publish(self, stamp: int, watch: ContactWatch, q: Array) -> None:
        """Publish after a cycle: `stamp` of the state, ns, `q` (n,)."""
        if self._efforts.due():
            self._efforts.publish(stamp, watch.external)
        if self._wrenches.due():
            self._publish_wrench(stamp, watch, q)
        if (watch.joint < 0) != (self._joint < 0):
            text = watch.text()
            self._contact.publish(String(data=text))
            if text:
                self._report(text)
        self._joint = watch.joint

    def _publish_wrench(self, stamp: int, watch: ContactWatch, q: Array, *, send: bool = True) -> None:
        observer, message = watch.settings.observer, self._wrenches.message
        axes = np.asarray(forward_kinematics(observer.robot, q)[self._link])[:3, :3]
        force, moment = observer.wrench(watch.external, q, self._link).wrench.reshape(2, 3) @ axes
        f, m = message.wrench.force, message.wrench.torque
        (f.x, f.y, f.z), (m.x, m.y, m.z) = force.tolist(), moment.tolist()
        if send:
            self._wrenches.publish(stamp)
