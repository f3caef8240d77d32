"""Faults of processes: the controller ended, killed, frozen; the drives gone; no arm at all."""

from __future__ import annotations

import random
import signal

import numpy as np
from faults.arm import description
from faults.driver import COMMAND_TIMEOUT
from faults.falsify import silence
from faults.fault import Faults
from faults.rig import HELD, Rig
from lifecycle_msgs.msg import Transition

FAULTS = Faults("process")
fault = FAULTS.fault

RELEASED = "decelerates, holds, releases, zeros; exit code 0"
AT_ONCE = "zero at the rate limit; exit code 0"
TIMED_OUT = "no more efforts; the drives' time-out drops the last one"
#: Seeds of the random times of a motion at which the controller is killed.
SEEDS = (1, 2, 3)
MOTION = 1.2
#: Displacement of the arm when the drives return, rad.
ELSEWHERE = 0.5


def ended(name: str, signals: tuple[signal.Signals, ...], injected: str, *, moving: bool) -> None:
    """Add a fault: signals that end the process; after a second one without delay."""
    patient = len(signals) == 1

    def inject(rig: Rig) -> None:
        if moving:
            rig.move()
        for number in signals:
            rig.controller.process.signal(number)
            if "stopping" not in rig.passed:
                rig.reach("stopping")  # a busy computer may take two signals for one
            rig.run(0.02)
        rig.ended()
        code = rig.controller.process.exit_code
        rig.check(code == 0, f"its exit code is {code}")
        if patient:
            rig.check_released_by_end()
        else:
            rig.check("stopping" in rig.passed, "the arm was released without a stop")
            rig.silent()

    FAULTS.add(name, injected, RELEASED if patient else AT_ONCE, inject, own=True)


ended("sigterm-in-motion", (signal.SIGTERM,), "SIGTERM in motion", moving=True)
ended("sigint-while-held", (signal.SIGINT,), "SIGINT (Ctrl-C) while the arm is held", moving=False)
ended("impatient-signals", (signal.SIGINT,) * 3 + (signal.SIGTERM,) * 2, "SIGINT three times and SIGTERM twice in "
      "motion", moving=True)


def killed(name: str, injected: str, *, moving: bool, seed: int = 0, stopping: bool = False) -> None:
    """Add a fault: SIGKILL, which a process cannot handle."""

    def inject(rig: Rig) -> None:
        if moving:
            rig.move(seconds=MOTION)
        if seed:
            rig.run(random.Random(seed).uniform(0.0, MOTION))
        if stopping:
            rig.trigger("stop")
            rig.reach("stopping")
        rig.kill()
        rig.run(1.1 * COMMAND_TIMEOUT)
        rig.check(not rig.driver.driven, "an effort drives the arm")
        rig.check(not rig.driver.qd.any(), "the arm moves")

    FAULTS.add(name, injected, TIMED_OUT, inject, own=True)


killed("killed-while-held", "SIGKILL while the arm is held", moving=False)
killed("killed-in-a-stop", "SIGKILL while the arm is being released", moving=True, stopping=True)
for chance in SEEDS:
    killed(f"killed-at-random-{chance}", f"SIGKILL at a random time of a motion, {chance} of {len(SEEDS)}", moving=True,
           seed=chance)


@fault("its loop process decelerates, holds, releases: zeros", own=True)
def node_killed_in_motion(rig: Rig) -> None:
    """SIGKILL of the node's own process in motion; the process of its control loop is left."""
    rig.move(seconds=MOTION)
    rig.controller.kill_node()
    rig.until(lambda: not rig.controller.lives, "the end of its loop")
    rig.check_released_by_end()


@fault("the drives drop the effort meanwhile; then no stale motion is caught up: within the effort rate, held")
def frozen(rig: Rig) -> None:
    """The process is frozen for 0.6 s in motion (SIGSTOP, SIGCONT)."""
    goal = rig.move(seconds=MOTION)
    rig.freeze(0.6)
    rig.check(not rig.driver.driven, "an effort drives the arm")
    rig.thaw()
    rig.run(0.3)
    rig.reach("holding", "fault")
    rig.check("stopping" in rig.passed, "the motion went on")
    if rig.controller.state == "fault":  # no five states came before it was released
        rig.recover()
    rig.check(np.abs(rig.driver.q - goal).max() > HELD, "the motion was caught up")
    rig.stays(0.2)


@fault("stopped by dead reckoning, fault; ~/recover holds it at its new position")
def drives_gone(rig: Rig) -> None:
    """The drives stop reporting, and return with the arm at another position."""
    rig.driver.falsify = silence
    rig.reach("fault")
    rig.driver.restart(home=rig.driver.home + ELSEWHERE)
    rig.recover()


def no_arm(name: str, injected: str, text: str) -> None:
    """Add a fault: a robot description that is refused."""

    def inject(rig: Rig) -> None:
        rig.check(not rig.controller.transition(Transition.TRANSITION_CONFIGURE, seconds=60.0), "it is configured")
        rig.run(0.1)
        rig.check(rig.controller.lifecycle_state() == "unconfigured", "it is configured")
        rig.check(rig.controller.process.exit_code is None, "the process has ended")
        rig.check("cannot configure" in rig.controller.process.output(), "no line says why")
        rig.check(not len(rig.driver.log), "efforts came")

    FAULTS.add(
        name, injected, "not configured, one log line has the reason; no efforts", inject,
        start={"robot_description": text}, before="unconfigured",
    )


no_arm("description-garbage", "the robot description is no XML", "no robot & no <arm")
no_arm("description-without-joints", "the robot description has no joints",
       '<robot name="stump"><link name="base"/></robot>')
no_arm("description-nan", "a mass in the robot description is NaN",
       description().replace('<mass value="1.0"/>', '<mass value="nan"/>'))
