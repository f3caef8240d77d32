"""Commands in messages: they are those that work where the message is read."""

from __future__ import annotations

import os
import re
import shlex
import sys

import pytest

from rne_dynamics import advice


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with nothing on the PATH and no ROS."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    return tmp_path


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_rne_is_named_as_it_can_be_typed(bare, monkeypatch):
    python = bare / "environment" / "python"
    program(python.with_name("rne"))
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))
    assert advice.rne("check") == f"{shlex.quote(str(python.with_name('rne')))} check"
    python.with_name("rne").unlink()
    assert shlex.split(advice.rne("check --help"))[1:] == ["-m", "rne_dynamics.cli.main", "check", "--help"]
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{bare}")
    program(bare / "lib" / "rne_dynamics" / "rne")
    assert advice.rne("list") == "ros2 run rne_dynamics rne list"
    program(bare / "bin" / "rne")
    assert advice.rne("list") == "rne list"


def test_pip_is_named_where_it_is_allowed(bare, monkeypatch):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(advice.sysconfig, "get_path", lambda name: str(bare))
    assert advice.install("llvmlite", "python3-llvmlite") == "pip install llvmlite"
    (bare / "EXTERNALLY-MANAGED").touch()
    program(bare / "bin" / "apt")
    assert advice.install("llvmlite", "python3-llvmlite") == "sudo apt install python3-llvmlite"
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert advice.install_ros("xacro", "xacro") == "sudo apt install ros-jazzy-xacro"


def test_extras_that_are_recommended_exist_and_need_a_checkout(root):
    """The package is on no index: `pip install 'rne_dynamics[view]'` would find nothing."""
    declared = set(re.findall(r'^        "([a-z-]+)":', (root / "setup.py").read_text(encoding="utf-8"), re.M))
    named = set()
    for path in [*(root / "rne_dynamics").rglob("*.py"), *(root / "docs").rglob("*.md"), root / "README.md"]:
        text = path.read_text(encoding="utf-8")
        assert "rne_dynamics[" not in text, path.name
        named |= set(re.findall(r"""extra\(["'](\w+)["']\)""", text))
        named |= {name for names in re.findall(r"'\.\[([\w,-]+)\]'", text) for name in names.split(",")}
    assert {"view", "record", "plot"} <= named <= declared
