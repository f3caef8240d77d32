"""Part of the viewer's page that moves the arm: a box that lets visitors drag the controller's target pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.topic_wait import OFFERED, polled_subscription, take
from rne_dynamics.viewer.controls import TargetHandle
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.scene import quaternion

if TYPE_CHECKING:
    from rne_dynamics.ros.node.lifecycle import ArmNode

#: Parameters of the controller, and the diagnostic with what became of a target.
PARAMETERS, OUTCOME = ["target_pose.link", "target_pose.tool"], "last pose target"


class TargetPanel:
    """The box, off at first, and the handle; `node`: the viewer; `page`: with a robot; `controller`: name of a node."""

    def __init__(self, node: ArmNode, page: Page, controller: str) -> None:
        self._page, self._controller, self._link, self._tool = page, controller, "", np.zeros(3)
        self._name, self._anew = node.resolve_topic_name(controller), False
        self._ask = node.keep(node.create_client(GetParameters, f"{controller}/get_parameters"))
        self._poses = node.keep(node.create_publisher(PoseStamped, f"{controller}/target_pose", OFFERED))
        self._diagnostics = node.keep(polled_subscription(node, DiagnosticArray, "/diagnostics", 5))
        self._box = page.server.gui.add_checkbox("drag the target: moves the arm", initial_value=False)
        page.on_change(self._box, self._switch)
        self._handle = TargetHandle(page, self._send)
        #: What became of the last target; empty for nothing.
        self.text = ""

    def follow(self) -> None:
        """Draw the handle; take reports of the controller."""
        self._handle.follow(self._link, self._tool, anew=self._anew)
        self._anew = False
        while (taken := take(self._diagnostics, DiagnosticArray)) is not None:
            found = [s for s in taken[0].status if s.name == self._name]
            self.text = next((v.value for s in found for v in s.values if v.key == OUTCOME), self.text)

    def _switch(self, on: bool) -> None:
        self._link = ""
        if on and not self._ask.service_is_ready():
            self._box.value = False
            raise ArgumentError(f"{self._controller} does not answer: start it")
        if on:
            self._ask.call_async(GetParameters.Request(names=PARAMETERS)).add_done_callback(self._begin)

    def _begin(self, future: Any) -> None:
        values = future.result().values
        self._link = values[0].string_value if values else ""
        if self._link not in self._page.robot.link_names:
            self._page.refuse(f"the target moves link {self._link!r}: set target_pose.link of {self._controller}")
            self._link, self._box.value = "", False
        else:
            self._tool, self._anew = np.array(values[1].double_array_value), True

    def _send(self, R: Array, p: Array) -> None:
        if not self._poses.get_subscription_count():
            raise ArgumentError(f"nobody subscribes to {self._poses.topic_name}")
        message = PoseStamped()
        message.header.frame_id = self._page.robot.tree.root
        at, turn = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = map(float, p)
        turn.w, turn.x, turn.y, turn.z = map(float, quaternion(R))
        self._poses.publish(message)
