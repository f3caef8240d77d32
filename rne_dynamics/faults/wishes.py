"""Faults of what the controller is asked for: parameters, services, transitions."""

from __future__ import annotations

import math

import numpy as np
from lifecycle_msgs.msg import Transition

from rne_dynamics.faults.arm import EFFORT
from rne_dynamics.faults.fault import Faults
from rne_dynamics.faults.rig import HELD, Rig

PARAMETERS, WISHES = Faults("parameter"), Faults("request")
fault, wish = PARAMETERS.fault, WISHES.fault

#: How far an arm may drift in half a second that is damped, not led: the model carries it, and no feedback, rad.
DRIFT = 0.2
UNCHANGED = "refused as a whole; the arm is held as before"


def refused(name: str, injected: str, **values: object) -> None:
    """A change of parameters that must be refused."""

    def inject(rig: Rig) -> None:
        answer = rig.change(**values)
        rig.check(not answer.successful, f"{values} is accepted")
        rig.check(answer.reason, "no reason is given")
        rig.run(0.1)
        rig.undisturbed()

    PARAMETERS.add(name, injected, UNCHANGED, inject)


refused("parameter-nan", "a gain is set to NaN", gains__joint1__p=math.nan)
refused("parameter-negative", "an effort limit is set to -1", limits__joint1__effort=-1.0)
refused("parameter-infinite", "an effort rate is set to infinity", limits__joint2__effort_rate=math.inf)
refused("parameter-type", "a gain is set to a word", gains__joint1__p="soft")
refused("parameter-policy", "stop.policy is set to a word it does not know", stop__policy="drop")
refused("parameter-payload", "a payload on a link that the arm does not have, with a good gain",
        payload__link="gripper", payload__mass=1.0, gains__joint1__p=100.0)
refused("parameter-margin", "margins that leave no room between the position limits",
        limits__joint2__position_margin=5.0)


@fault("kept from then on")
def limit_lowered_in_motion(rig: Rig) -> None:
    """The effort limit is lowered in motion."""
    goal = rig.move()
    lower = 0.9 * EFFORT[0]
    rig.check(rig.change(limits__joint1__effort=lower).successful, "refused")
    rig.mark()
    rig.arrive(goal, 0.1)
    rig.check(np.abs(rig.efforts[:, 0]).max() <= lower, f"{np.abs(rig.efforts[:, 0]).max():.4g} N m came")


@fault("within the effort rate; no stop")
def payload_changed_in_motion(rig: Rig) -> None:
    """The payload changes by 1 kg in motion, in the model and not in the hand."""
    goal = rig.move()
    answer = rig.change(payload__link="tool0", payload__mass=1.0)
    rig.check(answer.successful, f"refused: {answer.reason}")
    rig.arrive(goal, 0.1)


@fault("within the effort rate; held")
def gains_raised(rig: Rig) -> None:
    """Gains are raised tenfold while the arm is held."""
    answer = rig.change(**{f"gains__joint{j}__{k}": v for j in (1, 2) for k, v in (("p", 1600.0), ("d", 80.0))})
    rig.check(answer.successful, f"refused: {answer.reason}")
    rig.run(0.4)
    rig.undisturbed()


@fault("gravity alone goes on carrying it: it drifts, it does not fall")
def gains_zero(rig: Rig) -> None:
    """All gains are set to zero while the arm is held."""
    answer = rig.change(**{f"gains__joint{j}__{k}": 0.0 for j in (1, 2) for k in ("p", "d")})
    rig.check(answer.successful, f"refused: {answer.reason}")
    rig.run(0.3)
    rig.undisturbed(0.1)


@wish("decelerates, holds, fades its efforts over stop.ramp_time, zeros: released; ~/recover leads back")
def stop_in_motion(rig: Rig) -> None:
    """~/stop in motion."""
    rig.move()
    answer = rig.trigger("stop")
    rig.check(answer.success, f"refused: {answer.message}")
    rig.await_release("released")
    rig.recover()


@wish("held and released once, zeros: released")
def stop_twice(rig: Rig) -> None:
    """~/stop while the arm is held, twice."""
    rig.trigger("stop")
    rig.trigger("stop")
    rig.await_release("released")


