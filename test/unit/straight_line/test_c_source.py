"""Generated C computes the results of the plain functions, if there is a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from support.arms import gripper
from support.errors import relative_error
from support.robots import robot as load

import rne_dynamics as rne
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.straight_line.c_source import c_source
from rne_dynamics.straight_line.trace import trace

COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_compiled_text_agrees(quantity, tmp_path):
    for robot in (gripper(), load("hextilt_flying_arm_5.urdf", "floating")):
        source, library = tmp_path / f"{robot.name}.c", tmp_path / f"{robot.name}.so"
        source.write_text(c_source(trace(QUANTITIES[quantity].recipe(robot)), "evaluate"))
        options = ["-O0", "-Wall", "-Wno-unused-variable", "-Werror", "-shared", "-fPIC"]
        subprocess.run([COMPILER, *options, "-o", library, source, "-lm"], check=True)
        rng = np.random.default_rng(0)
        rows = [rne.random_configuration(robot, rng, 7)]
        rows += [rng.normal(size=(7, robot.n)) for _ in QUANTITIES[quantity].inputs[1:]]
        expected = getattr(rne, quantity)(robot, *rows)
        found = np.empty_like(expected)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*rows, found)]
        ctypes.CDLL(str(library)).evaluate(ctypes.c_longlong(7), *pointers)
        assert relative_error(found, expected) < 1e-11
