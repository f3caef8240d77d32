"""Machine code of kernels on disk: up to date, reused, and safe with several processes and users."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import rne_dynamics
from rne_dynamics.compiling.fingerprint import fingerprint
from rne_dynamics.compiling.jit import COMPILED

if not COMPILED:
    pytest.skip("nothing is compiled here", allow_module_level=True)

PROGRAM = """
import numpy as np
from rne_dynamics.spatial.norms import total
print(total(np.arange(4.0)))
"""
KERNEL = """
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.spatial.twice import twice

@kernel
def total(a):
    s = 0.0
    for k in range(a.shape[0]):
        s += twice(a[k])
    return s
"""
HELPER = """
from rne_dynamics.compiling.jit import helper

FACTOR = {factor}

@helper
def twice(x):
    return FACTOR * x
"""
#: What the program answers, and what it does with files.
WARM, COLD = ["12.0", "loaded"], ["12.0", "saved"]


def said(out: str) -> list[str]:
    """The number, and the words about files but the processor's."""
    *files, number = (line for line in out.splitlines() if "processor-" not in line)
    return [number, *(line.split()[1] for line in files)]


class Package:
    """A package of two kernels, with a copy of `compiling/`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.spatial = folder / "rne_dynamics" / "spatial"
        self.spatial.mkdir(parents=True)
        for name in ("__init__.py", "spatial/__init__.py"):
            (folder / "rne_dynamics" / name).touch()
        original = Path(rne_dynamics.__file__).parent
        shutil.copytree(original / "compiling", folder / "rne_dynamics" / "compiling")
        for name in ("advice.py", "errors.py"):
            shutil.copy(original / name, folder / "rne_dynamics")
        (self.spatial / "norms.py").write_text(KERNEL)
        self.helper(2.0)

    def helper(self, factor: float, before: str = "") -> None:
        (self.spatial / "twice.py").write_text(before + HELPER.format(factor=factor))

    def start(self, *, lead: Sequence[str] = (), **environment: str) -> subprocess.Popen[str]:
        paths = {
            "PYTHONPATH": str(self.folder), "RNE_DYNAMICS_CACHE_DIR": str(self.cache), "RNE_DYNAMICS_SHOW_CACHE": "1",
            "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(self.folder / "user"),
        }  # fmt: skip
        return subprocess.Popen(
            [*lead, sys.executable, "-c", PROGRAM], env={**os.environ, **paths, **environment}, text=True,
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *, lead: Sequence[str] = (), **environment: str) -> list[str]:
        child = self.start(lead=lead, **environment)
        out, self.said = child.communicate(timeout=120.0)
        assert child.returncode == 0, self.said
        return said(out)

    def elsewhere(self) -> list[Path]:
        """What is kept where the cache cannot be."""
        return list((self.spatial.parent / "__pycache__" / "kernels").glob("spatial*"))

    def files(self) -> list[Path]:
        return sorted(p for p in self.cache.rglob("*") if p.is_file() and "processor-" not in p.name)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's cache after a first process."""
    first = Package(tmp_path_factory.mktemp("first"))
    assert first.run() == COLD
    return first.cache


@pytest.fixture
def fresh(tmp_path: Path) -> Package:
    """The package without a cache."""
    return Package(tmp_path)


@pytest.fixture
def package(fresh: Package, compiled: Path) -> Package:
    """The same package at another place, with the cache of the first."""
    shutil.copytree(compiled, fresh.cache)
    return fresh


def test_what_the_machine_code_is_made_of_decides(package: Package) -> None:
    assert package.run() == WARM, "the second process finds the machine code of the first"
    old = (package.spatial / "twice.py").stat().st_mtime
    package.helper(2.0, "# another line, and a later time\n\n")
    assert package.run() == WARM
    package.helper(3.0)
    os.utime(package.spatial / "twice.py", (old - 1e6, old - 1e6))
    assert package.run() == ["18.0", "saved"], "as long, and older: another constant of a helper"
    package.helper(2.0)
    assert package.run() == WARM, "what was compiled of the former source is still there"


