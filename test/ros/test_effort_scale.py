"""`effort_scale` is fixed while the node is configured, so that limits and rates hold in the unit that is sent."""

from __future__ import annotations

import time

import numpy as np
import pytest
from local_loop import LocalLoop
from rclpy.parameter import Parameter as RosParameter
from std_msgs.msg import Float64MultiArray

from rne_dynamics.control.guards.effort_limiter import EffortLimiter
from rne_dynamics.errors import ModelError
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC, EffortPublisher
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

DT = 1e-3


@pytest.fixture(scope="module")
def node():
    """A controller in this process, configured."""
    node = ComputedTorqueController(LocalLoop())
    node.description = "planar2"
    assert node.trigger_configure().name == "SUCCESS"
    yield node
    node.release()
    node.destroy_node()


def set_scale(node, value, joint="joint1"):
    return node.set_parameters([RosParameter(f"effort_scale.{joint}", value=value)])[0]


def test_a_change_while_configured_is_refused_with_what_to_do(node):
    for value in (3.0, 10.0, -1.0, 1.0 + 1e-12):
        result = set_scale(node, value)
        assert not result.successful
        for part in ("effort_scale.joint1", "stays 1.0", "deactivate", "clean it up", "configure"):
            assert part in result.reason
        assert node.control.loop.cycle.efforts.scale.tolist() == [1.0, 1.0]
    both = [RosParameter("effort_scale.joint2", value=2.0), RosParameter("stop.damping", value=5.0)]
    assert not node.set_parameters_atomically(both).successful
    assert node.parameters["stop.damping"] == 10.0
    assert set_scale(node, 1.0).successful, "the value that it has"
    with pytest.raises(ValueError, match="read-only"):
        node.control.loop.cycle.efforts.scale[0] = 3.0


def test_it_can_be_changed_before_the_node_is_configured_again(node):
    assert node.trigger_cleanup().name == "SUCCESS"
    node.description = "planar2"  # cleanup has forgotten it
    try:
        assert set_scale(node, 1e-9).successful, "within its bounds, and refused as too small by configure"
        assert node.trigger_configure().name == "FAILURE"
        assert set_scale(node, -2.5).successful
        assert node.trigger_configure().name == "SUCCESS"
        assert node.control.loop.cycle.efforts.scale.tolist() == [-2.5, 1.0]
        assert not set_scale(node, 1.0).successful
    finally:
        node.release()
        assert set_scale(node, 1.0).successful


def test_limits_hold_in_the_unit_that_is_sent(node):
    """Bit for bit: rounding is monotonic, so |effort| <= limit gives |sent| <= |scale| limit."""
    scale = np.array([-1234.5678, 1.0 / 3.0])
    settings = node.control.loop.supervisor.settings
    limits, limiter = settings.limits, EffortLimiter(settings.limits)
    joints = settings.robot.joint_names
    publisher = EffortPublisher(node, joints, joints, scale)
    recorder = TopicRecorder(node, Float64MultiArray, EFFORT_TOPIC, 1000)
    wait_until(publisher._publisher.get_subscription_count, PATIENCE, "the recorder to be seen")
    dice = np.random.default_rng(5)
    wanted = dice.normal(0.0, 3.0, (20, 2)) * limits.effort  # each long enough to be reached
    for asked in np.repeat(wanted, 20, axis=0):
        publisher.publish(limiter.approach(asked, DT).command)
        time.sleep(0.0005)
    wait_until(lambda: recorder.drain() or len(recorder.samples) >= 390, PATIENCE, "the efforts")
    sent = np.array([recorder.decode(sample).data for sample in recorder.samples])
    assert np.all(np.abs(sent) <= np.abs(scale) * limits.effort)
    assert np.any(np.abs(sent) == np.abs(scale) * limits.effort, axis=0).all(), "the limit was never reached"
    if len(sent) == 400:  # best effort may lose one
        step = np.abs(scale) * limits.rate * DT
        assert np.all(np.abs(np.diff(sent, axis=0)) <= step * (1.0 + 1e-9))


@pytest.mark.parametrize("scale", [[1.0, np.nan], [1.0, np.inf], [1.0]])
def test_a_scale_that_is_no_number_for_each_joint_makes_no_publisher(node, scale):
    with pytest.raises(ModelError, match="effort scale"):
        EffortPublisher(node, ["a", "b"], ["a", "b"], np.array(scale))
