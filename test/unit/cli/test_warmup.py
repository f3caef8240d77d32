"""`rne warmup`: machine code in a folder, and what it reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.compiling.jit import COMPILED

if not COMPILED:
    pytest.skip("llvmlite is not installed", allow_module_level=True)


@pytest.mark.soak
def test_everything_is_compiled_once(tmp_path: Path, figures, run_rne) -> None:
    first = figures("warmup", "--dir", tmp_path)
    assert first["failures"] == {}
    assert first["files"] > 100
    assert first["bytes"] > 1e6
    assert len(list(tmp_path.glob("*.code"))) == first["files"]
    assert f"{first['files']} files" in run_rne("warmup", "mechanisms", "arms", "--dir", tmp_path).out
    environment = {**os.environ, "RNE_DYNAMICS_CACHE_DIR": str(tmp_path), "RNE_DYNAMICS_SHOW_CACHE": "1"}
    command = [sys.executable, "-m", "rne_dynamics.cli.main", "simulate", "pantograph", "--seconds", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "[cache] loaded" in done.stdout
    assert "[cache] saved" not in done.stdout
