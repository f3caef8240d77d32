"""The random search over closed-loop episodes with pose targets, in and out of reach, single and as streams."""

from __future__ import annotations

import pytest
from support.episodes import broken_episodes
from support.pose_episodes import PoseEpisode


def search(first: int, last: int) -> None:
    broken = [text for _, text in broken_episodes(first, last, PoseEpisode)]
    assert not broken, "\n".join(broken)


def test_ten_episodes():
    search(0, 10)


@pytest.mark.soak
def test_five_hundred_episodes():
    search(10, 510)
