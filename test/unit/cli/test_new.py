"""`rne new`: files that the nodes accept, for every kind of arm; nothing invented, nothing overwritten."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.demo import demo
from support.hardware_files import flat
from support.urdf_text import arm

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.control.gains import Gains, check_gains
from rne_dynamics.errors import ParameterError
from rne_dynamics.model.tree import JointKind
from rne_dynamics.ros.parameters.controller import joint_limits
from rne_dynamics.ros.parameters.table import COMMON
from rne_dynamics.ros.parameters.tracking import SCHEMA, tracking_settings

ROOT = Path(__file__).resolve().parents[3]
HOMEMADE = str(ROOT / "examples/four_joint_arm.urdf")
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move")


def parsed(file, robot):
    """Every parameter of each node, as the node's own schema parses it; unknown names fail."""
    sections = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    assert set(sections) == {f"/**/{node}" for node in NODES}
    found = {}
    for node in NODES:
        schema = (*COMMON, *importlib.import_module(f"rne_dynamics.ros.{node}").SCHEMA)
        known = {p.name.replace("{joint}", j): p for p in schema for j in robot.joint_names}
        given = flat(sections[f"/**/{node}"]["ros__parameters"])
        found[node] = {name: known[name].parse(name, value) for name, value in given.items()}
    return found


def controller_values(given, robot):
    defaults = {p.name.replace("{joint}", j): p.default for p in (*COMMON, *SCHEMA) for j in robot.joint_names}
    return {**defaults, **given}


@pytest.mark.parametrize("name", [HOMEMADE, "cylindrical", "pantograph", "flexible_arm"])
def test_a_file_passes_the_checks_of_the_nodes(name, tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    run_rne("new", name, "--out", "my_arm.yaml")
    robot = rne.load_model(name).rigid
    found = parsed("my_arm.yaml", robot)
    assert all(found[node]["joints"] == robot.joint_names for node in NODES)
    values = controller_values(found["computed_torque_controller"], robot)
    assert tracking_settings(robot, values).warnings == ()  # gains and damping are stable at the assumed rate
    np.testing.assert_allclose(joint_limits(robot, values).effort, robot.effort_limit, rtol=1e-6)
    start = np.array([found["simulator"][f"initial_position.{j}"] for j in robot.joint_names])
    assert ((start >= robot.lower) & (start <= robot.upper)).all()
    for joint in map(robot.tree.joint, robot.joint_names):
        goal = found["computed_torque_controller"][f"constraints.{joint.name}.goal"]
        assert goal == (0.002 if joint.kind is JointKind.PRISMATIC else 0.01)


def test_gains_and_damping_follow_the_rate(tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    robot, damping = rne.load_urdf(HOMEMADE), []
    for rate in (100.0, 1000.0):
        run_rne("new", HOMEMADE, "--out", "my_arm.yaml", "--force", "--rate", rate)
        found = parsed("my_arm.yaml", robot)
        given = found["computed_torque_controller"]
        gains = [np.array([given[f"gains.{j}.{k}"] for j in robot.joint_names]) for k in "pid"]
        assert check_gains(Gains(*gains), rate) == ()
        assert gains[0][0] == pytest.approx(min(40.0, rate / 6.0) ** 2, rel=0.01)
        assert given.get("min_rate", 250.0) == rate
        damping.append(found["gravity_compensation"]["gains.wrist.d"])
    assert damping[0] < damping[1]


def test_a_missing_limit_is_a_line_to_fill_in(tmp_path, monkeypatch, figures, run_rne):
    """And names of joints that YAML would take for something else stay names."""
    monkeypatch.chdir(tmp_path)
    Path("my_arm.urdf").write_text(arm(('effort="30"', 'effort="0"'), ('name="shoulder"', 'name="12e3"')))
    report = figures("new", "my_arm.urdf")
    assert report["fill_in"] == ["12e3"]
    assert "fill in limits.JOINT.effort of 12e3" in report["notes"][0]
    assert Path("my_arm.yaml").read_text().count("# effort:   # FILL IN, N m: the description gives no limit") == 3
    robot = rne.load_urdf("my_arm.urdf")
    given = parsed("my_arm.yaml", robot)["computed_torque_controller"]
    with pytest.raises(ParameterError, match=r"set limits\.12e3\.effort"):
        tracking_settings(robot, controller_values(given, robot))
    said = run_rne("demo", "--robot", "my_arm.urdf", "--config", "my_arm.yaml", code=1).err
    assert said.startswith("rne demo: my_arm.yaml: joint '12e3' has no effort limit")


def test_a_file_is_replaced_only_with_force_and_never_the_robot(tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    Path("planar2.yaml").write_text("mine")
    error = run_rne("new", "planar2", code=1).err
    assert "planar2.yaml exists; name another file with --out, or replace it with --force" in error
    assert Path("planar2.yaml").read_text() == "mine"
    run_rne("new", "planar2", "--force")
    assert "computed_torque_controller" in Path("planar2.yaml").read_text()
    Path("bar.yaml").write_text("urdf: planar2\n")
    assert "the robot's own file" in run_rne("new", "bar.yaml", "--out", "bar.yaml", "--force", code=1).err
    run_rne("new", "bar.yaml")
    assert Path("bar_params.yaml").is_file()


def test_the_next_commands_can_be_typed(tmp_path, monkeypatch, figures, run_rne):
    monkeypatch.chdir(tmp_path)
    Path("my arm.urdf").write_text(arm())
    monkeypatch.setenv("PATH", str(tmp_path))
    check, guide, last = figures("new", "my arm.urdf")["next"]
    assert check.endswith(" check 'my arm.urdf'")
    assert guide.endswith(" guide 'my arm.urdf' --config 'my arm.yaml'")
    assert last.endswith(" demo --robot 'my arm.urdf' --config 'my arm.yaml'")
    ros2 = tmp_path / "ros2"
    ros2.write_text("")
    ros2.chmod(0o755)
    assert figures("new", "my arm.urdf", "--force")["next"][2] == (
        "ros2 launch rne_dynamics simulated_arm.launch.py 'urdf:=my arm.urdf' config:='my arm.yaml'"
    )


def test_names_that_yaml_would_misread(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for k, name in enumerate(("on", "1", "null", "a b", "12e3", "arm.joint-1")):
        Path("my_arm.urdf").write_text(arm(('name="shoulder"', f'name="{name}"')))
        assert main(["new", "my_arm.urdf", "--force"]) == 0, k
        robot = rne.load_urdf("my_arm.urdf")
        assert parsed("my_arm.yaml", robot)["simulator"]["joints"] == (name,)
    capsys.readouterr()


@pytest.mark.slow
def test_the_nodes_start_with_the_file_and_the_arm_tracks(tmp_path, monkeypatch, run_rne):
    """The strict reader of the real nodes takes the file as it is, and `rne demo` moves the arm with it."""
    monkeypatch.chdir(tmp_path)
    run_rne("new", HOMEMADE, "--out", "my_arm.yaml")
    done = demo("--robot", HOMEMADE, "--config", "my_arm.yaml", "--seconds", "3", "--rate", "200", "--json", "--out",
                str(tmp_path / "plot.png"))  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["verdict"]["text"].startswith("tracked: ")
    assert [j["effort_limit"] for j in report["joints"]] == [12.0, 25.0, 12.0, 4.0]
