"""Controllers in simulated time: a paused simulation, no clock at all, and a simulator in lock-step."""

from __future__ import annotations

import itertools
import signal
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from support.frozen import freeze, program, thaw
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import IN_STEP, PATIENCE, START, account, through

CONTROLLER, JOINTS = "computed_torque_controller", ["joint1", "joint2"]
#: Much longer than state_timeout, 0.1 s.
PAUSE = 0.4


def controller(start, **parameters):
    return start(
        CONTROLLER, script=program(CONTROLLER), robot_description="planar2", use_sim_time=True,
        diagnostics_period=0.5, stop__hold_time=0.1, stop__ramp_time=0.1, **parameters,
    )


@pytest.fixture(scope="module")
def simulated(start, make_peer):
    """A simulator that is not in real time, and a controller that follows its clock; the last test ends it."""
    simulator = start("simulator", robot_description="planar2", rate=250.0, initial_position__joint1=0.5,
                      diagnostics_period=0.5, **IN_STEP)
    process, peer = controller(start, startup_check__duration=0.1), make_peer(JOINTS)
    wait_until(lambda: "agree" in process.output() or "not checked" in process.output(), START, "the check",
               [simulator, process])
    wait_until(lambda: peer.mode(CONTROLLER) == "holding", START, "the controller to hold", [simulator, process])
    return simulator, process, peer


def further(states: TopicRecorder, count: int, processes: list[NodeProcess]) -> None:
    """Wait for so many joint states from now on."""
    states.drain()
    states.samples.clear()
    wait_until(lambda: states.latest() is not None and len(states.samples) > count, PATIENCE, "states", processes)


def test_in_lockstep_the_simulation_waits_for_a_frozen_controller(simulated):
    simulator, process, peer = simulated
    states = TopicRecorder(peer.node, JointState, "joint_states")
    freeze(process)
    before = account(peer)  # the answer that was on its way has been taken
    before = account(peer)
    states.drain()
    states.samples.clear()
    wait_until(lambda: int(account(peer)["periods waited"]) > int(before["periods waited"]) + 100, PATIENCE,
               "it to wait", [simulator])
    assert account(peer)["periods"] == before["periods"]
    states.drain()
    # the last state comes again and again where the controller was frozen before it received it
    assert len({stamp_of(states.decode(sample)) for sample in states.samples}) <= 1, "no step without an answer"
    thaw(process)
    further(states, 50, [process])
    stamps = {stamp_of(states.decode(sample)) for sample in states.samples}
    assert set(np.diff(sorted(stamps))) == {4_000_000}
    assert peer.mode(CONTROLLER) == "holding"
    assert account(peer)["missed replies"] == "0"


def test_a_reset_in_motion_is_held_at_the_start(simulated):
    """It is far from its start: 0.36 rad it could have moved in the five states by which a reset is noticed.

    Until then efforts along the motion may act on the arm at its start, the more of them the slower this machine is:
    gravity is about the same there.
    """
    simulator, process, peer = simulated
    states = TopicRecorder(peer.node, JointState, "joint_states")
    trajectories = peer.node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
    wait_until(trajectories.get_subscription_count, PATIENCE, "its subscription", [process])
    # the second point, slow: the motion is under way however long the call takes
    trajectories.publish(through(JOINTS, (2.0, [-0.8, 0.4]), (2.0 * PATIENCE, [-0.85, 0.4])))
    wait_until(lambda: states.latest() and states.latest().position[0] < -0.75, PATIENCE, "the motion", [process])
    assert peer.call(Trigger, "simulator/reset", Trigger.Request(), once=True).success
    wait_until(lambda: "as by a reset" in process.output(), PATIENCE, "the controller to notice", [process])
    further(states, 100, [simulator])
    wait_until(lambda: peer.mode(CONTROLLER) == "holding", PATIENCE, "the state", [process])
    assert "stopping" not in process.output()
    assert states.latest().position[0] == pytest.approx(0.5, abs=0.02)


