"""Nothing is compiled, or loaded from disk, once a controller is active: the arm would hang meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from std_srvs.srv import SetBool, Trigger
from support.forked import ForkedNode
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, START, STEP, SteppedPeer, through

if not COMPILED:
    pytest.skip("llvmlite is not installed", allow_module_level=True)

JOINTS = ["joint1", "joint2"]
#: A node prints what it loads and compiles, and at once.
TALKATIVE = {"RNE_DYNAMICS_SHOW_CACHE": "1", "PYTHONUNBUFFERED": "1"}


def run(module: str, namespace: str) -> ForkedNode:
    """A controller in simulated time."""
    parameters = {"robot_description": "planar2", "stop.hold_time": "0.1", "stop.ramp_time": "0.1",
                  "startup_check.duration": "0.1", "state_timeout": "0.2", "use_sim_time": "true"}
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    names = ["-r", f"__ns:={namespace}", "-r", f"/clock:={namespace}/clock"]
    return ForkedNode(module, ["--ros-args", *names, *words], TALKATIVE)


def stream(peer, seconds: float, qd: float = 0.0) -> None:
    """Joint states every 5 ms; both joints move at `qd` from where they were."""
    for _ in range(round(seconds / STEP)):
        peer.q = peer.q + STEP * qd
        peer.state(peer.q, [qd, qd])
        peer.pass_time(STEP)


def test_an_active_controller_compiles_nothing(namespace):
    module = "computed_torque_controller"
    peer = SteppedPeer(namespace, JOINTS, module)
    peer.q = np.array([0.3, -0.5])
    trajectories = peer.node.create_publisher(JointTrajectory, f"{module}/joint_trajectory", 1)
    with run(module, namespace) as process:
        wait_until(lambda: "waiting: activated" in process.output(), START, "the controller", [process])
        peer.connect(process)
        ready = len(process.output())
        for _ in range(20):
            stream(peer, 0.2)
            if "not checked" in process.output():  # the start-up check is over: no efforts are reported here
                break
        wait_until(trajectories.get_subscription_count, PATIENCE, "the controller's topic", [process])
        trajectories.publish(through(JOINTS, (0.3, [0.35, -0.45])))
        wait_until(lambda: stream(peer, STEP) or peer.mode(module) == "tracking", PATIENCE, "the motion", [process])
        stream(peer, 0.6, 0.05)
        peer.call(SetBool, f"{module}/hand_guide", SetBool.Request(data=True))
        stream(peer, 0.2)
        peer.call(SetBool, f"{module}/hand_guide", SetBool.Request(data=False))
        stream(peer, 0.2)
        assert peer.set_parameters(module, payload__link="tool0", payload__mass=0.1).successful
        stream(peer, 0.2)
        # its prediction has not been made ready
        assert not peer.set_parameters(module, command_delay=0.002).successful
        stream(peer, 0.2)
        peer.pass_time(1.0)  # the stream is lost: stopped without states
        stream(peer, 0.2)
        peer.call(Trigger, f"{module}/recover", Trigger.Request())
        stream(peer, 0.3)
        stream(peer, 0.2, 10.0)  # faster than a joint can be: stopped, and the motors' work is compared with the model
        wait_until(lambda: stream(peer, STEP) or peer.mode(module) == "fault", PATIENCE, "the fault", [process])
        peer.call(Trigger, f"{module}/recover", Trigger.Request())
        stream(peer, 0.3)
        peer.call(Trigger, f"{module}/stop", Trigger.Request())
        for _ in range(20):
            stream(peer, 0.2)
            if "released: " in process.output():
                break
        assert peer.transition(module, Transition.TRANSITION_DEACTIVATE)
        text = process.output()
        assert process.stop() == 0
        peer.close()
    said = text[ready:]
    assert " moves at " in said, said
    for mode in ("holding", "stopping", "released", "tracking", "floating"):
        assert f"{mode}: " in said, said
    assert "[cache]" in text[:ready]
    assert "[cache]" not in said, said
