"""Sine and cosine of the vector code against the C library's in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.compiling.linking import linked, load
from rne_dynamics.compiling.native import object_code
from rne_dynamics.compiling.processor import processor
from rne_dynamics.straight_line.batch_code import runner
from rne_dynamics.straight_line.batch_ir import module_text
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.lines import LARGEST_ANGLE
from rne_dynamics.straight_line.trace import Program, Symbol

TARGET = processor()
pytestmark = pytest.mark.skipif(TARGET is None, reason="no vectors that straight-line code is written for")


@pytest.fixture(scope="module")
def sin_cos():
    graph = Graph()
    x = Symbol(graph, graph.input(0, 1.0))
    results = tuple(x.of(name).node for name in ("sin", "cos"))
    text = module_text(Program(graph, (1,), results, True), TARGET)
    addresses, memory = load(linked(object_code(text, TARGET, optimised=False)), {})
    run = runner(addresses["run"], 1)

    def call(angles):
        angles = np.ascontiguousarray(angles, dtype=np.float64)
        out, refused = np.empty((angles.size, 2)), np.empty(angles.size, np.uint8)
        run(angles.size, angles.ctypes.data, out.ctypes.data, refused.ctypes.data)
        return out.T, refused.astype(bool)

    yield call
    del memory


def angles() -> np.ndarray:
    """Of every magnitude, near every multiple of π/4 that rounding allows, and the hardest cases of the reduction."""
    rng = np.random.default_rng(3)
    spread = rng.choice([-1.0, 1.0], 200_000) * 2.0 ** rng.uniform(-60.0, 30.0, 200_000)
    multiples = np.rint(2.0 ** rng.uniform(0.0, 29.0, 100_000)) * (np.pi / 4.0)
    steps = multiples + rng.integers(-3, 4, multiples.size) * np.spacing(multiples)
    # convergents of π/2: numerators nearest to a multiple of it
    hardest = [11.0, 22.0, 355.0, 710.0, 103993.0, 208341.0, 312689.0, 833719.0, 5419351.0, 80143857.0, 245850922.0]
    return np.concatenate(([0.0, np.pi / 4, np.pi / 2, np.pi], spread, steps[np.abs(steps) <= LARGEST_ANGLE], hardest))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long doubles are doubles here")
def test_within_about_one_unit_in_the_last_place(sin_cos):
    x = angles()
    found, refused = sin_cos(x)
    assert not refused.any()
    for values, function in zip(found, (np.sin, np.cos), strict=True):
        exact = function(x.astype(np.longdouble))
        unit = np.spacing(np.abs(exact.astype(np.float64)))
        assert np.max(np.abs(values - exact) / unit) < 0.85


def test_what_is_too_large_or_no_number_is_refused(sin_cos):
    x = np.array([1.0, np.nan, np.inf, -np.inf, 2.0 * LARGEST_ANGLE, -1e300, LARGEST_ANGLE, 0.0, 2.0])
    found, refused = sin_cos(x)
    assert refused.tolist() == [False, True, True, True, True, True, False, False, False]
    assert np.isnan(found[:, 1:4]).all()


def test_lanes_do_not_meet(sin_cos):
    x = angles()[:1000]
    whole, _ = sin_cos(x)
    for start in range(0, 40, 3):
        alone, _ = sin_cos(x[start : start + 5])
        assert np.array_equal(alone, whole[:, start : start + 5])
