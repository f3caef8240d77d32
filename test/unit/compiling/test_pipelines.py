"""Parts of kernels have no machine code of their own; Python's collection of garbage is as before."""

from __future__ import annotations

import gc

import numpy as np
import pytest

pytest.importorskip("numba", reason="nothing is compiled without numba")

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel, in_place_routine
from rne_dynamics.compiling.pipelines import rare_collections


@in_place_helper
def _twice(x):
    return 2.0 * x


@in_place_routine
def _doubled(x):
    for k in range(x.shape[0]):
        x[k] = _twice(x[k])


@in_place_kernel
def doubled_kernel(x):
    _doubled(x)
    if x[0] > 100.0:
        raise ValueError("large")


@in_place_kernel
def refused_kernel(x):
    return _twice(x).no_such_attribute


def test_a_kernel_of_parts_computes_and_raises():
    x = np.arange(3.0)
    doubled_kernel(x)
    assert list(x) == [0.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="large"):
        doubled_kernel(np.full(2, 60.0))


@pytest.mark.parametrize(("part", "argument"), [(_twice, 1.0), (_doubled, np.ones(2))])
def test_python_cannot_call_a_part(part, argument):
    for _ in range(2):  # numba looks up the second call in another way
        with pytest.raises(TypeError, match="is a part of kernels: Python cannot call it"):
            part(argument)


def test_garbage_is_collected_as_before_also_after_an_error():
    before = gc.get_threshold()
    with pytest.raises(Exception, match="no_such_attribute"):
        refused_kernel(1.0)
    assert gc.get_threshold() == before
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
        with rare_collections():
            pass
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_where_nothing_is_collected_nothing_is_collected_while_compiling():
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
