"""No setting is lost silently: unknown names are refused with the nearest one, whoever gave them and where."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
import yaml
from rclpy.parameter import Parameter as RosParameter
from support.hardware_files import flat
from support.parameter_page import NODES

from rne_dynamics.errors import ParameterError
from rne_dynamics.ros.parameters.files import JOINT, JTC
from rne_dynamics.ros.parameters.table import ParameterTable

CONFIG = Path(__file__).resolve().parents[2] / "config"
JOINTS = ("joint1", "joint2", "joint3")
CTC = "computed_torque_controller"


class Logged:
    """What a node's logger was given."""

    def __init__(self, monkeypatch, node):
        self.infos, self.warnings = [], []
        logger = node.get_logger()
        monkeypatch.setattr(logger, "info", self.infos.append)
        monkeypatch.setattr(logger, "warning", self.warnings.append)
        monkeypatch.setattr(node, "get_logger", lambda: logger)


@pytest.fixture
def table_of(monkeypatch):
    """A table of one of our nodes, given settings; `joints` None leaves those of joints for later."""
    nodes = []

    def make(name, given, joints=JOINTS, left_out=()):
        node = rclpy.create_node(name, parameter_overrides=[RosParameter(n, value=v) for n, v in given.items()])
        nodes.append(node)
        logged = Logged(monkeypatch, node)
        table = ParameterTable(node, NODES[name], JTC if name == CTC else ())
        table.logged = logged
        if joints is not None:
            table.declare_joints(joints, left_out=left_out)
        return table

    yield make
    for node in nodes:
        node.destroy_node()


@pytest.mark.parametrize(("node", "name", "near"), [
    (CTC, "stop.polcy", "stop.policy"), ("move", "payload.mas", "payload.mass"),
])
def test_a_name_that_does_not_exist_is_refused_at_the_start(table_of, node, name, near):
    with pytest.raises(ParameterError) as error:
        table_of(node, {name: 1.0, "diagnostics_period": 2.0}, joints=None)
    assert f"parameter {name} does not exist; nearest: {near}" in str(error.value)
    assert "diagnostics_period" not in str(error.value)


@pytest.mark.parametrize(("node", "name", "near"), [
    (CTC, "limits.joint1.efort", ["limits.joint1.effort"]),
    (CTC, "limits.stop_frequenzy", ["limits.stop_frequency"]),
    (CTC, "gains.joint1.dd", ["gains.joint1.d"]),
    ("simulator", "initial_position.joint9", [f"initial_position.{joint}" for joint in JOINTS]),
    ("simulator", "limits.Joint2.effort", ["limits.joint2.effort"]),
    ("gravity_compensation", "gains.joint1.p", ["gains.joint1.d"]),
])
def test_a_name_that_may_be_of_a_joint_is_refused_once_the_joints_are_known(table_of, node, name, near):
    table_of(node, {name: 3.0}, joints=None)
    with pytest.raises(ParameterError) as error:
        table_of(node, {name: 3.0})
    assert all(other in str(error.value) for other in near)


def test_every_fault_is_named_at_once(table_of):
    with pytest.raises(ParameterError) as error:
        table_of(CTC, {"limits.joint1.efort": 3.0, "gains.joint2.p": -1.0, "gains.joint7.p": 1.0})
    for name in ("limits.joint1.efort", "gains.joint2.p", "gains.joint7.p"):
        assert name in str(error.value)


def test_rclpy_s_own_are_left_to_rclpy(table_of):
    qos = "qos_overrides./joint_states.subscription.depth"
    table = table_of(CTC, {"use_sim_time": True, "start_type_description_service": True, qos: 5})
    assert [qos in text for text in table.logged.warnings] == [True], "it is taken by no topic, so it is named"


def test_joints_that_are_left_out_are_named_in_a_warning(table_of):
    table = table_of(CTC, {"gains.joint3.p": 9.0, "gains.joint1.p": 8.0}, JOINTS[:2], left_out=JOINTS[2:])
    assert table["gains.joint1.p"] == 8.0
    (said,) = table.logged.warnings
    assert "gains.joint3.p" in said
    assert "joints" in said
    with pytest.raises(ParameterError, match=r"gains\.joint4\.p"):
        table_of(CTC, {"gains.joint4.p": 9.0}, JOINTS[:2], left_out=JOINTS[2:])


SECTIONS = [
    (str(file.relative_to(CONFIG)), key.removeprefix("/**/").lstrip("/"), values["ros__parameters"])
    for file in sorted(CONFIG.rglob("*.yaml")) for key, values in yaml.safe_load(file.read_text("utf-8")).items()
    if key.rpartition("/")[2] in (CTC, "gravity_compensation", "effort_gate", "simulator", "move")
]


