"""The random search over closed-loop episodes: see `support.episodes` for what happens in them and what must hold."""

from __future__ import annotations

import pytest
from support.episodes import broken_episodes


def search(first: int, last: int) -> None:
    broken = [text for _, text in broken_episodes(first, last)]
    assert not broken, "\n".join(broken)


def test_fifty_episodes():
    search(0, 50)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(50, 1050, 500))
def test_a_thousand_episodes(first):
    search(first, first + 500)