@wish("decelerates, holds, then zeros as fast as the effort rate allows", stop__policy="release")
def stop_and_release(rig: Rig) -> None:
    """~/stop in motion, stop.policy release."""
    rig.move()
    rig.trigger("stop")
    rig.await_release("released")


@wish("decelerates, then holds without end; deactivated it is released", stop__policy="hold")
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
    rig.check(rig.strayed() < DRIFT, f"the arm has strayed by {rig.strayed():.3f} rad")
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.silent()


@wish("decelerates along the path, is held")
def cancel_in_motion(rig: Rig) -> None:
    """~/cancel in motion."""
    goal = rig.move()
    answer = rig.trigger("cancel")
    rig.check(answer.success, f"refused: {answer.message}")
    rig.reach("holding")
    rig.run(0.3)
    rig.mark()
    rig.run(0.2)
    rig.held()
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@wish("as ~/stop", stop__after_cancel="stop")
def cancel_and_stop(rig: Rig) -> None:
    """~/cancel in motion, stop.after_cancel stop."""
    rig.move()
    rig.trigger("cancel")
    rig.await_release("released")


@wish("refused; the motion reaches its goal")
def hand_guide_in_motion(rig: Rig) -> None:
    """~/hand_guide in motion."""
    goal = rig.move()
    rig.check(not rig.hand_guide(True).success, "accepted")
    rig.arrive(goal)


@wish("refused; the arm floats on")
def trajectory_while_floating(rig: Rig) -> None:
    """A trajectory while a hand guides the arm."""
    answer = rig.hand_guide(True)
    rig.check(answer.success, f"refused: {answer.message}")
    rig.reach("floating")
    rig.mark()
    rig.send(rig.trajectory())
    rig.run(0.3)
    rig.check(not rig.passed, "the state has changed")
    rig.check(rig.strayed() < 0.1, f"the arm has gone {rig.strayed():.3f} rad away by itself")
    rig.hand_guide(False)
    rig.reach("holding")


@wish("refused: nothing to recover from; held as before")
def recover_while_held(rig: Rig) -> None:
    """~/recover while the arm is held."""
    rig.check(not rig.trigger("recover").success, "accepted")
    rig.run(0.1)
    rig.undisturbed()


@wish("decelerates, holds, releases, zeros")
def deactivated_in_motion(rig: Rig) -> None:
    """Deactivated in motion."""
    rig.move()
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.check_released_by_end()


@wish("one stop, to its end")
def deactivated_in_a_stop(rig: Rig) -> None:
    """Deactivated while it is being stopped already."""
    rig.move()
    rig.trigger("stop")
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    rig.check_released_by_end()


@wish("refused by the lifecycle; the motion reaches its goal")
def wrong_transitions(rig: Rig) -> None:
    """Cleanup, configure and activate are asked for in motion."""
    goal = rig.move(seconds=1.5)
    for number in (Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        rig.check(not rig.controller.transition(number), f"transition {number} is made")
    rig.arrive(goal)


@wish("each time from zeros to zeros within the rate")
def activated_again_and_again(rig: Rig) -> None:
    """Activated, deactivated, activated five times without a pause."""
    for _ in range(5):
        rig.transition(Transition.TRANSITION_DEACTIVATE)
        rig.transition(Transition.TRANSITION_ACTIVATE)
    rig.reach("holding")
    rig.run(0.4)
    rig.mark()
    rig.run(0.2)
    rig.held()


@wish("from zeros to zeros; held again")
def through_the_whole_lifecycle(rig: Rig) -> None:
    """Deactivated, cleaned up, configured and activated again."""
    for number in (
        Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        rig.transition(number, 60.0)
    rig.reach("holding")
    rig.run(0.4)
    rig.mark()
    rig.run(0.2)
    rig.held()


@wish("decelerates, holds, releases, zeros; the process ends", own=True)
def shut_down_in_motion(rig: Rig) -> None:
    """Shut down by the lifecycle in motion."""
    rig.move()
    rig.controller.transition(Transition.TRANSITION_ACTIVE_SHUTDOWN, still=False)
    rig.ended()
    rig.check_released_by_end()
