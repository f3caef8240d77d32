"""What the launch files start, from their arguments alone: no ROS launch, no node."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

from rne_dynamics.description.share import share_file
from rne_dynamics.errors import ArgumentError
from rne_dynamics.ros.launch_plan import (
    DRIVERS,
    GATE,
    GATE_TOPIC,
    KINDS,
    SIMULATOR,
    STATE_PUBLISHER,
    VIEWER,
    check_names,
    plan,
)

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ("controller", "gravity_compensation")
ARM = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm"><xacro:arg name="joint" default="a"/>
<link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="$(arg joint)" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""


def planned(kind, **given):
    return {node.executable: node for node in plan(KINDS[kind], given)}


def values(node):
    """The parameters that are given one by one."""
    return {name: value for part in node.parameters if isinstance(part, dict) for name, value in part.items()}


def topic(node, name):
    return dict(node.remappings).get(name, name)


def test_every_launch_file_has_a_plan_of_nodes_that_exist():
    assert {f.name.removesuffix(".launch.py") for f in (ROOT / "launch").iterdir()} == set(KINDS)
    for kind in KINDS.values():
        for node in kind.nodes:
            assert callable(importlib.import_module(f"rne_dynamics.ros.{node}").main)
        names = [argument.name for argument in kind.arguments]
        assert len(set(names)) == len(names)


def test_every_file_for_hardware_has_its_topics_and_the_page_names_them():
    assert {file.stem for file in (ROOT / "config" / "hardware").iterdir()} == set(DRIVERS)
    page = (ROOT / "docs" / "hardware.md").read_text(encoding="utf-8")
    for driver in DRIVERS.values():
        for name in filter(None, (driver.joint_states, driver.efforts, driver.drives)):
            assert f"`{name}`" in page


@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize("hardware", DRIVERS)
def test_hardware_starts_gate_and_controller_on_the_drivers_topics(kind, hardware):
    nodes, driver = planned(kind, hardware=hardware), DRIVERS[hardware]
    law = KINDS[kind].nodes[0]
    assert list(nodes) == [GATE, law], "the gate first"
    file = share_file(f"config/hardware/{hardware}.yaml")
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name, node in nodes.items():
        assert node.parameters[0] == file
        assert f"/**/{name}" in sections
        assert topic(node, "joint_states") == driver.joint_states
        assert "robot_description" not in values(node), "it is read from the topic"
    assert topic(nodes[GATE], "effort_controller/commands") == driver.efforts
    assert topic(nodes[law], "effort_controller/commands") == GATE_TOPIC
    assert values(nodes[law]).get("drives.topic", "") == driver.drives
    assert nodes[law].guarded
    assert not nodes[GATE].guarded, "its end ends the launch"


def test_a_simulated_gate_gets_a_parameter_file_only_if_that_has_a_section_for_it(tmp_path):
    gate = planned("simulated_arm", urdf="puma560", gate="start")[GATE]
    assert not any(isinstance(part, Path) for part in gate.parameters), "the file of the PUMA 560 has no such section"
    file = tmp_path / "arm.yaml"
    file.write_text("/**/effort_gate: {ros__parameters: {command_timeout: 0.05}}", encoding="utf-8")
    assert planned("simulated_arm", urdf="puma560", gate="start", config=str(file))[GATE].parameters[0] == file
    file.write_text("/**/simulator: {ros__parameters: {rate: 500.0}}", encoding="utf-8")
    assert planned("controller", urdf="puma560", gate="start", config=str(file))[GATE].parameters[0] == file, (
        "a real arm's gate warns that the section is missing"
    )


def test_the_gate_may_run_elsewhere_or_be_left_out():
    for gate, efforts in (("running", GATE_TOPIC), ("none", "forward_effort_controller/commands")):
        (node,) = planned("controller", hardware="franka", gate=gate).values()
        assert topic(node, "effort_controller/commands") == efforts
        assert not node.guarded
    (node,) = planned("effort_gate", hardware="franka").values()
    assert topic(node, "effort_controller/commands") == "forward_effort_controller/commands"
    assert list(planned("controller", gate="start")) == [GATE, "computed_torque_controller"]


def test_what_is_given_wins_over_the_hardware(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("{}")
    nodes = planned("controller", hardware="ur", efforts="/nobody", joint_states="js", drives="ready", config=str(file))
    assert topic(nodes[GATE], "effort_controller/commands") == "/nobody"
    law = nodes["computed_torque_controller"]
    assert (topic(law, "joint_states"), values(law)["drives.topic"], law.parameters[0]) == ("js", "ready", file)


def test_without_hardware_a_controller_takes_its_description_where_it_is_given():
    assert list(planned("controller")) == ["computed_torque_controller"]
    (node,) = planned("controller", description_topic="/left/robot_description").values()
    assert node.parameters == ({},)
    assert topic(node, "robot_description") == "/left/robot_description"
    (node,) = planned("controller", urdf="scara").values()
    assert "<robot" in values(node)["robot_description"]
    assert node.parameters[0] == share_file("config/scara.yaml")
    (node,) = planned("controller", model="pantograph").values()
    assert values(node) == {"model": "pantograph"}


def test_xacro_takes_its_arguments(tmp_path):
    pytest.importorskip("xacro")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(ARM)
    (node,) = planned("controller", urdf=str(file), xacro_args="joint:=b").values()
    assert '<joint name="b"' in values(node)["robot_description"]


def test_nobody_publishes_the_description_twice():
    """A robot_state_publisher publishes it too: drivers bring one, and for a simulated arm one is started."""
    assert STATE_PUBLISHER not in planned("controller", urdf="scara")
    assert STATE_PUBLISHER in planned("controller", urdf="scara", robot_state_publisher="true")
    nodes = planned("simulated_arm")
    assert STATE_PUBLISHER in nodes
    assert topic(nodes[SIMULATOR], "robot_description") == "~/robot_description"
    alone = {n.executable: n for n in plan(KINDS["simulated_arm"], {}, installed=lambda package: False)}
    assert topic(alone[SIMULATOR], "robot_description") == "robot_description"
    nodes = planned("simulated_arm", robot_state_publisher="false")
    assert STATE_PUBLISHER not in nodes
    assert topic(nodes[SIMULATOR], "robot_description") == "robot_description"


def test_the_simulator_replaces_hardware(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace("$(arg joint)", "a"))
    nodes = planned("simulated_arm", hardware="franka", urdf=str(file))
    arm, gate = nodes[SIMULATOR], nodes[GATE]
    assert topic(arm, "joint_states") == topic(gate, "joint_states") == "franka/joint_states"
    assert topic(arm, "effort_controller/commands") == topic(gate, "effort_controller/commands")
    assert values(arm)["joints"] == [f"fr3_joint{k + 1}" for k in range(7)]
    assert values(arm)["gravity"] == [0.0, 0.0, -0.001], "the arm compensates it itself"
    assert values(arm)["friction"] is False
    assert "gravity" not in values(planned("simulated_arm", hardware="kinova_gen3", urdf=str(file))[SIMULATOR])
    assert not any(isinstance(part, Path) for part in arm.parameters), "the file has no section for it"


def test_a_parameter_file_of_hardware_drives_a_simulated_arm(tmp_path):
    file, law = tmp_path / "arm.yaml", "computed_torque_controller"
    given = {"effort_scale": {"joint1": -100.0, "joint2": 1.0}, "drives": {"topic": "on"},
             "hardware_compensates": ["gravity"], "payload": {"link": "link2", "mass": 0.5}}  # fmt: skip
    sections = {law: given, SIMULATOR: {"payload": {"mass": 0.6}}}
    file.write_text(yaml.safe_dump({f"/**/{name}": {"ros__parameters": v} for name, v in sections.items()}))
    nodes = planned("simulated_arm", urdf="planar2", config=str(file))
    assert values(nodes[law])["effort_scale.joint1"] == 1.0
    assert values(nodes[law])["drives.topic"] == ""
    arm = values(nodes[SIMULATOR])
    assert (arm["gravity"], arm["payload.link"]) == ([0.0, 0.0, -0.001], "link2")
    assert "payload.mass" not in arm, "the file's section for the simulator has it"


@pytest.mark.parametrize(("given", "lockstep", "clock", "follow"), [
    ({}, True, True, True),
    ({"lockstep": "false"}, False, False, False),
])
def test_simulated_time_waits_for_the_controller_unless_it_is_real(given, lockstep, clock, follow):
    nodes = planned("simulated_arm", rviz="true", **given)
    found = values(nodes.pop(SIMULATOR))
    assert (found["lockstep"], found["publish_clock"], "use_sim_time" in found) == (lockstep, clock, False)
    assert [values(node)["use_sim_time"] for node in nodes.values()] == [follow] * 3
    for node in nodes.values():
        assert topic(node, "/clock") == "clock", "several simulated arms do not set each other's time"
    assert "use_sim_time" not in values(planned("controller")["computed_torque_controller"])


@pytest.mark.parametrize(("kind", "given", "said"), [
    ("controller", {"hardware": "frank"}, "hardware:=frank is not allowed; give one of franka, "),
    ("controller", {"gate": "yes"}, "gate:=yes .*start, running, none"),
    ("controller", {"rviz": "1"}, "rviz:=1 .*true, false"),
    ("controller", {"urdf": "scara", "model": "pantograph"}, "urdf:=scara and model:=pantograph are both given"),
    ("controller", {"urdf": "nosuch.urdf"}, "urdf:=nosuch.urdf: nosuch.urdf does not exist"),
    ("controller", {"urdf": "pantograph"}, "urdf:=pantograph names a model file; give it as model:=pantograph"),
    ("controller", {"model": "scara"}, "model:=scara names no model file; give it as urdf:=scara"),
    ("controller", {"config": "nosuch.yaml"}, "config:=nosuch.yaml names no file"),
    ("controller", {"xacro_args": "a:=b"}, "xacro_args:='a:=b' is given without urdf"),
    ("controller", {"urdf": "scara", "xacro_args": "a:=b"}, "urdf:=scara: .*for xacro only"),
    ("controller", {"urdf": "scara", "xacro_args": "a=b"}, "'a=b'; write NAME:=VALUE"),
    ("controller", {"urdf": "scara", "xacro_args": "a:='b"}, "close the quotes"),
    ("controller", {"robot_state_publisher": "true"}, "robot_state_publisher:=true needs urdf or model"),
    ("controller", {"hardware": "ur", "efforts": GATE_TOPIC}, "efforts:=effort_gate/commands .*gate:=running"),
    ("effort_gate", {"efforts": GATE_TOPIC}, "efforts:=effort_gate/commands .*the driver's topic"),
    ("simulated_arm", {"hardware": "ur"}, "hardware:=ur is given without urdf"),
])  # fmt: skip
def test_errors_name_what_was_typed(kind, given, said):
    with pytest.raises(ArgumentError, match=said):
        plan(KINDS[kind], given)


def test_arguments_that_a_file_does_not_have_are_refused():
    arguments = KINDS["controller"].arguments
    check_names(arguments, ["urdf:=scara", "--noninteractive", "launch-prefix:=nice"], "controller.launch.py")
    for word, near in (("hardwear:=franka", "hardware"), ("joint_state:=x", "joint_states")):
        with pytest.raises(ArgumentError, match=f"named '{word.partition(':')[0]}'; did you mean '{near}'"):
            check_names(arguments, [word], "controller.launch.py")


def test_the_command_in_a_launch_file_has_arguments_that_exist():
    for name, kind in KINDS.items():
        first = (ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8").splitlines()[0]
        assert f"ros2 launch rne_dynamics {name}.launch.py" in first
        assert set(re.findall(r"(\w+):=", first)) <= {argument.name for argument in kind.arguments}


def test_recorder_and_viewer_are_started_on_request_on_the_drivers_topics_and_their_end_ends_nothing():
    driver, asked = DRIVERS["franka"], planned("controller", hardware="franka", record="runs", view="true")
    recorder, viewer = asked["recorder"], asked[VIEWER]
    assert values(recorder)["output"] == "runs"
    assert {driver.joint_states, driver.efforts, "*/torque/*"} <= set(values(recorder)["topics"])
    assert topic(viewer, "joint_states") == driver.joint_states
    assert recorder.optional
    assert viewer.optional
    assert not {"recorder", VIEWER} & set(planned("controller", hardware="franka"))
    assert values(planned("simulated_arm", urdf="puma560", view="true")[VIEWER])["simulator"] == SIMULATOR
