"""The parameter files for two arms behind ros2_control: what each arm's nodes get of them."""

from __future__ import annotations

import re
from pathlib import Path

import rclpy
import yaml
from rclpy.context import Context
from rclpy.parameter import Parameter
from support.hardware_files import UR, flat, numbered
from support.wheel import wheel_urdf

from rne_dynamics.ros.effort_gate import EffortGateNode

CONFIG = Path(__file__).resolve().parents[2] / "config"
BASE, NAMESPACES = CONFIG / "hardware" / "ros2_control.yaml", CONFIG / "two_arms" / "namespaces.yaml"
PREFIXES = CONFIG / "two_arms" / "prefixes.yaml"
ARMS, GATE, LAW = ("left", "right"), "effort_gate", "computed_torque_controller"
NODES = (LAW, "gravity_compensation", GATE)


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
