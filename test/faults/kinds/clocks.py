"""Faults of the times and stamps of joint states."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterable

import numpy as np
from faults.driver import RATE, honest
from faults.falsify import every, later, silence
from faults.fault import Faults
from faults.rig import HELD, SETTLE, Rig
from sensor_msgs.msg import JointState

from rne_dynamics.ros.messages.publishers import stamp_of, write_stamp

FAULTS = Faults("time")
fault = FAULTS.fault

#: Jump of a clock, s; and shorter ones: out of order, late, or an outage at first sight.
JUMP, SHORT_JUMPS = 10.0, (0.05, 0.12, 0.2, 0.45, 1.0)
#: Largest displacement of an arm stopped by dead reckoning, rad: its motion in the brake time, and errors.
DEAD_RECKONING = 0.15
#: What is left of joint states of which two of three are lost, 1/s.
LOSSY_RATE = 0.33 * RATE


def _gap(rig: Rig, until: str = "") -> None:
    """No joint states for 50 ms, or until 50 ms after this state."""
    rig.driver.falsify = silence
    if until:
        rig.reach(until)
    rig.run(0.05)
    rig.driver.falsify = honest


@fault("shorter than state_timeout: no reaction")
def gap_of_50_ms(rig: Rig) -> None:
    """No joint states for 50 ms."""
    _gap(rig)
    rig.run(0.3)
    rig.undisturbed()


@fault("shorter than state_timeout: the motion reaches its goal")
def gap_in_motion(rig: Rig) -> None:
    """No joint states for 50 ms in motion."""
    goal = rig.move()
    _gap(rig)
    rig.arrive(goal)


@fault("stopped by dead reckoning; held again without a jump", stop__hold_time=1.0)
def states_come_back(rig: Rig) -> None:
    """No joint states until the arm is being stopped; then they return."""
    _gap(rig, "stopping")
    rig.reach("holding")
    rig.run(0.3)
    rig.held(DEAD_RECKONING)


@fault("braked by dead reckoning; held without a jump where the arm then is; the motion has ended", stop__hold_time=1.0)
def states_come_back_in_motion(rig: Rig) -> None:
    """The same in motion."""
    goal = rig.move()
    _gap(rig, "stopping")
    rig.reach("holding")
    rig.run(SETTLE)
    rig.stays(0.3)
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@fault("stopped by dead reckoning: held, released over stop.ramp_time, zeros, fault; ~/recover leads back")
def stream_lost(rig: Rig) -> None:
    """Joint states end."""
    rig.driver.falsify = silence
    rig.await_release()
    rig.driver.restart()
    rig.recover()


@fault("braked by dead reckoning, released, fault")
def stream_lost_in_motion(rig: Rig) -> None:
    """Joint states end in motion."""
    rig.move()
    rig.driver.falsify = silence
    rig.await_release()


@fault("the stop goes on by dead reckoning and ends with zeros")
def stream_lost_in_a_stop(rig: Rig) -> None:
    """Joint states end while the arm is being stopped."""
    rig.move()
    rig.trigger("stop")
    rig.reach("stopping")
    rig.driver.falsify = silence
    rig.reach("fault", "released")
    rig.run(0.1)
    rig.silent()


@fault("held where it is, without a request", recover_automatically=True)
def automatic_recovery(rig: Rig) -> None:
    """Joint states come back after the arm was released, recover_automatically set."""
    rig.driver.falsify = silence
    rig.await_release()
    rig.driver.restart()
    rig.reach("holding")
    rig.stays(0.3)


@fault("no efforts until ~/recover")
def no_recovery_unasked(rig: Rig) -> None:
    """The same without recover_automatically."""
    rig.driver.falsify = silence
    rig.await_release()
    rig.driver.restart()
    rig.run(0.3)
    rig.silent()
    rig.check(rig.controller.state == "fault", "the fault is gone")


@fault("duplicates are refused; the stream counts as lost: stopped by dead reckoning, released, fault")
def frozen_stamps(rig: Rig) -> None:
    """The stamp no longer changes."""
    stamp = stamp_of(rig.driver.report())
    rig.driver.falsify = every(lambda message: write_stamp(message.header, stamp))
    rig.await_release()
    rig.refused("duplicate stamp")


@fault("the second one is refused and counted; no other reaction")
def every_state_twice(rig: Rig) -> None:
    """Each joint state is sent twice."""
    rig.driver.falsify = lambda message: (message, message)
    goal = rig.move()
    rig.arrive(goal)
    rig.refused("duplicate stamp")


@fault("refused as out of order; the motion reaches its goal")
def stamps_out_of_order(rig: Rig) -> None:
    """Every tenth stamp is 20 ms too early."""
    goal = rig.move()
    rig.driver.falsify = every(later(-0.02), nth=10)
    rig.arrive(goal)
    rig.refused("out of order")


@fault("a new time base: the arm is held")
def clock_set_back(rig: Rig) -> None:
    """The clock is set back by 10 s."""
    rig.driver.falsify = every(later(-JUMP))
    rig.run(0.4)
    rig.check("fault" not in rig.passed, "the arm was released")
    rig.held()
    rig.count("time jumps")


@fault("a new time base: the motion is cancelled, the arm is held where it is")
def clock_set_back_in_motion(rig: Rig) -> None:
    """The clock is set back by 10 s in motion."""
    _clock_jumps_in_motion(rig, -JUMP)


@fault("the same: the reference does not jump to the goal")
def clock_set_ahead_in_motion(rig: Rig) -> None:
    """The clock is set 10 s ahead in motion."""
    _clock_jumps_in_motion(rig, JUMP)


def _clock_jumps_in_motion(rig: Rig, by: float) -> None:
    goal = rig.move()
    rig.driver.falsify = every(later(by))
    rig.reach("holding")
    rig.run(0.15)
    rig.stays(0.2)
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@fault("a new time base each time: the arm is held")
def clock_set_a_little(rig: Rig) -> None:
    """The clock is set by 0.05, 0.12, 0.2, 0.45 and 1 s, each back and then ahead."""
    _short_jumps(rig, moving=False)


@fault("a new time base each time: the motion is cancelled, the arm is held where it is")
def clock_set_a_little_in_motion(rig: Rig) -> None:
    """The same, each in a motion of its own."""
    _short_jumps(rig, moving=True)


def _short_jumps(rig: Rig, *, moving: bool) -> None:
    home, goal = rig.driver.q, rig.driver.q
    for by, way in itertools.product(SHORT_JUMPS, (-1.0, 1.0)):
        if moving:
            goal = rig.move(rig.driver.q - way * np.array(rig.arm.far))
        rig.driver.falsify = every(later(-by if way < 0.0 else 0.0))
        rig.run(0.06)
        rig.reach("holding")
        rig.check(not {"fault", "stopping"} & set(rig.passed), f"the arm was stopped when the clock was set by {by} s")
        rig.run(0.15)
        rig.stays(0.1)
        rig.check(not moving or np.abs(goal - rig.driver.q).max() > HELD, f"the motion went on over a jump of {by} s")
    rig.check(moving or np.abs(home - rig.driver.q).max() <= HELD, "the arm moved")
    rig.count("time jumps", 2 * len(SHORT_JUMPS))


@fault("refused, or a new time base and back: the arm is held")
def one_stamp_ahead(rig: Rig) -> None:
    """One stamp is 10 s ahead."""
    rig.driver.falsify = every(later(JUMP), nth=30, most=1)
    rig.run(0.5)
    rig.check("fault" not in rig.passed, "the arm was released")
    rig.held()


@fault("refused as delayed: stopped, released, fault")
def delayed_states(rig: Rig) -> None:
    """Joint states are delayed, by 0.35 s and then by 0.7 s."""
    rig.run(2.2)
    rig.mark()
    queue: deque[JointState] = deque()
    for seconds in (0.35, 0.7):
        length = round(seconds * RATE)

        def through(message: JointState, length: int = length) -> Iterable[JointState]:
            queue.append(message)
            return (queue.popleft(),) if len(queue) > length else ()

        rig.driver.falsify = through
        rig.run(0.45)
    rig.await_release()


@fault("the motion reaches its goal")
def bursts(rig: Rig) -> None:
    """Joint states come in bursts: none for up to 40 ms, then the late ones at once."""
    chance, waiting = random.Random(7), [0]
    late: list[JointState] = []

    def burst(message: JointState) -> Iterable[JointState]:
        late.append(message)
        if waiting[0] > 0:
            waiting[0] -= 1
            return ()
        waiting[0] = chance.randrange(10)
        out, late[:] = list(late), []
        return out

    rig.driver.falsify, first = burst, len(rig.driver.speeds)
    goal = rig.move()
    if not getattr(rig.law, "feedforward", True):  # nothing decelerates it between the bursts, so that it coasts
        rig.run(2.0)
        rig.check((np.abs(rig.driver.speeds[first:]) < rig.robot.velocity_limit).all(), "it was faster than its limits")
        return
    rig.arrive(goal)


@fault("the motion reaches its goal")
def lossy_stream(rig: Rig) -> None:
    """Two of three joint states are lost at random; gains that need more are stopped."""
    chance = random.Random(11)
    rig.driver.falsify = lambda message: (message,) if chance.random() < LOSSY_RATE / RATE else ()
    goal = rig.move()
    if getattr(rig.law, "lowest_rate", 0.0) > LOSSY_RATE:
        rig.await_release()
        return
    rig.arrive(goal)


@fault("the time of arrival is used; the motion reaches its goal", before="inactive")
def no_stamps(rig: Rig) -> None:
    """Joint states without stamps from the start on."""
    rig.driver.falsify = every(lambda message: write_stamp(message.header, 0))
    rig.activate()
    goal = rig.move()
    rig.arrive(goal)


@fault("refused: a stream that has stamps keeps them; stopped by dead reckoning; then a stream without stamps, held")
def stamps_vanish(rig: Rig) -> None:
    """Stamps become zero."""
    rig.driver.falsify = every(lambda message: write_stamp(message.header, 0))
    rig.reach("stopping")
    rig.reach("holding")
    rig.run(0.2)
    rig.held(DEAD_RECKONING)
    rig.refused("no stamp")


@fault("stopped, released, fault", min_rate=150.0)
def too_slow_a_stream(rig: Rig) -> None:
    """Joint states come at 21 % of min_rate."""
    rig.undisturbed()
    waiting = [0]

    def thin(message: JointState) -> Iterable[JointState]:
        waiting[0] += 1
        return (message,) if waiting[0] % 8 == 0 else ()

    rig.driver.falsify = thin
    rig.await_release()
