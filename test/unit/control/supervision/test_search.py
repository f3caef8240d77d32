"""The random search over closed-loop episodes: see `support.episodes` for what happens in them and what must hold.

Pose targets are in and out of reach, single and as streams.
"""

from __future__ import annotations

import pytest
from support.episode_search import search
from support.episodes import Episode
from support.pose_episodes import PoseEpisode


@pytest.mark.parametrize(("kind", "first", "last"), [
    (Episode, 0, 1), pytest.param(Episode, 1, 6, marks=pytest.mark.slow), (PoseEpisode, 0, 1),
    *(pytest.param(*case, marks=pytest.mark.soak)
      for case in ((Episode, 6, 550), (Episode, 550, 1050), (PoseEpisode, 1, 510))),
])  # fmt: skip
def test_no_invariant_breaks(kind: type[Episode], first: int, last: int) -> None:
    wrong = search(first, last, kind).wrong
    assert not wrong, "\n".join(wrong)