@pytest.mark.slow
def test_processes_that_start_together_keep_one_file(fresh: Package) -> None:
    children = [fresh.start() for _ in range(3)]
    answers = [child.communicate(timeout=120.0) for child in children]
    assert [child.returncode for child in children] == [0] * 3, answers
    assert {said(out)[0] for out, _ in answers} == {"12.0"}
    assert [path.suffix for path in fresh.files()] == [".code"], "half-written files are gone"


@pytest.mark.slow
def test_a_folder_that_can_only_be_read_serves(package: Package) -> None:
    lead: list[str] = []
    if os.geteuid() == 0:  # root may write anywhere unless this is disabled
        lead = ["setpriv", "--bounding-set=-dac_override"]
        if shutil.which("setpriv") is None:
            pytest.skip("root writes anywhere")
    package.cache.chmod(0o555)
    try:
        assert package.run(lead=lead) == WARM
        package.helper(3.0)
        assert package.run(lead=lead) == ["18.0", "saved"]
    finally:
        package.cache.chmod(0o755)
    assert len(package.files()) == 1
    assert len(package.elsewhere()) == 1


@pytest.mark.parametrize("of", ["the file", pytest.param("the folder", marks=pytest.mark.slow)])
def test_what_others_may_write_is_compiled_again_and_said_once(package: Package, of: str) -> None:
    (file,) = package.files()
    place = {"the file": file, "the folder": file.parent}[of]
    mode = place.stat().st_mode
    place.chmod(mode | 0o002)
    assert package.run() == COLD
    assert package.said.count(str(place)) == 1, package.said
    place.chmod(mode)
    assert package.run() == WARM
    assert not package.said


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_somebody_else_is_compiled_again(package: Package) -> None:
    (file,) = package.files()
    os.chown(file, 54321, -1)
    assert package.run() == COLD
    assert "belongs to user 54321" in package.said
    os.chown(package.cache, 54321, -1)
    assert package.run() == COLD
    assert len(package.elsewhere()) == 1


def test_where_nothing_can_be_written_it_says_so_once(fresh: Package) -> None:
    fresh.cache = Path("/dev/null/cache")
    (fresh.spatial.parent / "__pycache__").touch()
    assert fresh.run(XDG_CACHE_HOME="/dev/null") == ["12.0"]
    assert fresh.said.count("cannot be kept") == 1
    assert "RNE_DYNAMICS_CACHE_DIR" in fresh.said


def test_the_fingerprint_covers_every_value_that_a_function_reads() -> None:
    def make(a: object, b: object = 1) -> str:
        def function(x: float) -> object:
            return (x, a, b, [2.0 * y for y in (a, 2.0)])

        return fingerprint(function)

    values: list[object] = [1, 1.0, True, "1", None, (1,), (1.0,), 0.0, -0.0, np.float32(1), np.float64(1),
              np.arange(3), np.arange(3.0), np.arange(3)[None], len, max, np.sin, np.cos, np,
              os, float, {"a": 1}, {"a": 2}]  # fmt: skip
    marks = [make(value) for value in values]
    assert len(set(marks)) == len(marks)
    assert marks == [make(value) for value in values]
    assert make(1, 2) != make(1, 3)


@pytest.mark.slow
def test_every_kernel_has_the_same_name_in_every_process() -> None:
    """One that reads what has no text of its own, an address for instance, would be compiled by every process."""
    package = Path(rne_dynamics.__file__).parent
    modules = [
        ".".join(path.relative_to(package.parent).with_suffix("").parts) for path in sorted(package.rglob("*.py"))
        if not {"ros", "cli", "viewer"} & {*path.relative_to(package).parts} and "@kernel" in path.read_text("utf-8")
    ]
    program = (
        "import importlib\n"
        "from rne_dynamics.compiling.kernel import Kernel\n"
        f"for module in {modules}:\n"
        "    for name, value in sorted(vars(importlib.import_module(module)).items()):\n"
        "        if isinstance(value, Kernel):\n"
        "            print(module, name, value.name(()))\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
                       text=True, check=True, cwd=package.parent).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert len(said[0].splitlines()) > 50
    assert said[0] == said[1]
