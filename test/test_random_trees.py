"""Random trees answer in every form that a quantity can be asked in, or say why not; never a raw exception.

Massless links, point masses and rods are among their bodies, so that in many of them some motion has no inertia.
"""

from __future__ import annotations

import pytest
from support.every_form import problems
from support.random_trees import random_tree

from rne_dynamics.compiling import store


@pytest.fixture(autouse=True)
def nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep machine code in memory: nobody has these robots again."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(store, "save", kept.__setitem__)
    monkeypatch.setattr(store, "load", kept.get)


def by_machine_code(seeds: range, most: int, share: float) -> list[str]:
    found = []
    for seed in seeds:
        robot = random_tree(seed, most)
        ways = {
            "general": robot.with_own_code(False), "own code": robot.with_own_code(), "shared": robot.with_shared_code()
        }  # fmt: skip
        found += problems(ways, seed, share)
    return found


def test_a_few_trees() -> None:
    assert not by_machine_code(range(5), 3, 0.02)


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(20))
def test_two_thousand_trees(hundred: int) -> None:
    """Of each tree 10 % of all questions, by general kernels, code of its own and shared code."""
    assert not by_machine_code(range(100 * hundred, 100 * hundred + 100), 5, 0.1)
