"""Faults of drives and brakes: off and on again, protective stops, brakes that drag."""

from __future__ import annotations

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from faults.drive_faults import Hand
from faults.driver import COMMAND_TIMEOUT
from faults.fault import Faults
from faults.rig import Rig
from faults.robots import ROBOTS

from rne_dynamics.control.thresholds import OVERSPEED

FAULTS = Faults("drive")
fault = FAULTS.fault

EVERYWHERE = {"arms": ROBOTS, "nodes": (COMPUTED_TORQUE, GRAVITY_COMPENSATION)}
#: How far the arm is moved while a drive is off, rad, and how long that takes, s.
MOVED, TIME = 0.4, 0.6
#: Speed above which an arm jumps when its drives return, rad/s: without protection it is several times higher. An arm
#: on springs returns to its place, or is stopped where they pull it faster than its limits.
JUMP = 1.2
#: Time for which it is observed after that, s.
AFTER = 1.0
#: Friction of a dragging brake, as a fraction of the effort limit.
DRAG = 0.3


@fault("when the drive returns the arm does not jump; held where it is then", **EVERYWHERE)
def drive_off_and_on(rig: Rig) -> None:
    """The drive of one joint is off for a while, the joint is moved by hand meanwhile; each joint in turn."""
    simulator = rig.driver.simulator
    for j, joint in enumerate(rig.robot.joint_names):
        simulator.faults.off[j] = True
        inward = -np.sign(rig.driver.q[j] - 0.5 * (rig.robot.lower[j] + rig.robot.upper[j])) or 1.0
        simulator.push = Hand(simulator, j, float(inward) * MOVED, TIME)
        rig.run(TIME + 0.2)
        simulator.push = None
        simulator.faults.off[j] = False
        _no_jump(rig, f"the drive of {joint!r} returns")
        if rig.controller.state == "fault":
            rig.run(2.0 * COMMAND_TIMEOUT)  # until the brakes hold it
            rig.recover()


@fault("when the drives return the arm does not jump; held", **EVERYWHERE)
def protective_stop(rig: Rig) -> None:
    """A protective stop: all drives off, brakes on, for a second; joint states go on."""
    _protective_stop(rig)


@fault("when the drives return the arm does not jump; the rest of the motion is cancelled or aborted", arms=ROBOTS)
def protective_stop_in_motion(rig: Rig) -> None:
    """A protective stop in motion; the reference reaches the goal meanwhile."""
    goal = rig.move()
    _protective_stop(rig)
    rig.check(np.abs(goal - rig.driver.q).max() > 0.05, "the motion was caught up")


def _protective_stop(rig: Rig) -> None:
    faults = rig.driver.simulator.faults
    faults.brakes, faults.off[:] = True, True
    rig.run(1.0 + rig.arm.seconds)
    faults.brakes, faults.off[:] = False, False
    _no_jump(rig, "the drives return")


@fault("efforts stay within limits; the motion reaches its goal, or is missed or aborted; the stop ends", arms=ROBOTS)
def brake_drags(rig: Rig) -> None:
    """A brake that is not fully released drags in motion; each joint in turn."""
    faults = rig.driver.simulator.faults
    for j in range(rig.robot.n):
        faults.drag[j] = DRAG * rig.arm.limits[j]
        rig.move(to=np.array(rig.arm.home) + (0.0 if j % 2 else 1.0) * np.array(rig.arm.far), seconds=1.0)
        rig.until(lambda: rig.controller.state != "tracking", "the end of the motion")
        rig.run(0.5)  # the position to hold follows an arm that is too far from it
        faults.drag[j] = 0.0
        _no_jump(rig, "the brake is released", rig.learns)
    rig.stops()


def _no_jump(rig: Rig, when: str, pressing: bool = False) -> None:
    """`pressing`: the law has learned to press against what ends now, which feedback then has to undo."""
    first, drift = len(rig.driver.speeds), rig.drift()
    rig.run(AFTER)
    if rig.springs_back and rig.controller.state == "fault":
        rig.silent()  # they pulled so hard that it was stopped for its speed, and fell
        return
    fastest = np.abs(np.array(rig.driver.speeds[first:])).max(axis=0)
    strong = rig.springs_back or pressing
    allowed = OVERSPEED * rig.robot.velocity_limit if strong else JUMP + np.maximum(drift, rig.drift())
    j = int(np.argmax(fastest - allowed))
    rig.check(
        fastest[j] <= allowed[j],
        f"joint {rig.robot.joint_names[j]!r} moves at {fastest[j]:.3g} rad/s when {when}; {allowed[j]:.3g} is allowed",
    )
