"""Faults of simulated time: paused, stepped, set back and ahead, also in a stop."""

from __future__ import annotations

import time

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION, STATE_TIMEOUT, STOP, STOP_SLACK
from faults.fault import Faults
from faults.kinds.clocks import SHORT_JUMPS
from faults.rig import HELD, Rig

from rne_dynamics.control.thresholds import NANOSECONDS

FAULTS = Faults("simulation")
fault = FAULTS.fault

NODES = (COMPUTED_TORQUE, GRAVITY_COMPENSATION)
#: How long a simulation is paused, s of the steady clock: longer than every time-out.
PAUSE = 2.0 * STATE_TIMEOUT
#: How far simulated time is set, s.
JUMP = 10.0


@fault("none: no time passes", nodes=NODES)
def simulation_paused(rig: Rig) -> None:
    """The simulation is paused for twice the state_timeout."""
    rig.run(0.1)
    time.sleep(PAUSE)
    rig.run(0.3)
    rig.undisturbed()


@fault("the motion reaches its goal")
def simulation_stepped(rig: Rig) -> None:
    """The simulation is stepped by hand in motion, with pauses."""
    goal = rig.move()
    for k in range(12):
        time.sleep(0.02 if k else 1.2 * STATE_TIMEOUT)
        rig.turn()
    rig.arrive(goal)


@fault("a new time base: held, or still floating", nodes=NODES)
def simulation_set_back(rig: Rig) -> None:
    """Simulated time is set back by 10 s, with the stamps of the joint states, as by a restarted simulation."""
    _set(rig, -JUMP)


@fault("a new time base: held, or still floating", nodes=NODES)
def simulation_set_ahead(rig: Rig) -> None:
    """Simulated time is set 10 s ahead, with the stamps."""
    _set(rig, JUMP)


@fault("a new time base each time: held, or still floating", nodes=NODES)
def simulation_set_a_little(rig: Rig) -> None:
    """Simulated time is set back and ahead by 0.05, 0.12, 0.2, 0.45 and 1 s, with the stamps."""
    for by in SHORT_JUMPS:
        _set(rig, -by)
        _set(rig, by)


def _set(rig: Rig, by: float) -> None:
    rig.run(0.1)
    rig.driver.stamp += round(by * NANOSECONDS)
    rig.run(0.4)
    rig.check(not {"fault", "stopping"} & set(rig.passed), "the arm was stopped")
    rig.stays(0.2)


@fault("a new time base: the motion is cancelled, the arm is held where it is")
def simulation_set_back_in_motion(rig: Rig) -> None:
    """The same in motion, back."""
    goal = rig.move()
    rig.driver.stamp -= round(JUMP * NANOSECONDS)
    rig.reach("holding", seconds=1.0)
    rig.run(0.15)
    rig.stays(0.2)
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@fault("the stop ends within its times", nodes=NODES)
def simulation_set_back_in_a_stop(rig: Rig) -> None:
    """The same while the arm is being stopped."""
    rig.trigger("stop")
    rig.reach("stopping")
    rig.run(0.04)
    rig.driver.stamp -= round(JUMP * NANOSECONDS)
    rig.reach("released", seconds=sum(STOP.values()) + STOP_SLACK)
    rig.silent()
