"""Random input in random order: no exception but a refusal, and no effort that must not be sent."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import ALLOWED, SILENT, Mode
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import RneDynamicsError

ROBOT = rne.load_urdf("planar2")
START = np.array([-0.7, 0.4])
#: Events of a sequence, and sequences in the suite and with the slow tests.
LENGTH, FEW, MANY = 70, 12, 30
#: Of the joint states, s: as long as will do, for time costs time.
PERIOD = 0.005

hostile = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-300, 5e-324, 1e6, -1e30, 1.7e308, 3.2, -7.0])
number = st.one_of(hostile, st.floats(-2.0, 2.0), st.floats())
vector = st.lists(number, min_size=2, max_size=2).map(np.array)
stamps = st.one_of(
    st.integers(-(2**62), 2**63 - 1), st.sampled_from([0, -1, 1, 2**62]), st.integers(-2_000_000_000, 2_000_000_000),
)


def move(rig: Rig, value: float) -> None:
    """Send a motion whose end is anywhere near."""
    goal = np.clip(START + np.nan_to_num(value, nan=0.3, posinf=0.5, neginf=-0.5) * 1e-3, -1.0, 1.0)
    trajectory = SampledTrajectory(np.array([0.1, 0.3]), np.stack([START, goal]), joint_names=ROBOT.joint_names)
    tolerances = Tolerances(ROBOT.joint_names, path=0.5, goal_time=0.1)
    rig.supervisor.follow(
        Motion(trajectory, rig.supervisor.stamp, tolerances, blend_time=0.1),
        lambda ending, text: rig.endings.append((ending, text)),
    )
    rig.moves += 1  # type: ignore[attr-defined]


REQUESTS: dict[str, Callable[[Rig, float], object]] = {
    "stop": lambda rig, value: rig.supervisor.stop(rig.now, "asked for"),
    "end": lambda rig, value: rig.supervisor.stop(rig.now, "deactivated", ending=True),
    "recover": lambda rig, value: rig.supervisor.recover(rig.now),
    "cancel": lambda rig, value: rig.supervisor.cancel("asked for"),
    "guide": lambda rig, value: rig.supervisor.hand_guide(True),
    "hold": lambda rig, value: rig.supervisor.hand_guide(False),
    "speed": lambda rig, value: rig.supervisor.scale_speed(value),
    "move": move,
    "adopt": lambda rig, value: rig.supervisor.adopt(
        settings(ROBOT, bandwidth=float(np.clip(np.nan_to_num(value), 1.0, 30.0)))
    ),
    "activate": lambda rig, value: rig.mode is Mode.INACTIVE and rig.supervisor.activate(rig.now),
    "look": lambda rig, value: rig.supervisor.machine.output.clamp_text(),
}
event = st.one_of(
    st.just(("good", None)), st.just(("good", None)), st.tuples(st.just("state"), st.tuples(stamps, vector, vector)),
    st.tuples(st.just("gap"), st.sampled_from([0.001, 0.02, 0.15, 0.6, 3.0])),
    st.tuples(st.sampled_from(list(REQUESTS)), number),
)


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_any_sequence_of_states_and_requests(examples):
    hypothesis_settings(max_examples=examples, derandomize=True)(run)()


@given(events=st.lists(event, min_size=LENGTH, max_size=LENGTH), checked=st.booleans())
def run(events, checked):
    """Let the events happen to an arm, with a check at the start or not; what must hold then."""
    rig = Rig(ROBOT, START.copy(), settings(ROBOT, check=StartCheck(0.02 if checked else 0.0)), PERIOD)
    rig.moves = 0
    changes: list[Mode] = [rig.mode]
    rig.supervisor.machine.on_change = lambda mode, cause: changes.append(mode)
    rig.run(0.05)
    for what, value in events:
        if what == "good":
            rig.run(2 * PERIOD)
        elif what == "gap":
            rig.run(min(value, 0.2), corrupt=lambda state: None)
            rig.now += value
        elif what == "state":
            stamp, q, qd = value
            if abs(stamp) <= 2_000_000_000:  # near the present
                stamp += rig.supervisor.stamp
            rig.run(PERIOD, corrupt=lambda s, new=(stamp, q, qd): {
                **s, "stamp": new[0], "q": new[1].copy(), "qd": new[2].copy(), "reported": new[2].copy(),
            })
        else:
            with contextlib.suppress(RneDynamicsError):  # a refusal
                REQUESTS[what](rig, value)
    rig.supervisor.stop(rig.now, "the end", ending=True)
    for _ in range(20):
        if rig.mode is not Mode.INACTIVE:
            rig.run(0.05)
    assert rig.mode is Mode.INACTIVE
    assert rig.mode in SILENT
    if rig.sent:
        rig.check()
        assert not rig.sent[-1].any(), "the last effort is not left standing"
    assert all((a, b) in ALLOWED for a, b in itertools.pairwise(changes) if a is not b)
    assert len(rig.endings) == rig.moves, "the end of each motion is reported once"
