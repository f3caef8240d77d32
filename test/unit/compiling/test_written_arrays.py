"""Arrays that kernels write to: read-only ones are refused, and what fills an array is as long as it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED, helper, kernel
from rne_dynamics.errors import RneDynamicsError

if not COMPILED:
    pytest.skip(UNCOMPILED, allow_module_level=True)


@helper
def row_of(A: np.ndarray, i: int) -> np.ndarray:
    return A[i]


@kernel
def by_element(a: np.ndarray, out: np.ndarray) -> None:
    for k in range(a.shape[0]):
        out[k] = a[k]


@kernel
def by_slice(a: np.ndarray, out: np.ndarray) -> None:
    out[:] = a


@kernel
def by_view(a: np.ndarray, out: np.ndarray) -> None:
    half = out
    for _ in range(2):
        half = half[:]
    half[0] += a[0]


@kernel
def by_callee(a: np.ndarray, out: np.ndarray) -> None:
    by_element(a, out)


@kernel
def by_returned_view(a: np.ndarray, out: np.ndarray) -> None:
    row_of(out.reshape((1, 3)), 0)[1] = a[1]


@kernel
def in_tuples(given: tuple[Any, ...]) -> None:
    (a, _), out = given
    out[0] = a[0]


def frozen(*shape: int) -> np.ndarray:
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("function", [by_element, by_slice, by_view, by_callee, by_returned_view])
def test_read_only_arrays_are_read_but_not_written_to(function):
    out, kept = np.zeros(3), frozen(3)
    for _ in range(2):
        function(kept, out)
        with pytest.raises(RneDynamicsError, match=r"read-only.*copy"):
            function(out, kept)
        function(np.ones(3), out)
    assert not kept.any()
    assert out.any()


def test_read_only_arrays_in_tuples():
    in_tuples(((frozen(3), frozen(2)), np.zeros(3)))
    with pytest.raises(RneDynamicsError, match="read-only"):
        in_tuples(((np.zeros(3), np.zeros(2)), frozen(3)))


@kernel
def of_other_dimensions(a: np.ndarray, out: np.ndarray) -> None:
    out[:] = a


@kernel
def of_other_known_length(out: np.ndarray) -> None:
    out[:] = np.zeros(4)
    out[:2] = np.zeros(3)


def test_what_can_never_fill_an_array_is_not_translated():
    with pytest.raises(UntranslatableError, match=r"2 dimensions.*1"):
        of_other_dimensions(np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(UntranslatableError, match=r"length 2.*length 3"):
        of_other_known_length(np.zeros(4))


@pytest.mark.parametrize("length", [2, 4])
def test_other_lengths_end_a_process_that_checks_indices(length, tmp_path):
    file = tmp_path / "copying.py"
    file.write_text(
        "import numpy as np\nfrom rne_dynamics.compiling.jit import kernel\n\n@kernel\ndef copied(a, out):\n"
        f"    out[:] = a\n\ncopied(np.zeros(3), np.zeros(3))\ncopied(np.zeros({length}), np.zeros(3))\n"
    )
    environment = {**os.environ, "RNE_DYNAMICS_CHECK_INDICES": "1", "RNE_DYNAMICS_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, file]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode < 0
    assert f"copied, line 6: an array of length 3 is filled from one of length {length}" in ended.stderr
