"""Every command and snippet of the documentation is run here, or checked as far as possible.

So are those of pages in test/ and benchmarks/.

In a ```console block a line that starts with "$ " is a command. `rne` commands are run in this process, examples and
benchmarks in one of their own. Those in PARSED_ONLY take their time and have their own tests: only their arguments are
parsed and their robot is loaded, and so it is with those in LONG, which run by hand (`make soak`). `arm.urdf` is an
arm in the folder where commands run.
`make` targets and variables must exist; `make bench` with arguments is run in this process, those of `make faults` are
parsed; `ros2 launch` and `ros2 run` must name what is there, with arguments that launch files
declare; `ros2 topic`, `ros2 service` and `ros2 action` must name a topic of a node, and fields that its messages have.
Commands to running nodes (`rne send`) only have their arguments parsed and their nodes and joints checked; of nodes
that are started as Python modules, files and parameters are checked.
Commands of other tools must be in FOREIGN, so that a new kind of command needs a thought here. ```python
blocks are run, each page's in one namespace. Links must lead somewhere.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from comparison.command import main as bench
from support.c_compiler import CXX
from support.parameter_page import NODES as PARAMETERS

import rne_dynamics as rne
from rne_dynamics.cli.arguments import declare
from rne_dynamics.cli.main import COMMANDS, main
from rne_dynamics.control.motion.limits import parse_goal
from rne_dynamics.ros.launch_plan import KINDS, check_names, checked
from rne_dynamics.ros.parameters.files import settings_for
from rne_dynamics.simulation.runs.push import parse_push

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rne_dynamics"
PAGES = sorted([
    ROOT / "README.md", ROOT / "CONTRIBUTING.md",
    *(page for folder in ("docs", "test", "benchmarks", "config") for page in (ROOT / folder).rglob("*.md")),
])
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move", "viewer", "recorder")
FOREIGN = (
    "rosdep install ", "pip install ", "colcon build", "source install/setup.bash", "git clone ", "sudo apt ",
    "cmake -S panda_c ", "cmake --build panda_c/", "ctest --test-dir panda_c/",  # test_c_export.py
)  # fmt: skip
PARSED_ONLY = ("compare", "demo", "excite", "guide", "identify", "send", "stop", "state", "verify", "view")
#: Beginnings of commands whose options have quick tests elsewhere, and which take long.
LONG = (
    "rne simulate panda --trajectory", "rne simulate flexible", "rne simulate scara --seconds 2",
    "rne simulate puma560 --base-motion examples/ship_motion.csv --seconds 3", "rne simulate puma560 --dae",
    "rne simulate puma560 --law", "rne simulate pantograph --preset", "python benchmarks/",
    "python examples/identify_arm.py panda", "python examples/mujoco_plant.py --robot",
    "python examples/compliance.py --arms",
)
#: Moves of pages that show an arm that does not track.
UNTRACKED = tuple(map(shlex.split, (
    "simulate examples/four_joint_arm.urdf --to shoulder=60deg --seconds 2 --unknown-payload tool=0.5",
    "simulate puma560 --base-motion examples/ship_motion.csv --seconds 3 --base-unknown",
)))
#: Commands that read a recording of the PUMA 560, and which of their words names it.
RECORDED = {"plot": 1, "residual": 2}
#: The robot of the pages that send motions to running nodes.
SENT_TO = "puma560"
#: Nodes that examples/mujoco_plant.py starts.
STARTED_BY_OTHERS = ("mujoco_arm.py", "plain_node.py")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(page.read_text(encoding="utf-8")) if kind == language]


def commands() -> list[tuple[str, str]]:
    """Every command with the first page that prints it."""
    found: dict[str, str] = {}
    for page in PAGES:
        for language in ("console", "bash"):
            for body in blocks(page, language):
                for line in body.replace("\\\n", " ").splitlines():
                    if line.startswith("$ "):
                        found.setdefault(line[2:].strip(), str(page.relative_to(ROOT)))
    return [(page, command) for command, page in found.items()]


#: Beginnings of commands that take seconds: of the README in every run, of the other pages with the slow tests.
SLOW = ("python ", "rne simulate", "rne plot", "rne residual", "make bench")


def cases() -> Iterator[object]:
    """A page, its command, and whether the command is run."""
    for page, command in commands():
        elsewhere = page != "README.md"
        long = elsewhere and command.startswith(LONG)
        marks = [pytest.mark.slow] if elsewhere and command.startswith(SLOW) else []
        if not long or command.startswith("rne "):
            yield pytest.param(page, command, not long, id=f"{page}: {command}", marks=[] if long else marks)
        if long:
            yield pytest.param(page, command, True, id=f"{page}: {command}, run", marks=pytest.mark.soak)


@pytest.mark.parametrize(("page", "command", "whole"), list(cases()))
def test_command_works_or_names_what_exists(
    page: str, command: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    words = shlex.split(command, comments=True)
    if words[0] == "rne":
        furnish(tmp_path)
        monkeypatch.chdir(tmp_path)
        if words[1] in RECORDED:
            (tmp_path / words[1 + RECORDED[words[1]]]).symlink_to(request.getfixturevalue("recorded"))
        check_rne(words[1:], whole)
    elif words[0] == "python" and words[1] == "-m" and words[2].startswith("rne_dynamics.ros."):
        check_node(words[2].rpartition(".")[2], words[3:])
    elif words[0] in ("python", "python3"):
        if words[1] == "examples/cpp_loop.py" and CXX is None:
            pytest.skip("no C++ compiler: sudo apt install g++")
        run([sys.executable, *words[1:]], tmp_path)
    elif words[0] == "make":
        furnish(tmp_path)
        monkeypatch.chdir(tmp_path)
        check_make(words[1:])
    elif words[:2] in (["ros2", "launch"], ["ros2", "run"]):
        check_ros2(words[1:])
    elif words[:2] in (["ros2", "topic"], ["ros2", "service"], ["ros2", "action"]):
        check_interface([w for w in words[1:] if not w.startswith("-")])
    elif words[0] == ".ci/run":
        assert os.access(ROOT / ".ci" / "run", os.X_OK)
    else:
        assert command.startswith(FOREIGN), f"{page}: no test knows the command {command!r}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the PUMA 560."""
    file = tmp_path_factory.mktemp("recorded") / "run.mcap"
    assert main(["simulate", "puma560", "--seconds", "2", "--record", str(file)]) == 0
    return file


