"""`make bench BENCH_ARGS=exported`: the C of `rne export` and CasADi's compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from comparison.contenders import Case, differences
from comparison.exported_c import COMPARED, EXPORTED, OPTIONS, cases
from comparison.plan import Plan
from comparison.robots import load
from support.c_compiler import C

pytestmark = pytest.mark.skipif(C is None, reason="no C compiler: sudo apt install gcc")


def checked(peers: frozenset[str], folder: Path) -> list[Case]:
    plan = Plan([load("scara")], peers, True, folder)
    found = [case for case in cases(plan) if isinstance(case, Case)]
    assert len(found) == len(OPTIONS) * len(COMPARED)
    for case in found:
        assert all(np.isfinite(c.answer()).all() for c in case.contenders)
        assert max(difference.relative for difference in differences(case)) < 1e-12
    return found


def test_the_export_agrees_with_its_code_without_tests(tmp_path):
    for case in checked(frozenset(), tmp_path):
        assert [c.name for c in case.contenders] == [EXPORTED, "scalar C"]


@pytest.mark.slow
def test_the_export_agrees_with_casadi(tmp_path):
    pytest.importorskip("casadi", reason="pip install casadi")
    for case in checked(frozenset({"casadi"}), tmp_path):
        assert [c.goal for c in case.comparisons] == [None, "exported-c"]
