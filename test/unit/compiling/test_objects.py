"""Objects of Python that lie in memory otherwise are not read by compiled code."""

from __future__ import annotations

import pytest

from rne_dynamics.compiling import jit


def test_objects_laid_out_otherwise_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = jit.lie_as_expected.__wrapped__
    assert found()
    for field in ("DATA", "SHAPE", "FLAGS", "DTYPE", "DIMENSIONS"):
        with monkeypatch.context() as patch:
            patch.setattr(jit, field, 16 if field != "DATA" else 24)
            assert not found(), field
    monkeypatch.setattr(jit.sys, "abiflags", "t")  # as Python without its lock has
    assert not found()
