"""Programs with a last stage for the columns of matrices."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.compiling.linking import c_function, linked, load
from rne_dynamics.compiling.native import object_code
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics.derivatives.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from rne_dynamics.straight_line import machine_code
from rne_dynamics.straight_line.recipe import VALID
from rne_dynamics.straight_line.state_ir import columns_text


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_columns_in_every_width_of_vectors(width):
    target = processor()
    if target is None or width > target.width:
        pytest.skip("not on this processor")
    robot = chain(7)
    program = machine_code.trace(FORWARD_DYNAMICS_DERIVATIVES.recipe(robot))
    text = columns_text(program, replace(target, width=width))
    addresses, _keep = load(linked(object_code(text, target, optimised=False)), {})
    state = np.random.default_rng(1).normal(size=(3, 7))
    out = np.full(3 * 49 + 1, 5.0)
    run = c_function(addresses["state"], *[ctypes.c_void_p] * 4, result=ctypes.c_int32)
    assert run(*(array.ctypes.data for array in (*state, out))) == VALID
    assert relative_error(out[:-1].reshape(3, 7, 7), rne.forward_dynamics_derivatives(robot, *state)) < 1e-11
    assert out[-1] == 5.0
