"""Joint states that are wrong but plausible, in closed loop with the gains that ship."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import StateProblem

HOMES = {"planar2": [0.3, 0.8], "puma560": [0.2, 0.6, -0.6, 0.3, 0.5, 0.2]}


def held_arm(name, period=1e-3, corrupt=lambda state: state):
    """An arm with the gains that ship (ω = 40 rad/s), held."""
    robot = rne.load_urdf(name)
    rig = Rig(robot, np.array(HOMES[name]), settings(robot, bandwidth=40.0), period=period)
    rig.run(0.4, corrupt=corrupt)
    return rig


def go(rig, speed):
    """All joints at once for 0.6 s, at most `speed` times their velocity limits fast."""
    n, limit = rig.robot.n, rig.settings.limits.velocity
    way = np.minimum(0.5, speed * limit * 0.6 / 1.875) * np.where(np.arange(n) % 2, -1.0, 1.0)
    rig.move(
        rig.supervisor.queue.reference.q + way, 0.6,
        tolerances=Tolerances(rig.robot.joint_names, path=np.full(n, 0.1), goal=np.full(n, 0.01), goal_time=0.2),
    )


def test_velocities_are_believed_again_when_somebody_recovers():
    rig = held_arm("planar2")
    go(rig, 0.6)
    rig.run(1.0, corrupt=lambda state: state | {"qd": state["qd"] * [-1.0, 1.0]})
    assert rig.supervisor.machine.stream.filter.estimated == ("joint1",)
    rig.supervisor.stop(rig.now, "test")
    rig.run(1.0)
    rig.simulator.reset()
    rig.supervisor.recover(rig.now)
    rig.run(0.4)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.machine.stream.filter.estimated == ()


def test_a_joint_that_does_not_move_at_all_is_stuck_not_frozen():
    """The states do not show it; the path tolerance ends the motion."""
    rig = held_arm("planar2")
    go(rig, 0.3)
    first = rig.simulator.state.q[0]

    def stuck(state):
        state["q"][0], state["qd"][0] = first, 0.0
        rig.simulator._state = replace(rig.simulator.state, q=state["q"].copy(), qd=state["qd"].copy())
        return state

    rig.run(0.5, corrupt=stuck)
    assert rig.mode is Mode.HOLDING
    assert "path" in rig.endings[0][0].value
    assert rig.supervisor.counters.refused[StateProblem.FROZEN] == 0


@pytest.mark.parametrize(("period", "resolution", "speed"), [(4e-3, 1e-3, 0.95), (1e-3, 1e-4, 0.02)])
def test_healthy_encoders_are_neither_frozen_nor_estimated(period, resolution, speed):
    def coarse(state):
        return state | {"q": np.round(state["q"] / resolution) * resolution}

    rig = held_arm("puma560", period, coarse)
    go(rig, speed)
    rig.run(1.0, corrupt=coarse)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.machine.stream.filter.estimated == ()
    assert not rig.supervisor.counters.refused
