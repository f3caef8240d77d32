"""Packaging: package.xml, the wheel's layout, versions, and the oldest Python."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.package_version import get_forthcoming_label

pytest.importorskip("catkin_pkg", reason="catkin_pkg reads package.xml: rosdep, or pip install '.[test]'")

from catkin_pkg.package import parse_package
from support.package_source import MODULES, source

import rne_dynamics

ROOT = Path(__file__).resolve().parents[1]
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move", "viewer", "recorder")
AUTHOR = {f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
SOURCES = [
    *(p for d in ("rne_dynamics", "launch", "examples", "test", "benchmarks") for p in (ROOT / d).rglob("*.py")),
    ROOT / "setup.py",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel built from a copy of what git tracks (or would), as pip builds it."""
    work = tmp_path_factory.mktemp("wheel")
    skip = shutil.ignore_patterns(".*", "build", "dist", "install", "log", "out", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, work / "source", ignore=skip)
    done = subprocess.run(
        [sys.executable, "-c", "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])", str(work)],
        cwd=work / "source", capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = work.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


def data(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Files that go under the prefix, by their path there."""
    mark = ".data/data/"
    return {i.filename.split(mark)[1]: i for i in archive.infolist() if mark in i.filename and not i.is_dir()}


def test_package_xml_is_valid_and_names_its_licence_as_spdx_has_it(wheel: zipfile.ZipFile) -> None:
    warnings: list[str] = []
    package = parse_package(str(ROOT / "package.xml"), warnings=warnings)
    assert (warnings, package.package_format, package.get_build_type()) == ([], 3, "ament_python")
    depends = {d.name for d in package.exec_depends}
    assert {"urdfdom_py", "python3-numba", "python3-numpy", "python3-scipy", "launch_ros", "control_msgs"} <= depends
    (licence,) = package.licenses
    assert str(licence) == "Apache-2.0"
    assert (ROOT / licence.file).read_text(encoding="utf-8").lstrip().startswith("Apache License")
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())


def test_package_xml_lists_every_ros_package_that_is_imported() -> None:
    depends = {d.name for d in parse_package(str(ROOT / "package.xml")).exec_depends}
    paths = [*(ROOT / "rne_dynamics").rglob("*.py"), *(ROOT / "launch").glob("*.py")]
    used = {entry.name.split(".")[0] for path in paths for entry in source(path).imports}
    used |= {n for path in paths for n in re.findall(r'installed_type\("(\w+)/', path.read_text(encoding="utf-8"))}
    others = {"rclpy", "launch", "launch_ros", "ament_index_python"}
    messages = {n for n in used if n.endswith(("_msgs", "_srvs", "_interfaces"))}
    assert messages | (used & others) <= depends
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    without_wheels = {"control_msgs", "tf2_msgs"}  # the nodes ask whether they are installed
    missing = {n for n in messages - without_wheels if n.replace("_", "-") not in text}
    assert not missing, f"add their wheels to setup.py's extras: {missing}"


def test_one_version_everywhere() -> None:
    """package.xml has it; catkin_prepare_release wants it in setup.py too, as a literal, and writes both."""
    version = parse_package(str(ROOT / "package.xml")).version
    assert rne_dynamics.__version__ == version
    assert re.findall(r"version=['\"]([^'\"]*)", (ROOT / "setup.py").read_text(encoding="utf-8")) == [version]
    for path in (ROOT / "rne_dynamics").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(encoding="utf-8"), f"{path} has the version too"


def test_the_changelog_is_one_that_catkin_reads() -> None:
    """Versions with dates, newest first; what is not released is under Forthcoming, at the top."""
    text = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    changelog = get_changelog_from_path(str(ROOT), "rne_dynamics")
    titles = re.findall(r"^(.+)\n-{3,}$", text, re.M)
    released = [version for version, date, content in changelog.foreach_version()]
    assert len(titles) == len(released) + (get_forthcoming_label(text) is not None)
    assert titles[0] == "Forthcoming" or released[0] == rne_dynamics.__version__


def test_catkin_prepares_a_release(tmp_path: Path) -> None:
    """bloom's first step, in a repository of its own: it changes the version and the changelog, and commits."""
    for name in ("package.xml", "setup.py", "CHANGELOG.rst"):
        shutil.copy(ROOT / name, tmp_path)
    program = "from catkin_pkg.cli.prepare_release import main; main()"
    prepare = [sys.executable, "-c", program, "--non-interactive", "--no-push", "--version", "7.8.9"]
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-q", "-m", "all"], prepare):
        subprocess.run(command, cwd=tmp_path, check=True, env=os.environ | AUTHOR, capture_output=True)
    assert parse_package(str(tmp_path / "package.xml")).version == "7.8.9"
    assert 'version="7.8.9",' in (tmp_path / "setup.py").read_text(encoding="utf-8")
    assert re.search(r"^7\.8\.9 \(\d{4}-\d\d-\d\d\)$", (tmp_path / "CHANGELOG.rst").read_text(encoding="utf-8"), re.M)


def test_wheel_puts_every_shared_file_where_ros_looks(wheel: zipfile.ZipFile) -> None:
    placed = data(wheel)
    expected = {"share/ament_index/resource_index/packages/rne_dynamics", "share/rne_dynamics/package.xml"}
    for folder, pattern in (("urdf", "*.urdf"), ("urdf", "*.yaml"), ("launch", "*.launch.py"), ("config", "*.yaml")):
        files = list((ROOT / folder).glob(pattern))
        assert files, f"{folder}/ holds no {pattern}"
        expected |= {f"share/rne_dynamics/{folder}/{f.name}" for f in files}
    assert expected <= set(placed)


def test_wheel_puts_executables_where_ros2_launch_looks(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    placed, folders = data(wheel), [tmp_path / "lib" / "rne_dynamics", tmp_path / "bin"]
    for folder in folders:
        folder.mkdir(parents=True)
    for node in (*NODES, "rne"):
        info = placed[f"lib/rne_dynamics/{node}"]
        assert info.external_attr >> 16 & 0o111 == 0o111, f"{node} is not executable"
        wrapper, script = (folder / node for folder in folders)
        wrapper.write_bytes(wheel.read(info))
        script.write_text(f'#!/bin/sh\necho {node} "$@"\n')
        for file in (wrapper, script):
            file.chmod(0o755)
        said = subprocess.run([wrapper, "--ros-args", "a b"], capture_output=True, text=True, check=True, cwd="/")
        assert said.stdout == f"{node} --ros-args a b\n"


def test_wheel_carries_every_module_the_type_marker_and_the_entry_points(wheel: zipfile.ZipFile) -> None:
    files = [path for path in (ROOT / "rne_dynamics").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {str(path.relative_to(ROOT)) for path in files} <= set(wheel.namelist())
    (entry,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    points = wheel.read(entry).decode()
    assert "rne = rne_dynamics.cli.start:main" in points
    assert all(f"{node} = rne_dynamics.ros.{node}:main" in points for node in NODES)
    assert {ROOT / "rne_dynamics" / "ros" / f"{node}.py" for node in NODES} <= set(files)


def test_nothing_that_failed_is_run_again() -> None:
    files = [ROOT / name for name in (".ci/run", "Makefile", "pyproject.toml", "setup.py")]
    found = [f"{file.name}: {word}" for file in files for word in ("last-failed", "--lf", "reruns", "flaky")
             if word in file.read_text(encoding="utf-8")]  # fmt: skip
    assert not found


def test_colcon_puts_executables_in_lib() -> None:
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert "install_scripts=$base/lib/rne_dynamics" in text
    assert "script_dir=$base/lib/rne_dynamics" in text


def test_python_310_reads_every_file() -> None:
    """And no test module imports another one, which older pytest (7.4, of ROS 2 Jazzy) does not find."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if path in MODULES:
            source(path)  # parsed once for all tests of this process, as Python 3.10 does
        else:
            ast.parse(text, str(path), feature_version=(3, 10))  # or SyntaxError
        assert not path.name.startswith("test_") or not re.search(r"^(from|import) .*\btest_", text, re.M), path


@pytest.mark.slow
def test_everything_but_ros_imports_without_ros() -> None:
    """Run; test_architecture finds any import of ROS elsewhere in the source."""
    code = """
import importlib, pkgutil, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        first = name.split(".")[0]
        others = ("rclpy", "launch", "launch_ros", "ament_index_python")
        if first in others or first.endswith(("_msgs", "_srvs", "_interfaces")):
            raise ImportError("no ROS here: " + name)
sys.meta_path.insert(0, Refuse())
import rne_dynamics
names = [m.name for m in pkgutil.walk_packages(rne_dynamics.__path__, "rne_dynamics.", onerror=lambda n: None)]
names = [n for n in names if not n.startswith("rne_dynamics.ros")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


def test_every_name_of_the_stub_is_there_and_no_other() -> None:
    stub = ast.parse((ROOT / "rne_dynamics" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names]
    assert all(alias.name == alias.asname for node in imports for alias in node.names), "public for type checkers"
    assert sorted(names) == rne_dynamics.__all__
    assert set(names) <= set(dir(rne_dynamics))
    for name in names:
        value = getattr(rne_dynamics, name)
        assert getattr(value, "__module__", value.__name__).startswith("rne_dynamics.")
    with pytest.raises(AttributeError, match="'nothing'"):
        rne_dynamics.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_of_it() -> None:
    program = "import sys; before = set(sys.modules); import rne_dynamics; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"rne_dynamics", "functools", "collections", "importlib", "types", "warnings"}
