"""The loop of examples/identify_arm.py: a wrong description, excited, recorded, identified, controlled; two rounds."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import rne_dynamics as rne


@cache
def example() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "examples" / "identify_arm.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclass
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_loop_makes_a_wrong_model_right():
    found = example().rounds(rne.load_urdf("scara"), seed=1, evaluations=60, seconds=5.0)
    before, _, after = found.largest.max(axis=1)
    assert after < 2e-3
    assert after < before / 10.0


@pytest.mark.soak
def test_two_rounds_make_the_tracking_error_fifty_times_smaller():
    before, _, after = example().rounds(rne.load_urdf("panda")).largest.max(axis=1)
    assert after < 2e-3
    assert after < before / 50.0
