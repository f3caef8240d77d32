"""The simulator in place of topic-based hardware of ros2_control."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor as Executor
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from support.forked import ForkedNode

import rne_dynamics as rne
from rne_dynamics.errors import ControlError, ParameterError
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until
from rne_dynamics.ros.simulator_topics import TopicBasedHardware
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

from .peer import START
from .ros2_control_stand_in import TopicBasedSystem

ROBOT = rne.load_urdf("puma560")
JOINTS = ROBOT.joint_names
HOME = np.array([0.2, -0.4, -0.6, 0.1, 0.5, 0.0])
GOAL = np.array([0.5, -0.6, -0.3, 0.4, 0.2, -0.4])


class Rig:
    """A simulator and, before it, a hardware component with some controller: `cycle` is one of its periods."""

    def __init__(self, namespace: str, process: NodeProcess, interfaces, **options) -> None:
        self.node, self.process, self.executor = rclpy.create_node("hardware", namespace=namespace), process, Executor()
        self.executor.add_node(self.node)
        self.system = TopicBasedSystem(self.node, interfaces, **options)
        self.wait(lambda: self.system.ready, "the simulator")

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(left)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        def met() -> bool:
            self.spin(0.01)
            return condition()

        wait_until(met, START, what, [self.process])

    def column(self, kind: str) -> np.ndarray:
        return np.array([self.system.states[joint, kind] for joint in JOINTS])

    def command(self, kind: str, values: np.ndarray) -> None:
        for joint, value in zip(JOINTS, values, strict=True):
            self.system.commands[joint, kind] = float(value)

    def cycle(self) -> None:
        self.spin(0.01)
        self.system.read()
        self.system.write()


@pytest.fixture
def rig(namespace, request) -> Iterator[Callable[..., Rig]]:
    """Make a rig: `rig(interfaces, parameter=value, ...)`."""
    stack = contextlib.ExitStack()

    def make(interfaces, threshold: float = 1e-5, **parameters: object) -> Rig:
        at = f"{namespace}/{request.node.name}"
        arguments = [
            "--ros-args", "-r", f"__ns:={at}", "-p", "robot_description:=puma560",
            "-p", "command_message:=sensor_msgs/JointState", "-p", "rate:=250.0",
            *(w for j, q in zip(JOINTS, HOME, strict=True) for w in ("-p", f"initial_position.{j}:={q}")),
            *(w for name, value in parameters.items() for w in ("-p", f"{name}:={value}")),
        ]  # fmt: skip
        process = stack.enter_context(ForkedNode("simulator", arguments))
        rig = Rig(at, process, interfaces, threshold=threshold)
        stack.callback(rig.close)
        return rig

    with stack:
        yield make


def all_joints(*kinds: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(JOINTS, kinds)


def test_a_position_trajectory_as_of_a_joint_trajectory_controller(rig):
    arm = rig(all_joints("position"))
    for _ in range(20):  # no controller yet: NaN every cycle, and the brakes hold
        arm.cycle()
    assert arm.system.written >= 20
    np.testing.assert_array_equal(arm.column("position"), HOME)
    began, speeds = time.monotonic(), []
    while (s := (time.monotonic() - began) / 2.0) < 1.0:
        aim = HOME + (GOAL - HOME) * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        arm.command("position", aim)
        arm.cycle()
        speeds.append(arm.column("velocity"))
    arm.command("position", GOAL)
    arm.wait(lambda: (arm.cycle(), np.allclose(arm.column("position"), GOAL, atol=1e-3))[1], "the goal")
    assert (np.abs(speeds) < 1.2 * ROBOT.velocity_limit).all()
    # commands and states agree to the threshold, or nearly: the position stays in force without commands
    arm.spin(0.5)
    arm.system.read()
    np.testing.assert_allclose(arm.column("position"), GOAL, atol=1e-3)
    node = arm.node
    # a controller manager and its broadcaster publish these
    assert not node.count_publishers("joint_states")
    assert not node.count_publishers("robot_description")


def test_velocities_end_with_the_commands_efforts_go_to_the_motors_and_what_nobody_can_read_is_refused():
    hardware = TopicBasedHardware(ROBOT, 250.0, 0.0, command_timeout=0.2, brake=False, lockstep=False)
    simulator = Simulator(ArmPlant(ROBOT), HOME, dt=0.004, command_timeout=None, hold_until_command=True)

    def run(**lists: object) -> None:
        names = [*JOINTS, "finger"][: len(next(iter(lists.values())))]
        hardware.take(serialize_message(JointState(name=names, **lists)), simulator)
        for _ in range(25):
            hardware.drive(simulator)
            simulator.advance(1)

    for _ in range(3):
        run(velocity=[0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    assert simulator.state.qd[0] == pytest.approx(0.3, abs=0.05), "a joint of other hardware is ignored"
    for _ in range(100):
        hardware.drive(simulator)
        simulator.advance(1)
    assert abs(simulator.state.qd[0]) < 1e-3
    tau = rne.gravity_torque(ROBOT, simulator.state.q)
    run(effort=tau.tolist())
    np.testing.assert_allclose(simulator.applied_effort, tau, rtol=1e-12)
    for message, text in (
        (JointState(name=["left"], position=[0.0]), "none of its joints \\(left\\) is simulated; simulated are joint1"),
        (JointState(name=list(JOINTS), position=[0.0] * 5), "5 values of position for 6 joints"),
    ):
        with pytest.raises(ControlError, match=text):
            hardware.take(serialize_message(message), simulator)


@pytest.mark.parametrize(("lockstep", "frequency", "text"), [
    (True, 0.0, "do not answer one joint state each. Set lockstep to false"),
    (False, 100.0, "drive_frequency is 100 rad/s and rate is 250 Hz; it must be at most 0.25 times the rate, 62.5 rad"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(lockstep, frequency, text):
    with pytest.raises(ParameterError, match=text):
        TopicBasedHardware(ROBOT, 250.0, frequency, command_timeout=None, brake=False, lockstep=lockstep)
