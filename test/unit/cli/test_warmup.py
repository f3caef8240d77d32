"""`rne warmup`: machine code in a folder, output, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.cli.experts.warmup import TASKS
from rne_dynamics.cli.main import main
from rne_dynamics.compiling.jit import COMPILED

if not COMPILED:
    pytest.skip("llvmlite is not installed", allow_module_level=True)


@pytest.mark.soak
def test_everything_is_compiled_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--dir", str(tmp_path), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["failures"] == {}
    assert first["files"] > 100
    assert first["bytes"] > 1e6
    assert len(list(tmp_path.glob("*.code"))) == first["files"]
    assert main(["warmup", "mechanisms", "arms", "--dir", str(tmp_path)]) == 0
    assert f"{first['files']} files" in capsys.readouterr().out
    environment = {**os.environ, "RNE_DYNAMICS_CACHE_DIR": str(tmp_path), "RNE_DYNAMICS_SHOW_CACHE": "1"}
    command = [sys.executable, "-m", "rne_dynamics.cli.main", "simulate", "pantograph", "--seconds", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "[cache] loaded" in done.stdout
    assert "[cache] saved" not in done.stdout


def test_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--dir", "/dev/null/kernels"]) == 1
    assert "--dir is '/dev/null/kernels', which cannot be written" in capsys.readouterr().err
    assert main(["warmup", "--jobs", "0"]) == 1
    assert "between 1 and 64" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["warmup", "everything"])
    said = capsys.readouterr().err
    assert all(part in said for part in TASKS)