@pytest.mark.parametrize(("file", "node", "values"), SECTIONS, ids=[f"{file}-{node}" for file, node, _ in SECTIONS])
def test_every_file_that_ships_passes(table_of, file, node, values):
    table = table_of(node.rpartition("/")[2], flat(values), values.get("joints", JOINTS))
    assert table.logged.warnings == table.logged.infos == []


# -- names of joint_trajectory_controller --------------------------------------------------------------------------


def test_names_of_jtc_that_mean_the_same_are_taken(table_of):
    table = table_of(CTC, {
        "constraints.stopped_velocity_tolerance": 0.02, "constraints.goal_time": 1.5, "constraints.joint1.goal": 0.03,
        "gains.joint1.i_clamp_max": 4.0, "gains.joint1.i_clamp_min": -4.0, "gains.joint2.i_clamp_min": -2,
        "gains.joint3.i_clamp_max": 3.0, "gains.joint3.i_clamp": 3.0, "speed_scaling.initial_scaling_factor": 0.5,
    })
    assert table["constraints.stopped_velocity"] == 0.02
    assert [table[f"gains.{joint}.i_clamp"] for joint in JOINTS] == [4.0, 2.0, 3.0]
    assert table["speed_scaling"] == 0.5
    assert table["constraints.goal_time"] == 1.5


@pytest.mark.parametrize(("given", "said"), [
    ({"gains.joint1.i_clamp_max": 4.0, "gains.joint1.i_clamp_min": -3.0}, "give gains.joint1.i_clamp alone"),
    ({"gains.joint1.i_clamp_max": 4.0, "gains.joint1.i_clamp": 3.0}, "gains.joint1.i_clamp_max 4.0 and"),
    ({"constraints.stopped_velocity_tolerance": 0.02, "constraints.stopped_velocity": 0.01}, "mean the same"),
    ({"gains.joint1.i_clamp_max": float("inf")}, "finite"),
    ({"gains.joint1.i_clamp_min": 3.0}, "gains.joint1.i_clamp_min, negated, is -3.0"),
    ({"gains.joint1.i_clamp_max": "4"}, "a number"),
    ({"constraints.stopped_velocity_tolerance": 0.0}, "constraints.stopped_velocity_tolerance is 0.0"),
    ({"speed_scaling.initial_scaling_factor": 2.0}, "speed_scaling.initial_scaling_factor is 2.0"),
    ({"gains.joint9.i_clamp_max": 4.0}, "gains.joint9.i_clamp_max does not exist"),
])
def test_names_of_jtc_with_values_that_do_not_fit_are_refused(table_of, given, said):
    with pytest.raises(ParameterError) as error:
        table_of(CTC, given)
    assert said in str(error.value)


@pytest.mark.parametrize(("given", "said"), [
    ({"gains.joint1.ff_velocity_scale": 1.0}, "the model computes"), ({"gains.joint1.u_clamp_max": 3.0}, "limits"),
    ({"command_joints": ["joint1"]}, "joints"), ({"update_rate": 500}, "rate"),
    ({"interpolation_method": "none"}, "splines"), ({"constraints.joint1.max_deceleration_on_cancel": 2.0}, "brake"),
    ({"allow_integration_in_goal_trajectories": True}, "positions"), ({"start_with_holding": False}, "held"),
    ({"speed_scaling.state_interface": "speed/factor"}, "~/speed_scaling"),
])
def test_what_cannot_be_done_as_jtc_does_it_is_refused_with_the_reason(table_of, given, said):
    (name,) = given
    with pytest.raises(ParameterError) as error:
        table_of(CTC, given)
    assert f"parameter {name} is" in str(error.value)
    assert said in str(error.value)


def test_the_table_of_aliases_is_sound():
    ours = {p.name for p in NODES[CTC]}
    assert len({entry.name for entry in JTC}) == len(JTC)
    for entry in JTC:
        assert entry.name not in ours, "the same name needs no entry"
        assert bool(entry.ours) != bool(entry.does)
        assert not entry.ours or entry.ours in ours
        assert (JOINT in entry.name) == (JOINT in entry.ours) or not entry.ours


def test_a_refused_start_can_be_repeated_with_other_values(table_of):
    table = table_of(CTC, {"gains.joint1.p": "much", "gains.joint2.p": 5.0}, joints=None)
    with pytest.raises(ParameterError, match=r"gains\.joint1\.p"):
        table.declare_joints(JOINTS)
    node = table._node
    assert node.set_parameters([RosParameter("gains.joint1.p", value=7.0)])[0].successful
    table.declare_joints(JOINTS)
    assert [table[f"gains.{joint}.p"] for joint in JOINTS] == [7.0, 5.0, 400.0]
