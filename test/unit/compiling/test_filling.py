"""Functions of Python that make or fill the answer of a kernel: what they take, and what goes another way."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from rne_dynamics.compiling import jit
from rne_dynamics.compiling.jit import COMPILED, filling, kernel


@kernel
def scaled_sum(scale: int, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> int:
    if a[0] < 0.0:
        return 3
    for k in range(out.shape[0]):
        out[k] = scale * (a[k] + b[k])
    return 0


@pytest.fixture(params=[True, False] if COMPILED else [False])
def function(request, monkeypatch):
    monkeypatch.setattr(jit, "COMPILED", request.param)
    made = scaled_sum if request.param else getattr(scaled_sum, "py_func", scaled_sum)
    return filling(made, (2,), (3, 3), (3,), _given, "scaled", "scaled(a, b, out=None)\n--\n\nText.")


def _given(*arguments: Any, **named: Any) -> Any:
    return arguments, named


A, B = np.arange(3.0), np.ones(3)


def test_everything_else_goes_the_other_way_as_it_is(function):
    out = np.empty(3)
    frozen = out.copy()
    frozen.flags.writeable = False
    memory = np.zeros(8)
    for arguments, named in (
        ((memory[:3], B, memory[2:5]), {}), ((A, memory[4:7]), {"out": memory[2:5]}), ((A, B), {"out": B}),
        ((A[:2], B), {}), ((A, np.ones(4)), {}), ((A, B), {"out": np.empty(2)}),
        ((A,), {"out": out}),
        ((A.tolist(), B), {}), ((A, B[None]), {}), ((np.arange(6.0)[::2], B), {}), ((A, B.astype(np.float32)), {}),
        ((A,), {}), ((A, B, out, out), {}), ((A,), {"b": B}), ((A, B), {"into": out}), ((A, B), {"out": None}),
        ((A, B, frozen), {}), ((A, B), {"out": out[:, None]}), ((-1.0 - A, B), {}), ((-1.0 - A, B), {"out": out}),
    ):  # fmt: skip
        found, found_named = function(*arguments, **named)
        assert len(found) == len(arguments)
        assert all(x is y for x, y in zip(found, arguments, strict=True))
        assert found_named.keys() == named.keys()


def test_references_are_counted(function):
    out, refused = np.empty(3), -1.0 - A
    before = [sys.getrefcount(x) for x in (A, B, out, refused)]
    for _ in range(100):
        function(A, B)
        function(A, B, out=out)
        function(refused, B)
        function(refused, B, out=out)
    assert [sys.getrefcount(x) for x in (A, B, out, refused)] == before
