"""Random episodes on arms that are not the model: no invariant breaks, no healthy arm is thrown, few are stopped."""

from __future__ import annotations

import pytest
from support.episode_search import THROWN, search
from support.foreign_episodes import ForeignEpisode

#: Part of the healthy arms that may be stopped.
STOPPED = 0.005


def few(*numbers: int) -> list[object]:
    """Episodes: the first three in every run, further ones with the slow tests."""
    return [pytest.param(number, marks=[pytest.mark.slow] * (k > 2)) for k, number in enumerate(numbers)]


@pytest.mark.parametrize(("first", "last"), [(30, 37), pytest.param(37, 45, marks=pytest.mark.slow)])
def test_no_healthy_arm_is_thrown_or_stopped(first, last):
    healthy, wrong, stopped = search(first, last, ForeignEpisode)
    assert healthy > 2
    assert not wrong
    assert not stopped


@pytest.mark.parametrize("number", [104, 2272, 7819])
def test_swapped_motors_are_cut_for_good_though_states_come_late(number):
    """Before: what had driven the arm 75 or 17 ms ago counted as a hand, and a joint was driven on for 0.07 to 0.13 s.

    In the second one all states are as late, so none is later than others. In the third one a joint that went on by
    itself was believed to be a hand's again and again, and was driven on for 0.07 s.
    """
    episode = ForeignEpisode(number)
    episode.run()
    assert "the motors do not brake it" in episode.rig.supervisor.cause


@pytest.mark.parametrize("number", few(1639, 2473, 7239, 4098, 2616, 6118))
def test_no_arm_is_thrown_by_its_stop_by_its_damping_or_by_a_delay(number):
    """Before, in velocity limits: 1.8 in stops that held the model's weight only, 2.8 and 3.0 in hand guiding.

    Then 2.6 in hand guiding whose damping kept to the rate, not to a delay of 19 ms; and 3.8 in a motion with 17 ms,
    measured as 1 ms from efforts that grew evenly.
    """
    episode = ForeignEpisode(number)
    episode.run()
    assert episode.peak < 1.0
    assert not episode.stopped


@pytest.mark.parametrize("number", few(563, 894, 1611, 1735, 1937, 2172, 2406))
def test_oscillations_are_calmed_without_a_stop(number):
    """Before: found too late, or lost with each move of the reference, or the gears had no time to come to rest."""
    episode = ForeignEpisode(number)
    episode.run()
    assert episode.peak < THROWN
    assert not episode.stopped


def test_a_declared_delay_allows_all_of_the_feedback_from_the_start_on():
    """Before: 1.6 velocity limits of a light wrist of half its mass, held at 100 Hz with half of the feedback."""
    episode = ForeignEpisode(9001)
    episode.run()
    assert episode.peak < THROWN
    assert not episode.stopped


def test_an_arm_that_falls_together_about_one_axis_is_braked_as_its_inertia_is_now():
    """Before: a UR10 that nobody holds in hand guiding reached 1.67, with dampers of its inertia 0.2 s ago."""
    episode = ForeignEpisode(8463)
    episode.run()
    assert episode.peak < THROWN


@pytest.mark.soak
@pytest.mark.parametrize(("first", "last"), [
    (1000, 1300), *((first, first + 1000) for first in range(2000, 12000, 1000)),
])  # fmt: skip
def test_hardly_any_healthy_arm_is_stopped(first, last):
    healthy, wrong, stopped = search(first, last, ForeignEpisode)
    assert not wrong
    assert len(stopped) <= max(STOPPED * healthy, 2 if last < 2000 else 0), stopped
