"""Random episodes under all laws, which change meanwhile: no invariant breaks, no healthy arm is thrown or stopped."""

from __future__ import annotations

import pytest
from support.episode_search import search
from support.law_episodes import LawEpisode
from support.mixed_episodes import MixedEpisode


def test_no_healthy_arm_is_thrown_or_stopped():
    healthy, wrong, stopped = search(1, 2, MixedEpisode)
    assert healthy
    assert not wrong, "\n".join(wrong)
    assert not stopped


@pytest.mark.parametrize(("kind", "number"), [
    pytest.param(LawEpisode, 99, marks=pytest.mark.slow,
                 id="a direction counted as singular where the tool was a ton heavy"),
    pytest.param(LawEpisode, 339, marks=pytest.mark.slow,
                 id="friction of the model drove a wrist on that softened damping could not hold"),
    pytest.param(MixedEpisode, 1030, marks=pytest.mark.slow,
                 id="springs near a singular posture tore a wrist loose that friction had held"),
    pytest.param(MixedEpisode, 1126, id="soft springs left the tool nearer to a singular posture than the reference"),
    pytest.param(MixedEpisode, 1561, marks=pytest.mark.soak, id="it went back along 20 ms of its path in 40 ms"),
    pytest.param(MixedEpisode, 258, marks=pytest.mark.soak, id="coupling accelerated a wrist that was answered late"),
    pytest.param(MixedEpisode, 978, marks=pytest.mark.soak, id="a load waited for the end of a change of laws"),
])  # fmt: skip
def test_joints_that_were_thrown(kind, number):
    """The names say why they were."""
    _, wrong, stopped = search(number, number + 1, kind)
    assert not wrong
    assert not stopped


@pytest.mark.parametrize(("kind", "first", "last"), [
    pytest.param(kind, *numbers, marks=mark) for kind in (LawEpisode, MixedEpisode)
    for numbers, mark in (((0, 4), pytest.mark.slow), ((4, 200), pytest.mark.soak))
])
def test_many_episodes(kind, first, last):
    healthy, wrong, stopped = search(first, last, kind)
    assert healthy > (last - first) // 3
    assert not wrong, "\n".join(wrong)
    assert len(stopped) <= 1, stopped
