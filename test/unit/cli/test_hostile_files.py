"""Files that are made to hang a command or fill the memory: every command ends within 10 s and 1 GB, with one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.hostile_files import FILES, write

#: Computing time, s, and memory, bytes, of a command and the processes it starts.
MOST_TIME, MOST_MEMORY = 10.0, 1_000_000_000
#: After which a command that waits for ever is ended, s.
PATIENCE = 600.0
LONGEST_LINE = 2_000
#: `rne`, which the system ends where a file takes far more than it may.
PROGRAM = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({int(4 * MOST_TIME)},) * 2)
resource.setrlimit(resource.RLIMIT_AS, ({6 * MOST_MEMORY},) * 2)
from rne_dynamics.cli.start import main
sys.exit(main())
"""

ROBOT = (".urdf", ".xacro", ".yaml")
TABLE = (".csv", ".npz")
RECORDING = (*TABLE, ".mcap", ".db3", ".bag")
MESH = (".stl", ".obj", ".ply", ".off", ".dae", ".glb", ".3mf", ".zip")
#: Commands and the endings of the files that they read; {} is the file.
COMMANDS = {
    "check {}": ROBOT,
    "info {}": ROBOT,
    "inertia robot {}": (".urdf", ".xacro"),
    "inertia composite {}": (".yaml",),
    "inertia mesh {} --density 1000": MESH,
    "simulate {} --free --seconds 0.1": ROBOT,
    "simulate puma560 --base-motion {} --seconds 0.1": TABLE,
    "verify {}": ROBOT,
    "export {}": ROBOT,
    "export {} --language c --out computed": ROBOT,
    "new {} --out new.yaml --force": ROBOT,
    "plot {} --out plot.png": RECORDING,
    "view puma560 --replay {}": RECORDING,
}
#: One that never ends, for every change; the whole table is run by hand.
FAST = [("check {}", "fifo.urdf")]
#: Of each kind one, and the largest that is accepted.
LARGEST = [
    ("check {}", "list.xacro"), ("inertia mesh {} --density 1000", "header.stl"),
    ("plot {} --out plot.png", "shape.npz"), ("verify {}", "binary_300.urdf"),
    ("check {}", "chain_3000.urdf"), ("check {}", "power.xacro"), ("plot {} --out plot.png", "bomb.npz"),
    ("plot {} --out plot.png", "bomb.mcap"), ("plot {} --out plot.png", "view.db3"),
]  # fmt: skip
#: Runs a command and writes what it used: of a process that this one started, the memory of this one would count.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}")
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


class Ended(NamedTuple):
    """What a command did."""

    code: int
    seconds: float
    memory: int
    output: str
    errors: str


def run(words: list[str], folder: Path) -> Ended:
    """Run `rne` and measure it with the processes it starts; fails where it waits for ever."""
    process = subprocess.Popen(
        [sys.executable, "-c", MEASURE, str(folder / "used"), sys.executable, "-c", PROGRAM, *words], cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        texts = [text.decode("utf-8", "replace") for text in process.communicate(timeout=PATIENCE)]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        pytest.fail(f"{' '.join(words)} has not ended after {PATIENCE:g} s")
    seconds, kilobytes = (folder / "used").read_text().split()
    return Ended(process.returncode, float(seconds), 1024 * int(kilobytes), *texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder for all files; kernels that the commands need are compiled."""
    made = tmp_path_factory.mktemp("hostile")
    assert run(["check", "puma560"], made).code == 0
    return made


def check(folder: Path, command: str, name: str) -> None:
    write(folder, name)
    ended = run([word.format(name) for word in command.split()], folder)
    lines = ended.errors.splitlines()
    assert ended.code in (0, 1, 2), ended
    assert "Traceback" not in ended.errors, ended.errors
    assert ended.code == 0 or len(lines) == 1 or ended.output, ended
    assert all(len(line) < LONGEST_LINE for line in (*lines, *ended.output.splitlines())), ended
    assert ended.seconds < MOST_TIME, ended
    assert ended.memory < MOST_MEMORY, ended


@pytest.mark.parametrize(
    ("command", "name"), [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGEST)]
)
def test_one_file_of_each_kind(folder, command, name):
    check(folder, command, name)


@pytest.mark.soak
@pytest.mark.parametrize("command", COMMANDS)
def test_every_file_with_every_command(folder, command):
    wrong = []
    for name in (name for name in FILES if name.endswith(COMMANDS[command])):
        if (command, name) not in FAST + LARGEST:
            try:
                check(folder, command, name)
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)
