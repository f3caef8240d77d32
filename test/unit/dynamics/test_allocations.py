"""What calls in a loop take from the heap: their answers, and nothing that stays."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rne_dynamics as rne

CALLS = 200
#: A call's own frame and argument tuples, and what tracing itself keeps: 20 % of the smallest work memory, bytes.
FRAMES = 1000
ROBOT = rne.load_urdf("puma560")
VECTORS = {"forward_dynamics": 3, "mass_matrix": 1}


def taken(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that many calls leave behind, and the most that was in use meanwhile."""
    for _ in range(3):  # compiled, loaded, caches of Python filled
        call()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(CALLS):
            call()
        after, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before, most - before


def state(count: int) -> list[np.ndarray]:
    return [np.random.default_rng(k).normal(size=ROBOT.n) for k in range(count)]


@pytest.mark.parametrize("quantity", VECTORS)
def test_a_plain_call_makes_its_answer_alone_and_a_bound_one_with_an_output_nothing(quantity):
    vectors, function, f = state(VECTORS[quantity]), getattr(rne, quantity), rne.bind(ROBOT, quantity)
    out = f(*vectors)
    for call, answer in ((lambda: function(ROBOT, *vectors), out.nbytes), (lambda: f(*vectors, out=out), 0)):
        left, most = taken(call)
        assert left < FRAMES
        assert most < FRAMES + answer
