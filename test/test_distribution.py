"""sdist and wheel by `python -m build`: their files, `twine check`, and the demo from an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="it makes sdist and wheel: pip install '.[test]'")
pytest.importorskip("twine", reason="it checks sdist and wheel: pip install '.[test]'")

ROOT = Path(__file__).resolve().parents[1]
#: What is installed below share/rne_dynamics, but for the resource of the ament index.
SHARED = ("config", "launch", "urdf")
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, seconds: float = 1500.0, **environment: str) -> str:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "AMENT", "ROS_W", "_ROS_WHEELS", "LD_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=keep | environment, capture_output=True, text=True, check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with sdist and wheel, the wheel made from the sdist as `python -m build` does."""
    work = tmp_path_factory.mktemp("distribution")
    skip = shutil.ignore_patterns(".*", "build", "dist", "install", "log", "out", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, work / "source", ignore=skip)
    path = os.pathsep.join(sys.path)
    run(sys.executable, "-m", "build", "--outdir", work / "dist", cwd=work / "source", PYTHONPATH=path)
    return work / "dist"


def shared() -> set[str]:
    """Everything in the checkout that belongs into share/."""
    kinds = (".yaml", ".rviz", ".urdf", ".py")
    files = [f for folder in SHARED for f in (ROOT / folder).rglob("*") if f.suffix in kinds]
    return {str(f.relative_to(ROOT)) for f in files if "__pycache__" not in f.parts} | {"package.xml"}


def test_both_hold_all_of_share_and_pass_twine(built: Path) -> None:
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert shared() | {"LICENSE", "README.md", "CHANGELOG.rst", "resource/rne_dynamics", "setup.cfg"} <= names
    with zipfile.ZipFile(wheel) as archive:
        placed = {name.partition(".data/data/")[2] for name in archive.namelist()}
    assert {f"share/rne_dynamics/{name}" for name in shared()} <= placed
    assert "share/ament_index/resource_index/packages/rne_dynamics" in placed
    said = run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, cwd=built,
               PYTHONPATH=os.pathsep.join(sys.path))
    assert said.count("PASSED") == 2


@pytest.mark.soak  # .ci/run runs the demo itself
def test_the_demo_runs_from_an_empty_environment(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    bin_ = tmp_path / "venv" / "bin"
    run(bin_ / "python", "-m", "pip", "install", "--quiet", f"{wheel}[ros,plot]", cwd=tmp_path)
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    assert run("rne", "--version", cwd=tmp_path, PATH=path).split()[:2] == ["rne", wheel.name.split("-")[1]]
    said = run("rne", "demo", "--out", tmp_path / "demo.png", cwd=tmp_path, PATH=path)
    assert "RMS" in said
    assert (tmp_path / "demo.png").stat().st_size > 10_000
