"""Random episodes under all laws, which change meanwhile: no invariant breaks, no healthy arm is thrown or stopped."""

from __future__ import annotations

import pytest
from support.law_episodes import search


def test_no_healthy_arm_is_thrown_or_stopped():
    healthy, wrong, stopped = search(0, 12)
    assert healthy > 3
    assert not wrong, "\n".join(wrong)
    assert not stopped


@pytest.mark.parametrize("number", [99, 113])
def test_a_tool_near_a_singular_posture_is_not_thrown(number):
    """Before: a direction counted as singular where the tool was a ton heavy; joints were thrown."""
    _, wrong, stopped = search(number, number + 1)
    assert not wrong
    assert not stopped


def test_a_wrist_with_less_friction_than_the_model_is_not_thrown_where_a_delay_leaves_little_damping():
    """Before: friction of the model drove it on, and the softened damping could not hold that."""
    _, wrong, stopped = search(339, 340)
    assert not wrong
    assert not stopped


@pytest.mark.slow
def test_a_hundred_episodes():
    healthy, wrong, stopped = search(12, 112)
    assert healthy > 40
    assert not wrong, "\n".join(wrong)
    assert len(stopped) <= 1, stopped
