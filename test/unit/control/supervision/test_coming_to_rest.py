"""An arm that is faster than allowed: the reference from which it comes to rest is not."""

from __future__ import annotations

import numpy as np
import pytest
from support.altered import KINDS, model
from support.supervised import Rig, settings

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending

#: Speed of the arm in velocity limits.
FAST = 1.3


def moving(name: str) -> Rig:
    """An arm that follows a motion with a path tolerance."""
    robot = model(name)
    start = np.clip(robot.neutral, robot.lower + 0.3, robot.upper - 0.3)
    rig = Rig(robot, start, settings(robot))
    rig.run(0.05)
    rig.move(start + 0.1, 1.0, tolerances=Tolerances(robot.joint_names, path=0.05, goal=0.01, goal_time=0.2))
    rig.run(0.1)
    return rig


def references(rig: Rig, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and speeds of the reference from now on."""
    queue, stamp = rig.supervisor.queue, rig.supervisor.stamp
    found = [queue.reference, *(queue.advance(stamp + round(t * 1e9), 1.0) for t in np.arange(0.0, seconds, 1e-3))]
    return np.array([one.q for one in found]), np.array([one.qd for one in found])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("end", [0.0, 1.0], ids=["in the middle", "at a limit"])
def test_after_a_violated_path_tolerance(name, end):
    rig = moving(name)
    limits, q = rig.settings.limits, rig.supervisor.q.copy()
    at = np.where(np.isfinite(limits.upper) & (end > 0.0), limits.upper - 1e-3, q + 0.1)
    ended = rig.supervisor.queue.judge(rig.supervisor.stamp, at, FAST * limits.velocity)
    assert ended is Ending.PATH
    places, speeds = references(rig, 0.5)
    assert (np.abs(speeds) <= limits.velocity).all()
    assert (np.abs(np.diff(places[1:], axis=0)) <= 1e-3 * (1.0 + 1e-9) * limits.velocity).all()
    assert (places <= limits.upper + 1e-9).all()


@pytest.mark.parametrize("name", KINDS)
def test_where_a_clock_jumps_or_hand_guiding_ends(name):
    rig = moving(name)
    limit = rig.settings.limits.velocity
    rig.supervisor.qd[:] = -FAST * limit
    rig.supervisor.machine.anchor("as after each event that begins anew from the measured state")
    _, speeds = references(rig, 0.5)
    assert (np.abs(speeds) <= limit).all()
