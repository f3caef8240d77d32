"""Kernels that are called apart: compiled at their first call and kept, with the answers and exceptions of a call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.compiling.apart import apart, apart_from_python
from rne_dynamics.compiling.jit import COMPILED

needs_numba = pytest.mark.skipif(not COMPILED, reason="numba is not installed: `apart` is a plain call")

MODULE = """
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.addresses import call
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import in_place_kernel, kernel, separate_kernel


class Two(NamedTuple):
    first: np.ndarray
    second: object


@separate_kernel
def weighted(two: Two, weight: float, out: np.ndarray) -> float:
    total = 0.0
    for k in range(out.shape[0]):
        out[k] = two.first[k] + weight * two.second[k, 0]
        total += out[k]
    return total


@kernel
def refused(x: float) -> tuple[int, float]:
    if x < 0.0:
        raise ValueError("x is below 0")
    return 1, x


@kernel
def untrue(x: float) -> int:
    return 2.0 * x


@kernel
def never(x: float) -> None:
    return


@in_place_kernel
def caller(two: Two, x: float, out: np.ndarray) -> float:
    if x == 5.0:
        apart(never, (x,))
    if x == 6.0:
        return float(call(0, (out,)))
    return apart(weighted, (two, 2.0, out)) + apart(refused, (x,))[1]


@kernel
def caller_of_untrue(x: float) -> float:
    return apart(untrue, (x,))
"""
PROGRAM = """
import sys
import numpy as np
from rne_dynamics.compiling.addresses import in_python
from rne_dynamics.compiling.progress import watch_compiling
import kernels as k
from rne_dynamics.compiling.fingerprint import fingerprint

before = fingerprint(k.caller)
compiled = []
with watch_compiling(lambda now: compiled.append(now.kernel)):
    first, second, out = np.arange(3.0), np.ones((3, 2)), np.empty(3)
    first.flags.writeable = False
    two = k.Two(first, second)
    counts = [sys.getrefcount(a) for a in (first, second, out)]
    for _ in range(100):
        assert k.caller(two, 4.0, out) == 13.0
    assert out.tolist() == [2.0, 3.0, 4.0]
    assert counts == [sys.getrefcount(a) for a in (first, second, out)]
    other = k.Two(np.arange(3.0), first.reshape(3, 1))  # other types: another machine code of both kernels
    assert k.caller(other, 4.0, out) == 13.0 and out.tolist() == [0.0, 3.0, 6.0]
    assert len(k.weighted.overloads) == 2
    assert in_python(k.caller)(two, 4.0, out) == 13.0 == k.caller.py_func.__globals__["caller"](two, 4.0, out)
    assert not k.never.overloads, "it was not called"
    try:
        k.caller(two, -1.0, out)
    except ValueError as error:
        assert str(error) == "x is below 0"
    else:
        raise AssertionError("not raised")
assert fingerprint(k.caller) == before, "what the name of machine code is made of does not change with its use"
print(sum(sum(f.stats.cache_misses.values()) for f in (k.caller, k.weighted, k.refused)))
"""
CALL = """
import numpy as np, kernels as k
two, out = k.Two(np.arange(3.0), np.ones((3, 1))), np.empty(3)
print(k.caller(two, 4.0, out))
"""
INTERRUPTED = """
import numpy as np, kernels as k
def ctrl_c(kinds):
    raise KeyboardInterrupt
k.refused.compile, works = ctrl_c, k.refused.compile
two, out = k.Two(np.arange(3.0), np.ones((3, 1))), np.empty(3)
try:
    k.caller(two, 4.0, out)
except KeyboardInterrupt:
    print("interrupted")
k.refused.compile = works
for _ in range(2):  # before and after it is compiled
    try:
        k.weighted(two, 2.0, out)
    except TypeError as error:
        print(error)
    k.caller(two, 4.0, out)
print(k.caller(two, 4.0, out))
k.caller_of_untrue(1.5)
"""


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, *{sys.path!r}]\n" + program
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_in_python_it_is_a_plain_call() -> None:
    assert apart_from_python(divmod, (7, 2)) == (3, 1)
    assert COMPILED or apart is apart_from_python


@needs_numba
def test_answers_exceptions_and_machine_code_on_disk(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    for compiled in ("5", "0"):
        done = run(tmp_path, PROGRAM)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [compiled]
    (tmp_path / "kernels.py").write_text(MODULE.replace("weight * two", "0.5 * weight * two"))
    assert run(tmp_path, CALL).stdout.split() == ["10.0"], "an edited kernel is compiled again"


@needs_numba
def test_what_cannot_be_compiled_and_ctrl_c_end_in_an_exception(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    done = run(tmp_path, INTERRUPTED)
    refused = "kernels.weighted can be called by compiled code only: see `apart`"
    assert done.stdout.splitlines() == ["interrupted", refused, refused, "13.0"], done.stderr
    assert "untrue returns float64; it is annotated as int64" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("RuntimeError: a kernel was not compiled")
