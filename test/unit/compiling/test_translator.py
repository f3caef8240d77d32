"""Compiled functions do what the same functions do in Python: each statement and expression that kernels have."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED, helper, kernel
from rne_dynamics.compiling.kernel import Kernel
from rne_dynamics.compiling.plain import table

if not COMPILED:
    pytest.skip(UNCOMPILED, allow_module_level=True)

FLOATS = st.floats(-1e3, 1e3)
INTEGERS = st.integers(-1000, 1000)


def arithmetic(a: float, b: float, i: int, k: int) -> tuple[Any, ...]:
    mixed = a + i - b * k
    if k == 0 or b == 0.0:
        return mixed, -a, a**2, b**3, abs(a), abs(i), 0, 0, 0, 0.0
    return mixed, -a, a**2, b**3, abs(a), abs(i), i % k, i // k, i * k, i / k


@settings(max_examples=60, deadline=None)
@given(FLOATS, FLOATS, INTEGERS, INTEGERS)
def test_arithmetic_of_numbers(a, b, i, k):
    found = ARITHMETIC(a, b, i, k)
    assert found == pytest.approx(arithmetic(a, b, i, k), rel=1e-15, abs=1e-12)
    assert [type(x) for x in found[4:6]] == [float, int]


ARITHMETIC = Kernel(arithmetic)


def functions(x: float, y: float, i: int) -> tuple[Any, ...]:
    return (
        math.sqrt(abs(x)), math.sin(x), math.cos(x), math.atan2(x, y), math.exp(x / 1e3), math.expm1(x / 1e3),
        math.copysign(x, y), math.ceil(x), min(x, y), max(x, y, 0.5), min(i, 3), float(i), int(x), bool(i),
        np.isfinite(x), np.isnan(y), np.sign(x),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(FLOATS, FLOATS, INTEGERS)
def test_functions_of_numbers(x, y, i):
    assert FUNCTIONS(x, y, i) == pytest.approx(functions(x, y, i), rel=1e-14, abs=1e-14)


FUNCTIONS = Kernel(functions)


def decisions(a: float, b: float, i: int) -> int:
    if a < b <= 2.0 * b or (i == 3 and not a > b):
        return 1
    if np.isnan(a) or (b >= 0.0 and a <= 0.0):
        return 2 if i > 0 else 3
    found = 4
    while found < 10 and found != i:
        found += 1
        if found == 8:
            continue
        if found == i - 2:
            break
    return found


@settings(max_examples=100, deadline=None)
@given(st.one_of(FLOATS, st.just(math.nan)), FLOATS, st.integers(-5, 15))
def test_decisions_and_loops(a, b, i):
    assert DECISIONS(a, b, i) == decisions(a, b, i)


DECISIONS = Kernel(decisions)


@pytest.mark.parametrize("view", [(slice(None), slice(0, 3, 2)), (slice(None, None, -1), slice(None)), (slice(0, 2),)])
def test_arrays_with_strides(view):
    a = np.arange(20.0).reshape(5, 4)
    out, expected = np.zeros((5, 4)), np.zeros((5, 4))
    Kernel(doubled)(a[view], out[view])
    expected[view] = 2.0 * a[view]
    np.testing.assert_array_equal(out, expected)


def doubled(a: np.ndarray, out: np.ndarray) -> None:
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[i, k] = 2.0 * a[i, k]


def outer(a: np.ndarray, k: int) -> float:
    return apart(inner_sum, (a, k)) + apart(inner_sum, (a[1:], k))


@kernel
def inner_sum(a: np.ndarray, k: int) -> float:
    made = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        made[i] = k * a[i]
    total = 0.0
    for i in range(a.shape[0]):
        total += made[i]
    return total


def test_calls_apart():
    a = np.arange(6.0)
    assert Kernel(outer)(a, 3) == 3 * (a.sum() + a[1:].sum())


def test_memory_of_a_long_loop_is_given_back():
    def churn(count: int) -> float:
        total = 0.0
        for _ in range(count):
            total += _filled(1000)
        return total

    compiled = Kernel(churn)
    compiled(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert compiled(100_000) == pytest.approx(1e8)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB; the arrays were 800 MB


@helper
def _filled(n: int) -> float:
    made = np.zeros(n)
    for k in range(n):
        made[k] = 1.0
    total = 0.0
    for k in range(n):
        total += made[k]
    return total


def unknown(a: float) -> float:
    return math.gamma(a)


def changing(a: float) -> Any:
    x: Any = a
    if a > 0.0:
        x = (a, a)
    return x


def widened(a: float) -> float:
    x = 0
    x += a
    return x


def an_array(a: float) -> np.ndarray:
    return np.zeros(3)


def left_by_a_break(a: float) -> int:
    for i in (0, 2):  # noqa: B007
        if a > 1.0:
            break
    return i


@pytest.mark.parametrize(
    ("function", "words"),
    [(unknown, "gamma"), (changing, "x is a"), (widened, "x is a"), (left_by_a_break, "i has no value")],
)
def test_what_cannot_be_compiled_is_refused_with_its_place(function: Callable[..., Any], words: str):
    with pytest.raises(UntranslatableError, match=words) as caught:
        Kernel(function)(1.0)
    assert function.__name__ in str(caught.value)
    assert "line" in str(caught.value)


@helper
def _put_first(items: Any) -> None:
    items[0] = 1.0


def filled_elsewhere(a: float) -> float:
    items = table(2)
    _put_first(items)
    return items[0] + a


def test_a_table_that_another_function_fills_first_is_refused():
    with pytest.raises(UntranslatableError, match="a table is passed on before anything is put into it"):
        Kernel(filled_elsewhere)(1.0)


def test_no_array_is_returned_to_python():
    with pytest.raises(UntranslatableError, match="returns no arrays"):
        Kernel(an_array)(1.0)


def test_other_kinds_of_arguments():
    compiled = Kernel(times)
    assert compiled(2, 3) == 6
    assert compiled(2.0, 3) == 6.0
    assert compiled(np.float64(2.5), np.int64(3)) == 7.5
    assert compiled(True, 3) == 3
    with pytest.raises(UntranslatableError):
        compiled("a", 3)


def times(a: Any, b: Any) -> Any:
    return a * b


def test_threads_may_compile_and_call_at_once():
    compiled = Kernel(inner_sum.py_func, releases_lock=True)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: compiled(np.arange(1000.0), k), range(64)))
    assert found == [k * 499500.0 for k in range(64)]