def check_rne(words: list[str], whole: bool = True) -> None:
    if whole and words[0] not in PARSED_ONLY:
        if "--trajectory" in words:
            file = words[words.index("--trajectory") + 1]
            assert main(["excite", words[1], "--scale", "0.1", "--budget", "0.1", "--out", file]) == 0
        assert main(words) == (1 if words in UNTRACKED else 0)
        return
    module = importlib.import_module(f"rne_dynamics.cli.{COMMANDS[words[0]].folder}.{words[0]}")
    parser = argparse.ArgumentParser()
    declare(parser, module.ARGUMENTS)
    given = parser.parse_args(words[1:])
    named = getattr(given, "robot", None)
    if isinstance(named, str):
        assert rne.load_model(named).n > 0
    if getattr(given, "node", None):
        assert given.node.rpartition("/")[2] in NODES
    if words[0] == "send" and given.goal:
        robot = rne.load_urdf(SENT_TO)
        parse_goal(given.goal, robot, robot.lower, robot.upper)
    if words[0] == "guide":
        robot = rne.load_model(given.robot).rigid
        for push in given.push:
            parse_push(push, robot)


def check_node(name: str, words: list[str]) -> None:
    """A node that is started as a module: its parameters exist, with files before them, and the files too."""
    assert name in NODES
    assert words[0] == "--ros-args"
    assert words[1::2] == sorted(words[1::2]), "a file given after -p overrides it"
    known = {parameter.name for parameter in PARAMETERS[name]} | {"use_sim_time"}
    for option, value in zip(words[1::2], words[2::2], strict=True):
        if option == "--params-file":
            assert (ROOT / value).exists()
            assert settings_for(str(ROOT / value), f"/{name}"), f"{value} has no settings for {name}"
        else:
            assert option == "-p"
            assert value.partition(":=")[0] in known, f"{name} has no parameter {value}"


def furnish(folder: Path) -> None:
    """Make a folder whose relative paths are the checkout's, so that output lands elsewhere."""
    for name in ("urdf", "examples", "benchmarks", "config", "test"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "docs" / "images").mkdir(parents=True)  # pictures of the pages are written there
    for path in (ROOT / "docs").iterdir():
        if path.name != "images":
            (folder / "docs" / path.name).symlink_to(path)
    shutil.copy(ROOT / "urdf" / "scara.urdf", folder / "arm.urdf")


def run(command: list[str], tmp_path: Path) -> None:
    furnish(tmp_path)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def check_make(words: list[str]) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    variables = [w for w in words if "=" in w]
    assert set(words) - set(variables) <= targets
    for word in variables:
        name, _, value = word.partition("=")
        assert f"$({name})" in (ROOT / "Makefile").read_text(encoding="utf-8")
        if name == "BENCH_ARGS":
            assert bench(shlex.split(value)) == 0
        if name == "FAULTS_ARGS":
            pytest.importorskip("rclpy", reason="ROS 2 is not installed")
            faults = importlib.import_module("faults.command")
            parser = argparse.ArgumentParser()
            declare(parser, faults.ARGUMENTS)
            faults.campaign.chosen(parser.parse_args(shlex.split(value)).only)


