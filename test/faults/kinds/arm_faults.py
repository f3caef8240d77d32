"""Faults of the arm itself: loads, pushes, stuck joints, and those that the start-up check finds."""

from __future__ import annotations

import numpy as np
from faults.arm import ELBOW_LIMIT, MARGIN, load_arm
from faults.falsify import every
from faults.fault import Faults
from faults.rig import Rig
from sensor_msgs.msg import JointState

from rne_dynamics.model.tree import Payload

FAULTS = Faults("arm")
fault = FAULTS.fault

#: A start-up check that is short enough for a campaign.
CHECK = {"startup_check__duration": 0.3}
#: Pushes on the tool, N m about both joints' axes.
GENTLE, VIOLENT = 8.0, 120.0


def carrying(mass: float) -> Payload:
    """A load at the tool."""
    return Payload("tool0", mass)


def push(rig: Rig, moment: float) -> None:
    """Apply a moment to the tool, N·m; it acts on both joints in full."""
    rig.driver.wrenches = {"tool0": np.array([0.0, 0.0, 0.0, 0.0, 0.0, moment])} if moment else {}


@fault("held, sunk as far as the feedback allows", plant=lambda robot: robot.with_payload(carrying(1.0)))
def unknown_load(rig: Rig) -> None:
    """An unknown load of 1 kg at the tool."""
    rig.run(0.4)
    rig.held(rig.yields(rig.driver.simulator.robot))


@fault("efforts stay at their limits; clamps are counted", plant=lambda robot: robot.with_payload(carrying(6.0)))
def load_too_heavy(rig: Rig) -> None:
    """A load of 6 kg at the tool, more than the motors can lift."""
    rig.run(0.3)
    rig.count("clamped efforts")


@fault("the arm yields and comes back")
def gentle_push(rig: Rig) -> None:
    """A gentle push on the arm."""
    push(rig, GENTLE)
    rig.run(0.4)
    push(rig, 0.0)
    rig.run(0.6)
    rig.check(rig.controller.state == "holding", "the arm is not held")
    rig.stays(0.1)


@fault("within the margin it is pushed back, never further out")
def pushed_into_a_wall(rig: Rig) -> None:
    """A push moves the arm into a soft wall."""
    rig.move(to=(0.3, ELBOW_LIMIT - MARGIN - 0.05), seconds=1.2)
    rig.reach("holding")
    rig.run(0.2)
    rig.mark()
    push(rig, 24.0)
    rig.run(0.6)
    inside = np.array(rig.driver.positions[-50:])[:, 1].min() > ELBOW_LIMIT - MARGIN
    outward = rig.efforts[-50:, 1] - rig.driver.weight()[1]
    rig.check(inside, "the push does not reach the wall")
    rig.check(outward.max() < 0.0, f"{outward.max():.3f} N m push further out")
    push(rig, 0.0)


@fault("braked, stopped, released, fault")
def overspeed(rig: Rig) -> None:
    """A violent push makes the arm far faster than its limits."""
    push(rig, VIOLENT)
    rig.until(lambda: np.abs(rig.driver.qd).max() > 10.0 or rig.controller.state != "holding", "the arm to be fast")
    push(rig, 0.0)
    rig.reach("fault", "holding", seconds=5.0)


@fault(
    "efforts stay within limits; the motion is aborted for its tolerance",
    plant=lambda robot: load_arm(shoulder_friction=10000.0),
    constraints__joint1__trajectory=0.15,
)
def joint_stuck(rig: Rig) -> None:
    """A joint is stuck when a motion begins."""
    message = rig.trajectory()
    rig.send(message)
    rig.reach("tracking")
    rig.reach("holding", seconds=3.0)
    rig.check(rig.controller.state == "holding", "the arm is not held")


@fault("the start-up check is passed; the arm may move", **CHECK)
def check_passed(rig: Rig) -> None:
    """Reported efforts agree with the model."""
    rig.run(0.5)
    goal = rig.move()
    rig.arrive(goal)


@fault(
    "the arm is held; no motion is accepted",
    plant=lambda robot: robot.with_payload(carrying(1.5)),
    startup_check__tolerance=0.05,
    **CHECK,
)
def check_finds_a_load(rig: Rig) -> None:
    """An unknown load of 1.5 kg, at the start-up check."""
    _no_motion(rig, "payload", "did not keep still")


@fault("the arm is held; no motion is accepted", before="inactive", **CHECK)
def check_finds_a_sign(rig: Rig) -> None:
    """A motor whose reported effort has the wrong sign."""
    def turn(message: JointState) -> None:
        message.effort[1] = -message.effort[1]

    rig.driver.falsify = every(turn)
    rig.activate()
    _no_motion(rig, "opposite sign")


def _no_motion(rig: Rig, *findings: str) -> None:
    """The check ends with one of these findings, and no motion is accepted."""
    rig.until(lambda: not rig.checking, "the end of the start-up check", 5.0)
    rig.mark()
    rig.check(not rig.send(rig.trajectory()), "a motion is accepted")
    rig.check(any(text in rig.refusal for text in findings), f"the motion is refused: {rig.refusal}")
    rig.run(0.4)
    rig.undisturbed(rig.yields(rig.driver.simulator.robot))
    rig.check(not rig.hand_guide(True).success, "hand guiding is allowed")


@fault("the arm is held; no motion is accepted", before="inactive", startup_check__required=True, **CHECK)
def nothing_to_check(rig: Rig) -> None:
    """No efforts are reported and startup_check.required is set."""
    def strip(message: JointState) -> None:
        message.effort = []

    rig.driver.falsify = every(strip)
    rig.activate()
    _no_motion(rig, "reports no efforts")
