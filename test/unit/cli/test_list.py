"""`rne list`, and robots by name in every command and in `load_urdf`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.wheel import NOT_ROBOTS, wheel_urdf, wheel_urdfs

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.description import share as wheel
from rne_dynamics.description.share import shipped_models, shipped_robots
from rne_dynamics.errors import DescriptionError

#: The arms and humanoids that one looks for first.
KNOWN = {
    "ur10": "ur10_robot.urdf", "ur5": "ur5_robot.urdf", "ur3": "ur3_robot.urdf", "baxter": "baxter.urdf",
    "talos_reduced": "talos_reduced.urdf",
}  # fmt: skip


def test_all_robots_are_listed_with_their_joints(capsys):
    assert main(["list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    for name in (*shipped_robots(), *shipped_models()):
        assert listed[name]["joints"] == rne.load_model(name).rigid.n, name
        assert listed[name]["about"]
    assert listed["pantograph"]["kind"] == "mechanism with closed loops"
    assert listed["flexible_arm"]["kind"] == "arm with flexible links"
    assert listed["ur10"]["joints"] == rne.load_urdf("ur10").n == 6
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in listed)


def test_every_urdf_of_the_wheel_has_one_name():
    found = wheel.example_robots()
    assert set(found.values()) == {path for path in wheel_urdfs() if path.name not in NOT_ROBOTS}
    for name, file in KNOWN.items():
        assert found[name] == wheel_urdf(file)


def test_names_give_what_the_files_give(capsys):
    named, by_file = rne.load_urdf("ur10"), rne.load_urdf(wheel_urdf("ur10_robot.urdf"))
    np.testing.assert_array_equal(named.parameters, by_file.parameters)
    assert main(["info", "baxter", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "baxter"


def test_shipped_robots_and_files_take_precedence(tmp_path, monkeypatch):
    panda = rne.load_urdf("panda")
    assert panda.n == 7  # the wheel's has fingers too
    monkeypatch.chdir(tmp_path)
    Path("ur10").write_text('<robot name="mine"><link name="base"/></robot>')
    assert rne.load_urdf("ur10").name == "mine"


def test_without_the_wheel_the_message_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(wheel, "_folders", lambda: iter(()))
    wheel.example_robots.cache_clear()
    try:
        assert main(["info", "ur10"]) == 1
        assert "`pip install example-robot-data` brings more by name" in capsys.readouterr().err
        assert main(["list"]) == 0
        assert "More robots by name (ur10, baxter, talos_reduced): pip install example-robot-data" in (
            capsys.readouterr().out
        )
        with pytest.raises(DescriptionError, match="pip install example-robot-data"):
            rne.load_urdf("baxter")
    finally:
        wheel.example_robots.cache_clear()


def test_a_misspelt_name_is_corrected(capsys):
    assert main(["info", "baxtr"]) == 1
    assert "did you mean 'baxter'?" in capsys.readouterr().err
    assert main(["infoo"]) == 2
    assert capsys.readouterr().err.startswith("rne: rne has no command named 'infoo'; did you mean 'info'?")


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) < 80
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"rne {rne.__version__}"
    assert [line.split()[0] for line in lines[1:4]] == ["Python", "numpy", "llvmlite"]
    assert lines[-1].startswith("ROS 2 ")


def test_a_command_that_needs_ros_says_so_where_there_is_none():
    hide = "import sys; sys.modules['rclpy'] = None; from importlib import util; find = util.find_spec; " \
           "util.find_spec = lambda n, *a: None if n == 'rclpy' else find(n, *a); " \
           "from rne_dynamics.cli.main import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("rne demo: `rne demo` runs on ROS 2 and rclpy is not installed: pip install")
    assert done.stderr.count("\n") == 1
