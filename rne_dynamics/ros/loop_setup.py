"""What a controller sends its control loop at configure: settings, topics and scheduling from the node's parameters."""

from __future__ import annotations

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.clock_seen import LOOP, seen_topic
from rne_dynamics.ros.controller_parameters import effort_scales
from rne_dynamics.ros.effort_message import effort_type
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.loop_messages import Setup
from rne_dynamics.ros.loop_node import BASE, CLOCK_SEEN, DRIVES, SETPOINTS
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.ros.parameters import numbers


def loop_setup(node: ArmNode, robot: RigidRobot, settings: Settings, simulated: bool) -> Setup:
    """The setup of the control loop of `node`; `simulated` as in `Setup`.

    Raises
    ------
    RneDynamicsError
        A type of effort commands that is not installed, effort scales of another number than there are joints.
    """
    values = node.parameters
    drives, base = values.text("drives.topic"), values.text("base_motion.topic")
    message = values.text("command_message")
    effort_type(message)  # refuses a type that is not installed
    topics = ["/clock", "joint_states", EFFORT_TOPIC, "~/controller_state", "~/reference", "~/torque/command"]
    topics += [SETPOINTS, *(f"~/torque/{term}" for term in TorqueTerms._fields)]
    return Setup(
        settings, f"{node.get_name()}{LOOP}", node.get_namespace(),
        {name: node.resolve_topic_name(name) for name in topics} | {CLOCK_SEEN: seen_topic(node)}
        | ({DRIVES: node.resolve_topic_name(drives)} if drives else {})
        | ({BASE: node.resolve_topic_name(base)} if base else {}),
        node.commanded, tuple(node.locked), effort_scales(robot, values.values), message, values.number("rate"),
        int(values.number("torque_divisor")), bool(drives), bool(base), simulated,
        int(values.number("realtime_priority")), tuple(map(int, numbers(values.values, "cpu_affinity"))),
        values.flag("lock_memory"),
    )
