"""`rne warmup`: compiled kernels, output, and folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.cli.warmup_task import TASKS
from rne_dynamics.compiling.jit import COMPILED

if not COMPILED:
    pytest.skip("numba is not installed", allow_module_level=True)


@pytest.mark.soak
def test_everything_is_compiled_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--json"]) == 0, "into the cache of the tests, which need the same kernels"
    first = json.loads(capsys.readouterr().out)
    assert first["failures"] == {}
    assert first["compiled"] + first["found"] > 40
    assert first["bytes"] > 1e6
    assert len(list(Path(first["folder"]).glob("*.kernel"))) >= first["compiled"] + first["found"]
    assert main(["warmup", "mechanisms", "arms"]) == 0
    said = capsys.readouterr().out
    assert "were compiled already" in said
    assert first["folder"] in said


def test_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--dir", "/dev/null/kernels"]) == 1
    assert "--dir is '/dev/null/kernels', which cannot be written" in capsys.readouterr().err
    assert main(["warmup", "--jobs", "0"]) == 1
    assert "between 1 and 64" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["warmup", "everything"])
    said = capsys.readouterr().err
    assert all(part in said for part in TASKS)
