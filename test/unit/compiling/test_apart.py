"""Kernels that are called apart: compiled by themselves and kept, with the answers of a call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.compiling.jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here: `apart` is a plain call")
MODULE = """
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import kernel


class Two(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@kernel
def weighted(two: Two, weight: float, out: np.ndarray) -> float:
    total = 0.0
    for k in range(out.shape[0]):
        out[k] = two.first[k] + weight * two.second[k, 0]
        total += out[k]
    return total


@kernel
def pair(x: float) -> tuple[int, float]:
    return 1, x


@kernel
def caller(two: Two, x: float, out: np.ndarray) -> float:
    return apart(weighted, (two, 2.0, out)) + apart(pair, (x,))[1]


@kernel
def wrong(x: float) -> int:
    return x


@kernel
def chooser(x: float) -> float:
    if x > 1.0e9:
        return apart(pair, (2.0 * x,))[1]
    return apart(pair, (x,))[1] if x > 5.0 else x


@kernel
def misled(x: float) -> float:
    return 1.0 + apart(wrong, (x,))
"""
PROGRAM = """
import sys
import numpy as np
from rne_dynamics.compiling.plain import in_python
import kernels as k

first, second, out = np.arange(3.0), np.ones((3, 2)), np.empty(3)
first.flags.writeable = False
two = k.Two(first, second)
counts = [sys.getrefcount(a) for a in (first, second, out)]
for _ in range(100):
    assert k.caller(two, 4.0, out) == 13.0
assert out.tolist() == [2.0, 3.0, 4.0]
assert counts == [sys.getrefcount(a) for a in (first, second, out)]
assert in_python(k.caller)(two, 4.0, out) == 13.0
assert len(k.weighted.loaded) == len(k.pair.loaded) == 1
"""
CALL = """
import numpy as np, kernels as k
print(k.caller(k.Two(np.arange(3.0), np.ones((3, 1))), 4.0, np.empty(3)))
"""
LAZY = """
import signal
import kernels as k

signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background may begin without
assert k.chooser(1.0) == 1.0
assert not k.pair.loaded, "what is not called is not compiled"
load = k.pair.load
interrupts = []

def interrupted(kinds):
    if not interrupts:
        interrupts.append(None)
        signal.raise_signal(signal.SIGINT)
    return load(kinds)

k.pair.load = interrupted
try:
    k.chooser(6.0)
    for _ in range(1000):
        pass
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted after the first call")
assert k.chooser(7.0) == 7.0
"""
BEFOREHAND = """
import kernels as k
from rne_dynamics.compiling.apart import load_all

assert k.chooser(1.0) == 1.0
load_all()
assert k.pair.loaded
print(k.chooser(6.0))
"""
MISLED = """
import kernels as k
k.misled(1.0)
"""


def run(folder: Path, program: str) -> list[str]:
    environment = {
        "RNE_DYNAMICS_CACHE_DIR": str(folder / "cache"), "RNE_DYNAMICS_SHOW_CACHE": "1", "PYTHONDONTWRITEBYTECODE": "1"
    }  # fmt: skip
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, *{sys.path!r}]\n" + program
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line.split()[1] if line.startswith("[cache]") else line
            for line in done.stdout.splitlines() if "processor-" not in line]  # fmt: skip


def test_answers_and_machine_code_on_disk(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    assert run(tmp_path, PROGRAM) == ["saved"] * 3
    assert run(tmp_path, PROGRAM) == ["loaded"] * 3
    (tmp_path / "kernels.py").write_text(MODULE.replace("weight * two", "0.5 * weight * two"))
    assert run(tmp_path, CALL)[-1] == "10.0", "an edited kernel is compiled again"


def test_what_is_not_called_is_not_compiled_and_ctrl_c_meanwhile_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    assert run(tmp_path, LAZY) == ["saved", "saved", "interrupted after the first call"]


def test_all_that_may_be_called_is_loaded_beforehand(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    assert run(tmp_path, BEFOREHAND) == ["saved", "saved", "6.0"]


def test_an_annotation_that_is_not_true_ends_the_process_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    with pytest.raises(AssertionError, match=r"kernels\.wrong returns .* correct the annotation"):
        run(tmp_path, MISLED)
