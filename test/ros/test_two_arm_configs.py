"""The parameter files for two arms behind ros2_control, as far as they can be tested without it.

One simulator has both arms and takes JointState commands, as topic-based hardware does. Between it and the six nodes of
the two arms is this process, which acts as a controller manager with the file's controllers.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from support.forked import ForkedNode
from support.hardware_files import LENIENT, POSTURES, UR, flat, numbered
from support.wheel import wheel_urdf

from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import START
from .ros2_control_stand_in import TopicBasedSystem

CONFIG = Path(__file__).resolve().parents[2] / "config"
BASE, NAMESPACES = CONFIG / "hardware" / "ros2_control.yaml", CONFIG / "two_arms" / "namespaces.yaml"
PREFIXES = CONFIG / "two_arms" / "prefixes.yaml"
ARMS, GATE, LAW = ("left", "right"), "effort_gate", "computed_torque_controller"
NODES = (LAW, "gravity_compensation", GATE)
HOME = POSTURES["ur5_robot.urdf"]


def sections(file: Path) -> dict[str, dict[str, object]]:
    return {name: flat(part["ros__parameters"]) for name, part in yaml.safe_load(file.read_text()).items()}


def test_each_arm_s_part_is_the_one_arm_s_with_a_prefix():
    base, both = sections(BASE), sections(PREFIXES)
    for arm in ARMS:
        for node in NODES:
            one = base[f"/**/{node}"].items()
            expected = {re.sub(r"\bjoint(\d)\b", rf"{arm}_joint\1", key): value for key, value in one}
            expected["joints"] = numbered(f"{arm}_joint{{}}", 6)
            assert both[f"/{arm}/{node}"] == expected
        assert both[f"{arm}_effort_controller"] == {"joints": expected["joints"], "interface_name": "effort"}
        assert both["controller_manager"][f"{arm}_effort_controller.type"].startswith("forward_command_controller/")
    assert set(both) == {
        "controller_manager", *(f"{arm}_effort_controller" for arm in ARMS),
        *(f"/{arm}/{node}" for arm in ARMS for node in NODES),
    }


def test_what_differs_between_namespaces_is_the_same_for_the_nodes_of_an_arm():
    both = sections(NAMESPACES)
    assert both["/**/effort_controller"]["joints"] == sections(BASE)[f"/**/{LAW}"]["joints"]
    for arm in ARMS:
        assert both[f"/{arm}/{LAW}"] == both[f"/{arm}/gravity_compensation"] == both[f"/{arm}/{GATE}"]


def test_the_files_for_namespaces_configure_each_arm_differently(tmp_path):
    """The arm's own file holds for both, the later one for one of them; the names are those of the file."""
    text = wheel_urdf("ur5_robot.urdf").read_text(encoding="utf-8")
    for old, new in zip(UR, numbered("joint{}", 6), strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    differing = tmp_path / "namespaces.yaml"
    plain, column = "{ros__parameters: {gravity: [0.0, 0.0, -9.81]}}", "gravity: [0.0, -9.81, 0.0]"
    gripper = "payload: {link: tool0, mass: 1.2, com: [0.0, 0.0, 0.06]}"  # as the file's comment has it
    content = NAMESPACES.read_text()
    assert gripper in content
    assert content.count(plain) == 6
    differing.write_text(content.replace(
        f"/right/{GATE}: {plain}", f"/right/{GATE}: {{ros__parameters: {{{column}, {gripper}}}}}"
    ))  # fmt: skip
    for arm, mass, gravity in (("left", 0.0, (0.0, 0.0, -9.81)), ("right", 1.2, (0.0, -9.81, 0.0))):
        gate = EffortGateNode([*given(arm, BASE, differing), Parameter("robot_description", value=text)])
        assert gate.trigger_configure().name == "SUCCESS"
        found = [gate.parameters[name] for name in ("payload.mass", "gravity", "limits.joint1.effort")]
        assert found == [mass, gravity, 60.0]
        gate.destroy_node()


def given(arm: str, *files: Path) -> list[Parameter]:
    """What rcl gives the gate of an arm from these files."""
    context, words = Context(), [word for file in files for word in ("--params-file", str(file))]
    rclpy.init(args=["x", "--ros-args", *words, "-r", f"__ns:=/{arm}"], context=context)
    try:
        node = rclpy.create_node(GATE, context=context)
        found = list(node._parameter_overrides.values())
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    return found


def two_arms(folder: Path) -> Path:
    """A URDF with two UR5, their names with prefixes, 1 m apart."""
    robot = ElementTree.Element("robot", name="two_arms")
    ElementTree.SubElement(robot, "link", name="world")
    for arm, y in (("left", 0.5), ("right", -0.5)):
        text = wheel_urdf("ur5_robot.urdf").read_text(encoding="utf-8")
        for old, new in zip(UR, numbered("joint{}", 6), strict=True):
            text = text.replace(f'"{old}"', f'"{new}"')
        one = ElementTree.fromstring(text)
        links = one.findall("link")
        children = {child.get("link") for child in one.iter("child")}
        for element in (*links, *one.findall("joint")):
            for named in (element, *element.iter("mimic")):
                key = "joint" if named.tag == "mimic" else "name"
                named.set(key, f"{arm}_{named.get(key)}")
            for end in (*element.findall("parent"), *element.findall("child")):
                end.set("link", f"{arm}_{end.get('link')}")
            for shape in (*element.findall("visual"), *element.findall("collision")):
                element.remove(shape)
            robot.append(element)
        root = next(link.get("name") for link in links if link.get("name").removeprefix(f"{arm}_") not in children)
        mount = ElementTree.SubElement(robot, "joint", name=f"{arm}_mount", type="fixed")
        ElementTree.SubElement(mount, "parent", link="world")
        ElementTree.SubElement(mount, "child", link=root)
        ElementTree.SubElement(mount, "origin", xyz=f"0 {y} 0")
    file = folder / "two_arms.urdf"
    ElementTree.ElementTree(robot).write(file, encoding="unicode")
    return file


class ControllerManager:
    """What the controllers of prefixes.yaml do with topic-based hardware: a cycle for each joint state."""

    def __init__(self, namespace: str) -> None:
        self.node = rclpy.create_node("controller_manager", namespace=namespace)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.joints = {arm: sections(PREFIXES)[f"{arm}_effort_controller"]["joints"] for arm in ARMS}
        every = [joint for joints in self.joints.values() for joint in joints]
        self.hardware = TopicBasedSystem(self.node, dict.fromkeys(every, ("effort",)), threshold=-1.0)
        self.states = self.node.create_publisher(JointState, "joint_states", 10)
        self.node.create_subscription(JointState, "robot_joint_states", self._update, 1)
        self.modes: dict[str, str] = {}
        for arm in ARMS:
            self.node.create_subscription(
                Float64MultiArray, f"{arm}_effort_controller/commands", lambda m, a=arm: self._command(a, m), 1
            )
            for node in (LAW, GATE):
                self.node.create_subscription(
                    String, f"{arm}/{node}/state", lambda m, name=f"{arm}/{node}": self.modes.update({name: m.data}),
                    rclpy.qos.QoSProfile(depth=1, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL),
                )

    def _command(self, arm: str, message: Float64MultiArray) -> None:
        for joint, effort in zip(self.joints[arm], message.data, strict=True):
            self.hardware.commands[joint, "effort"] = effort

    def _update(self, state: JointState) -> None:
        self.states.publish(state)  # as joint_state_broadcaster
        self.hardware.read()
        self.hardware.write()

    def spin(self, condition, what: str, processes: list[NodeProcess]) -> None:
        def met() -> bool:
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                self.executor.spin_once(0.01)
            return condition()

        wait_until(met, 3.0 * START, what, processes, period=0.0)


@pytest.fixture
def manager(namespace) -> Iterator[ControllerManager]:
    one = ControllerManager(f"{namespace}/prefixes")
    yield one
    one.executor.shutdown()
    one.node.destroy_node()


@pytest.mark.soak  # in real time: at a load of 12 on two cores an arm was not held
def test_the_file_for_prefixes_drives_two_arms_of_one_simulation(manager, tmp_path):
    urdf, at = two_arms(tmp_path), manager.node.get_namespace()
    joints = [joint for arm in ARMS for joint in manager.joints[arm]]
    # the sections of the file name the namespaces that it is written for; here a namespace of the test is before them
    file = tmp_path / "prefixes.yaml"
    file.write_text(PREFIXES.read_text().replace("\n/left/", f"\n{at}/left/").replace("\n/right/", f"\n{at}/right/"))
    simulator = [
        "--ros-args", "-r", f"__ns:={at}", "-p", f"robot_description:={urdf}", "-p", f"joints:=[{','.join(joints)}]",
        "-p", "command_message:=sensor_msgs/JointState", "-p", "rate:=250.0", "-p", "on_command_timeout:=brake",
        *(word for arm in ARMS for joint, q in zip(manager.joints[arm], HOME, strict=True)
          for word in ("-p", f"initial_position.{joint}:={q}")),
    ]  # fmt: skip

    def arguments(arm: str, efforts: str, *more: str) -> list[str]:
        return [
            "--ros-args", "--params-file", str(file), "-r", f"__ns:={at}/{arm}", "-p", f"robot_description:={urdf}",
            "-r", f"joint_states:={at}/joint_states", "-r", f"effort_controller/commands:={efforts}", *more,
        ]

    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(ForkedNode("simulator", simulator))]
        for arm in ARMS:
            processes.append(stack.enter_context(ForkedNode(GATE, arguments(
                arm, f"{at}/{arm}_effort_controller/commands", "-p", "command_timeout:=5.0", "-p", "state_timeout:=5.0"
            ))))
            processes.append(stack.enter_context(ForkedNode(LAW, arguments(arm, "effort_gate/commands", *LENIENT))))
        expected = {f"{arm}/{node}": mode for arm in ARMS for node, mode in ((LAW, "holding"), (GATE, "passing"))}

        def is_checked(law: NodeProcess) -> bool:
            said = law.output()  # not checked: the gate began to pass after the check, on a busy computer
            return "agree with the model's gravity" in said or "not checked" in said

        laws = [process for process in processes if process.module == LAW]
        manager.spin(
            lambda: manager.modes == expected and all(map(is_checked, laws)), "both arms to be held", processes
        )
        held = np.array([manager.hardware.states[joint, "position"] for joint in joints])
        np.testing.assert_allclose(held, [*HOME, *HOME], atol=0.02)
        assert manager.modes == expected
