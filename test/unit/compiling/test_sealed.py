"""Kernels that Python calls with one kind of arguments: refusals, and first calls from several threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rne_dynamics.compiling.jit import COMPILED, kernel
from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed

THREADS = 8


def total(values, out):
    out[0] = 0.0
    for k in range(values.shape[0]):
        out[0] += values[k]
    return 0


def test_other_arguments_are_refused_and_never_compiled():
    sealed = Sealed(kernel(total) if COMPILED else total, 1, 1)
    values, out = np.arange(4.0), np.zeros(1)
    sealed.prepare()
    assert not sealed.prepare()
    assert sealed.call(values, out) == 0
    assert out[0] == 6.0
    with pytest.raises(ODD_ARGUMENTS):
        sealed.call(values[::2], out)
    with pytest.raises(ODD_ARGUMENTS):
        sealed.call(values.astype(np.float32), out)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")
def test_first_calls_from_several_threads_wait_for_one_compilation():
    sealed, begin = Sealed(kernel(total), 1, 1), threading.Barrier(THREADS)
    raised, sums = [], []

    def work():
        begin.wait()
        out = np.zeros(1)
        for _ in range(1000):
            try:
                sealed.call(np.arange(4.0), out)
                sums.append(out[0])
            except ODD_ARGUMENTS:
                sealed.prepare()
            except Exception as error:  # noqa: BLE001 of any kind
                raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised
    assert set(sums) == {6.0}
