"""Faults of requests to the controller: services and transitions at times when they do not fit."""

from __future__ import annotations

import numpy as np
from faults.fault import Faults
from faults.rig import HELD, Rig
from lifecycle_msgs.msg import Transition

FAULTS = Faults("request")
fault = FAULTS.fault

#: How far an arm may drift in half a second without position feedback, only damped, rad.
DRIFT = 0.2


@fault("decelerates, holds, ramps its efforts to zero over stop.ramp_time: released; ~/recover holds it again")
def stop_in_motion(rig: Rig) -> None:
    """~/stop in motion."""
    rig.move()
    rig.accepted(rig.trigger("stop"))
    rig.await_release("released")
    rig.recover()


@fault("held and released once, zeros: released")
def stop_twice(rig: Rig) -> None:
    """~/stop while the arm is held, twice."""
    rig.trigger("stop")
    rig.trigger("stop")
    rig.await_release("released")


@fault("decelerates, holds, then zeros as fast as the effort rate allows", stop__policy="release")
def stop_and_release(rig: Rig) -> None:
    """~/stop in motion, stop.policy release."""
    rig.move()
    rig.trigger("stop")
    rig.await_release("released")


@fault("decelerates, then holds without a time limit; released when deactivated", stop__policy="hold")
def stop_and_hold(rig: Rig) -> None:
    """~/stop in motion, stop.policy hold."""
    rig.move()
    rig.trigger("stop")
    rig.reach("stopping")
    rig.run(0.5)
    rig.mark()
    rig.run(0.5)
    rig.check(rig.controller.state == "stopping", "the arm is not held")
    rig.check(rig.driver.driven, "no effort drives the arm")
    rig.check(rig.deviation() < DRIFT, f"the arm has moved by {rig.deviation():.3f} rad")
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.silent()


@fault("decelerates along the path, is held")
def cancel_in_motion(rig: Rig) -> None:
    """~/cancel in motion."""
    goal = rig.move()
    rig.accepted(rig.trigger("cancel"))
    rig.reach("holding")
    rig.run(0.3)
    rig.stays(0.2)
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@fault("as ~/stop", stop__after_cancel="stop")
def cancel_and_stop(rig: Rig) -> None:
    """~/cancel in motion, stop.after_cancel stop."""
    rig.move()
    rig.trigger("cancel")
    rig.await_release("released")


@fault("refused; the motion reaches its goal")
def hand_guide_in_motion(rig: Rig) -> None:
    """~/hand_guide in motion."""
    goal = rig.move()
    rig.check(not rig.hand_guide(True).success, "accepted")
    rig.arrive(goal)


@fault("refused; the arm goes on floating")
def trajectory_while_floating(rig: Rig) -> None:
    """A trajectory while a hand guides the arm."""
    rig.accepted(rig.hand_guide(True))
    rig.reach("floating")
    rig.mark()
    rig.send(rig.trajectory())
    rig.run(0.3)
    rig.check(not rig.passed, "the state has changed")
    rig.check(rig.deviation() < 0.1, f"the arm has moved by {rig.deviation():.3f} rad by itself")
    rig.hand_guide(False)
    rig.reach("holding")


@fault("refused: nothing to recover from; held as before")
def recover_while_held(rig: Rig) -> None:
    """~/recover while the arm is held."""
    rig.check(not rig.trigger("recover").success, "accepted")
    rig.run(0.1)
    rig.undisturbed()


@fault("decelerates, holds, releases, zeros")
def deactivated_in_motion(rig: Rig) -> None:
    """Deactivated in motion."""
    rig.move()
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.check_released_by_end()


@fault("one complete stop")
def deactivated_in_a_stop(rig: Rig) -> None:
    """Deactivated while it is being stopped already."""
    rig.move()
    rig.trigger("stop")
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.check_released_by_end()


@fault("refused by the lifecycle; the motion reaches its goal")
def wrong_transitions(rig: Rig) -> None:
    """Cleanup, configure and activate are requested in motion."""
    goal = rig.move(seconds=1.5)
    for number in (Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        rig.check(not rig.controller.transition(number), f"transition {number} is made")
    rig.arrive(goal)


@fault("each time from zeros to zeros within the rate")
def activated_again_and_again(rig: Rig) -> None:
    """Activated, deactivated, activated five times without a pause."""
    for _ in range(5):
        rig.transition(Transition.TRANSITION_DEACTIVATE)
        rig.transition(Transition.TRANSITION_ACTIVATE)
    rig.reach("holding")
    rig.run(0.4)
    rig.until(lambda: np.abs(rig.driver.qd).max() <= HELD, "the arm, which fell meanwhile, to be at rest", 5.0)
    rig.stays(0.2)


@fault("from zeros to zeros; held again")
def through_the_whole_lifecycle(rig: Rig) -> None:
    """Deactivated, cleaned up, configured and activated again."""
    for number in (
        Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        rig.transition(number, 60.0)
    rig.reach("holding")
    rig.run(0.4)
    rig.stays(0.2)


@fault("decelerates, holds, releases, zeros; the process ends", own=True)
def shut_down_in_motion(rig: Rig) -> None:
    """Shut down by the lifecycle in motion."""
    rig.move()
    rig.controller.transition(Transition.TRANSITION_ACTIVE_SHUTDOWN, still=False)
    rig.ended()
    rig.check_released_by_end()