def test_a_paused_stepped_and_reset_simulation_is_no_fault_and_a_signal_ends_even_then(simulated):
    """The controller is gone afterwards."""
    simulator, process, peer = simulated
    states = TopicRecorder(peer.node, JointState, "joint_states")
    pause = SetBool.Request(data=True)
    assert peer.call(SetBool, "simulator/pause", pause).success
    time.sleep(PAUSE)
    assert peer.call(Trigger, "simulator/step", Trigger.Request(), once=True).success
    time.sleep(PAUSE)
    assert peer.call(SetBool, "simulator/pause", SetBool.Request(data=False)).success
    further(states, 50, [simulator])
    assert peer.mode(CONTROLLER) == "holding"
    assert "stopping" not in process.output()
    assert peer.call(Trigger, "simulator/reset", Trigger.Request(), once=True).success
    further(states, 50, [simulator])
    assert "fault" not in process.output()
    assert states.latest().position[0] == pytest.approx(0.5, abs=0.05)
    assert peer.mode(CONTROLLER) == "holding"
    # and a controller must end though simulated time stands still
    assert peer.call(SetBool, "simulator/pause", pause).success
    process.signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    assert peer.efforts()[-1] == [0.0, 0.0]
    simulator.stop()


@pytest.mark.slow
def test_in_lockstep_an_inactive_controller_holds_nothing_up_and_misses_no_state_once_it_is_active(start, make_peer):
    simulator = start("simulator", robot_description="planar2", rate=250.0, **IN_STEP, diagnostics_period=0.5)
    process, peer = controller(start, startup_check__duration=0.0, autostart=False), make_peer(JOINTS)
    states = TopicRecorder(peer.node, JointState, "joint_states", depth=10_000)
    both = [simulator, process]
    assert peer.transition(CONTROLLER, Transition.TRANSITION_CONFIGURE)
    further(states, 100, both)
    assert peer.transition(CONTROLLER, Transition.TRANSITION_ACTIVATE)
    wait_until(lambda: peer.mode(CONTROLLER) == "holding", START, "the controller to hold", both)
    further(states, 100, both)
    assert peer.transition(CONTROLLER, Transition.TRANSITION_DEACTIVATE)
    further(states, 100, both)
    assert account(peer)["missed replies"] == "0"
    assert "lock-step" not in simulator.output()
    for node in (process, simulator):
        node.stop()


def test_after_the_timeout_it_goes_on_without_waiting_until_the_next_command(start, make_peer):
    simulator, peer = start(
        "simulator", robot_description="planar2", rate=250.0, lockstep=True, lockstep_timeout=0.2, command_timeout=0.0,
    ), make_peer(JOINTS)
    states = TopicRecorder(peer.node, JointState, "joint_states")
    commands = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", OFFERED)
    wait_until(lambda: states.latest() is not None and commands.get_subscription_count(), START, "it", [simulator])

    def goes_on(why):
        further(states, 10, [simulator])
        assert len({stamp_of(states.decode(sample)) for sample in states.samples}) > 10, why

    def timed_out():
        if next(polls) % 100 == 0:  # a command may be lost before the simulator has seen who sends it
            commands.publish(Float64MultiArray(data=[0.0, 0.0]))
        return "lockstep_timeout" in simulator.output()

    polls = itertools.count()
    goes_on("states before the first command, for which nothing waits")
    wait_until(timed_out, PATIENCE, "the end of the wait for a command", [simulator])
    goes_on("states after the wait")
    simulator.stop()


@pytest.mark.slow
def test_without_a_clock_nothing_is_sent_and_that_is_reported(start, namespace, make_peer):
    process, peer = controller(start), make_peer(JOINTS)
    peer.connect(process)
    wait_until(lambda: peer.mode(CONTROLLER) == "waiting", START, "the controller", [process])
    peer.silence([0.1, 0.2])
    wait_until(lambda: "nothing was received on /clock" in process.output(), PATIENCE, "the warning", [process])
    assert not peer.set_parameters(CONTROLLER, use_sim_time=False).successful
    clock = peer.node.create_publisher(Clock, f"{namespace}/clock", OFFERED)
    message = Clock()
    wait_until(clock.get_subscription_count, PATIENCE, "its subscription", [process])

    def answered():
        message.clock.nanosec += 5_000_000
        clock.publish(message)
        peer.state([0.1, 0.2])
        time.sleep(0.005)
        return peer.efforts()

    wait_until(answered, PATIENCE, "an effort", [process])
    process.signal(signal.SIGKILL)  # without a clock its own stop takes seconds
