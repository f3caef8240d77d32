"""`rne list`, and robots by name in every command and in `load_urdf`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.wheel import NOT_ROBOTS, wheel_urdf, wheel_urdfs

import rne_dynamics as rne
from rne_dynamics.description import share as wheel
from rne_dynamics.description.share import shipped_models, shipped_robots

#: The arms and humanoids that one looks for first.
KNOWN = {
    "ur10": "ur10_robot.urdf", "ur5": "ur5_robot.urdf", "ur3": "ur3_robot.urdf", "baxter": "baxter.urdf",
    "talos_reduced": "talos_reduced.urdf",
}  # fmt: skip


def test_all_robots_are_listed_with_their_joints(figures, run_rne):
    listed = {row["name"]: row for row in figures("list")}
    for name in (*shipped_robots(), *shipped_models()):
        assert listed[name]["joints"] == rne.load_model(name).rigid.n, name
    assert listed["pantograph"]["kind"] == "mechanism with closed loops"
    assert listed["flexible_arm"]["kind"] == "arm with flexible links"
    assert listed["ur10"]["joints"] == rne.load_urdf("ur10").n == 6
    text = run_rne("list").out
    assert all(name in text for name in listed)


def test_every_urdf_of_the_wheel_has_one_name():
    found = wheel.example_robots()
    assert set(found.values()) == {path for path in wheel_urdfs() if path.name not in NOT_ROBOTS}
    for name, file in KNOWN.items():
        assert found[name] == wheel_urdf(file)


def test_shipped_robots_and_files_take_precedence(tmp_path, monkeypatch):
    panda = rne.load_urdf("panda")
    assert panda.n == 7  # the wheel's has fingers too
    monkeypatch.chdir(tmp_path)
    Path("ur10").write_text('<robot name="mine"><link name="base"/></robot>')
    assert rne.load_urdf("ur10").name == "mine"


def test_without_the_wheel_the_message_says_how_to_get_it(monkeypatch, run_rne):
    monkeypatch.setattr(wheel, "_folders", lambda: iter(()))
    wheel.example_robots.cache_clear()
    try:
        assert "`pip install example-robot-data` brings more by name" in run_rne("info", "ur10", code=1).err
        assert "(ur10, baxter, talos_reduced): pip install example-robot-data" in run_rne("list").out
    finally:
        wheel.example_robots.cache_clear()


def test_a_misspelt_name_is_corrected(run_rne):
    assert "did you mean 'baxter'?" in run_rne("info", "baxtr", code=1).err
    assert run_rne("infoo", code=2).err.startswith("rne: rne has no command named 'infoo'; did you mean 'info'?")


def test_help_and_version(run_rne):
    assert max(map(len, run_rne("--help").out.splitlines())) < 80
    lines = run_rne("--version").out.splitlines()
    assert lines[0] == f"rne {rne.__version__}"
    assert [line.split()[0] for line in lines[1:4]] == ["Python", "numpy", "llvmlite"]


def test_a_command_that_needs_ros_says_so_where_there_is_none():
    hide = "import sys; sys.modules['rclpy'] = None; from importlib import util; find = util.find_spec; " \
           "util.find_spec = lambda n, *a: None if n == 'rclpy' else find(n, *a); " \
           "from rne_dynamics.cli.main import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("rne demo: `rne demo` runs on ROS 2 and rclpy is not installed: pip install")
