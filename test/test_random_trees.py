"""Random trees answer in every form that a quantity can be asked in, or say why not; never a raw exception.

Massless links, point masses and rods are among their bodies, so that in many of them some motion has no inertia.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.every_form import problems
from support.random_trees import random_tree

from rne_dynamics.compiling.meanwhile import HERE, MOST_ROWS, Meanwhile
from rne_dynamics.dynamics.declared.meanwhile import LEAST_BODIES
from rne_dynamics.straight_line import store


@pytest.fixture(autouse=True)
def nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep machine code in memory: nobody has these robots again."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(store, "save", kept.__setitem__)
    monkeypatch.setattr(store, "load", kept.get)


@pytest.fixture
def never_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another process is compiling all the time, so that all answers are first ones."""
    monkeypatch.delenv(HERE, raising=False)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as busy:
        monkeypatch.setattr(Meanwhile, "running", busy)
        yield
        busy.communicate(b"\n")


def by_machine_code(seeds: range, most: int, share: float) -> list[str]:
    found = []
    for seed in seeds:
        robot = random_tree(seed, most)
        ways = {
            "general": robot.with_own_code(False), "own code": robot.with_own_code(), "shared": robot.with_shared_code()
        }  # fmt: skip
        found += problems(ways, seed, share)
    return found


def at_first(seeds: range, share: float) -> list[str]:
    found = []
    for seed in seeds:
        robot = random_tree(seed, 2 * LEAST_BODIES)
        if robot.bodies >= LEAST_BODIES:
            ways = {"general": robot.with_own_code(False), "first answers": robot.with_own_code()}
            found += problems(ways, seed, share, MOST_ROWS)
    return found


#: Trees from a seed to another without machine code, in an empty folder, where nothing is compiled at any time.
WITHOUT_CODE = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from support.every_form import problems
from support.random_trees import random_tree
from rne_dynamics.compiling.meanwhile import MOST_ROWS, Meanwhile

with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as Meanwhile.running:
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        for found in problems({"general": random_tree(seed, 5).with_own_code(False)}, seed, 0.3, MOST_ROWS):
            print(found)
    Meanwhile.running.communicate(b"\\n")
"""


def without_code(root: Path, folder: Path, first: int, end: int) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(root)}
    environment.pop(HERE)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CODE, str(root / "test"), str(first), str(end)], env=environment, check=False,
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_a_few_trees() -> None:
    assert not by_machine_code(range(8), 3, 0.02)


def test_first_answers_of_a_few_trees(never_compiled: None) -> None:
    assert not at_first(range(3), 0.1)


@pytest.mark.slow
def test_first_answers_without_machine_code(root: Path, tmp_path: Path) -> None:
    """A tree without joints is among them."""
    assert not without_code(root, tmp_path, 5003, 5007)


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(20))
def test_two_thousand_trees(hundred: int) -> None:
    """Of each tree 10 % of all questions, by general kernels, code of its own and shared code."""
    assert not by_machine_code(range(100 * hundred, 100 * hundred + 100), 5, 0.1)


@pytest.mark.soak
def test_first_answers_of_many_trees(never_compiled: None) -> None:
    assert not at_first(range(200), 0.1)


@pytest.mark.soak
def test_first_answers_of_many_trees_without_machine_code(root: Path, tmp_path: Path) -> None:
    assert not without_code(root, tmp_path, 5000, 5300)