def check_ros2(words: list[str]) -> None:
    verb, package, what, *rest = words
    assert package == "rne_dynamics"
    if verb == "run":
        assert what in (*NODES, "rne")
        settings = [word for word in rest if word in ("--params-file", "-p")]
        assert settings == sorted(settings), "a file given after -p overrides it"
        if what == "rne":
            check_rne(rest)
        return
    kind = KINDS[what.removesuffix(".launch.py")]
    assert all(":=" in word for word in rest)
    check_names(kind.arguments, rest, what)
    checked(kind.arguments, dict(word.split(":=", 1) for word in rest))


def check_interface(words: list[str]) -> None:
    kind, verb, name, *rest = words
    assert (kind, verb) in (("topic", "pub"), ("topic", "echo"), ("service", "call"), ("action", "send_goal"))
    node, _, tail = name.lstrip("/").partition("/")
    assert node in NODES
    text = "".join(f.read_text(encoding="utf-8") for f in (PACKAGE / "ros").rglob("*.py"))
    assert re.search(rf'"(~/)?{tail}"', text), f"no node has {name}"
    if rest:
        message = {"topic": "", "service": "Request", "action": "Goal"}[kind]
        fill(message_class(rest[0], message)(), yaml.safe_load(rest[1]) if rest[1:] else {})


def message_class(name: str, part: str = "") -> type:
    """The class of a type as ROS writes it, trajectory_msgs/msg/JointTrajectory or without the msg."""
    package, *folder, stem = name.split("/")
    module = pytest.importorskip(f"{package}.{folder[0] if folder else 'msg'}", reason=f"{package} is not installed")
    found = getattr(module, stem)
    return getattr(found, part) if part else found


def fill(message: object, values: dict[str, object]) -> None:
    """Set a message's fields as ros2's command line does; a field it does not have, or of another type, fails."""
    kinds = message.get_fields_and_field_types()
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, converted(value, kinds[name]))


def converted(value: object, kind: str) -> object:
    if kind == "double":
        return float(value)
    element = re.fullmatch(r"sequence<([\w/]+)>", kind)
    if element is None:
        return value
    if "/" not in element[1]:
        return [converted(v, element[1]) for v in value]
    made = [message_class(element[1])() for _ in value]
    for one, given in zip(made, value, strict=True):
        fill(one, given)
    return made


#: Pages whose snippets take a second or more.
SLOW_PAGES = ("001_textbook.md", "closed_loops.md", "compiled.md", "flexible.md", "recipes.md", "view.md")


@pytest.mark.parametrize("page", [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in SLOW_PAGES)) for page in PAGES
])
def test_python_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for body in blocks(page, "python"):
        exec(compile(body, str(page), "exec"), namespace)  # a page's snippets build on each other
        assert namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def examples() -> list[Path]:
    """Those that no page prints a command of and no other example starts: the others are run there."""
    printed = {words[1] for _, command in commands() if (words := shlex.split(command))[0].startswith("python")}
    return [
        script for script in sorted((ROOT / "examples").glob("*.py"))
        if f"examples/{script.name}" not in printed and script.name not in STARTED_BY_OTHERS
    ]


@pytest.mark.parametrize("script", examples(), ids=lambda p: p.name)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    run([sys.executable, str(script)], tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pages_name_files_that_exist(page: Path) -> None:
    """Paths in backticks, `control/gains.py` and the like; a bare name follows one in a folder on the same line."""
    for line in page.read_text(encoding="utf-8").splitlines():
        folders = [ROOT, ROOT / "rne_dynamics", ROOT / "docs", page.parent]
        for name in re.findall(r"`([\w/]+/[\w.]+\.py|\w+\.py)`", line):
            assert any((folder / name).exists() for folder in folders), f"{page.name} names {name}, which is not there"
            folders += [folder / Path(name).parent for folder in (ROOT, ROOT / "rne_dynamics")]


@pytest.mark.parametrize("file", [*PAGES, *sorted((ROOT / "examples").glob("*.py"))], ids=lambda p: p.name)
def test_pages_and_examples_use_the_public_api_where_it_offers_a_name(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for body in [text] if file.suffix == ".py" else blocks(file, "python"):
        for node in ast.walk(ast.parse(body)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rne_dynamics."):
                module = importlib.import_module(str(node.module))
                for name in (alias.name for alias in node.names if alias.name in rne.__all__):
                    assert getattr(rne, name) is not getattr(module, name), f"write rne.{name}"


def test_no_page_names_this_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(?:work|root|home|tmp)/", page.read_text(encoding="utf-8")), page.name
