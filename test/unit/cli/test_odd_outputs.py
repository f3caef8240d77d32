"""Outputs that cannot be written: one line, and before the work where that can be known; Ctrl-C."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from rne_dynamics.figures import style as output


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_full_disk_is_one_line(run_rne):
    Path("full.csv").symlink_to("/dev/full")
    error = run_rne("simulate", "planar2", "--seconds", "3", "--out", "full.csv", code=1).err
    assert error == "rne simulate: No space left on device\n"


def test_a_full_disk_behind_standard_output_is_one_line():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rne_dynamics.cli.main", "info", "planar2"], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "rne info: No space left on device\n"


def test_ctrl_c_while_a_command_is_imported_is_one_line(monkeypatch, run_rne):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    assert run_rne("info", "planar2", code=130).err == "rne info: interrupted\n"


def test_figures_need_matplotlib_before_the_work(monkeypatch, run_rne):
    monkeypatch.setattr(output, "find_spec", lambda name: None if name == "matplotlib" else util.find_spec(name))
    assert "rne simulate: --plot needs matplotlib: " in run_rne("simulate", "puma560", "--plot", "x.png", code=1).err
