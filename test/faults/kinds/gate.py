"""Faults around the effort gate: an upstream controller that ends, is late or wrong; faults of the arm meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from faults.arm import GATE, STOP, STOP_SLACK
from faults.driver import RATE, honest
from faults.falsify import silence
from faults.fault import Faults
from faults.kinds.motors import check_cut
from faults.kinds.walls import pressed
from faults.rig import HELD, SETTLE, Rig
from faults.robots import ROBOTS

from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.tree import Payload

FAULTS = Faults("gate")

TAKEN = "the gate takes over: held, then released within its configured times plus 0.2 s; zeros, fault"
HERE: dict[str, Any] = {"nodes": (GATE,)}
EVERYWHERE: dict[str, Any] = {"nodes": (GATE,), "arms": ROBOTS}
#: Times of a take-over, s: it does not brake along a path.
RELEASE_TIME = STOP["hold_time"] + STOP["ramp_time"]
#: Largest displacement of an arm held in a take-over, rad.
SUNK = 0.1
Feed = Callable[[], Iterable[float] | None]


def nothing() -> None:
    """No effort, since the upstream controller has stopped."""


def ends_in_time(rig: Rig) -> float:
    """Wait for the end of a take-over, within its configured times; how long it took, s. Nothing more is sent."""
    began = rig.driver.time
    rig.until(lambda: rig.controller.state == "fault", "the end of the take-over", RELEASE_TIME + STOP_SLACK)
    took = rig.driver.time - began
    rig.silent()
    return took


def taken_over(rig: Rig) -> None:
    """Check that the gate holds the arm, releases it within its configured times, and sends nothing more."""
    rig.reach("stopping", seconds=0.1)
    rig.check(ends_in_time(rig) > 0.8 * RELEASE_TIME, "the arm was not held")


def fed_with(name: str, injected: str, feed: Callable[[Rig], Feed]) -> None:
    """Add a fault: the upstream controller sends something else from now on."""

    def inject(rig: Rig) -> None:
        rig.driver.feed = feed(rig)
        taken_over(rig)

    FAULTS.add(name, injected, TAKEN, inject, **HERE)


def some(every: int) -> Callable[[Rig], Feed]:
    """One of `every` efforts."""

    def feed(rig: Rig) -> Feed:
        number, law = itertools.count(), rig.driver.feed
        return lambda: law() if next(number) % every == 0 else None

    return feed


fed_with("gate-commands-end", "the upstream controller stops sending", lambda rig: nothing)
fed_with("gate-commands-rare", "the upstream controller sends one effort in four times command_timeout", some(20))
fed_with("gate-commands-nan", "the upstream controller sends NaN", lambda rig: lambda: [np.nan] * rig.robot.n)
fed_with("gate-commands-short", "the upstream controller sends efforts for one joint only", lambda rig: lambda: [0.0])
fed_with("gate-commands-endless", "the upstream controller sends efforts of 1e300",
         lambda rig: lambda: [1e300] * rig.robot.n)


@FAULTS.fault("efforts stay within limits and rate; the gate takes a fast arm over: fault", **EVERYWHERE)
def gate_commands_huge(rig: Rig) -> None:
    """The upstream controller asks for ten times the largest efforts."""
    rig.driver.feed = (10.0 * rig.arm.limits).tolist
    rig.reach("fault", seconds=5.0)
    rig.silent()


@FAULTS.fault("no jump in the effort; the controller drives the arm again", **HERE)
def gate_handed_back(rig: Rig) -> None:
    """The controller stops for 50 ms, sends again, and ~/recover is called while the gate holds the arm."""
    rig.change(stop__hold_time=0.8)
    rig.driver.feed = nothing
    rig.run(0.05)
    rig.reach("stopping", seconds=0.1)
    rig.feed()
    rig.run(0.1)
    rig.accepted(rig.trigger("recover"))
    rig.reach("passing")
    rig.run(SETTLE + 0.5)
    rig.stays(0.2)


def in_a_takeover(reaction: str, **options: Any) -> Callable[[Callable[[Rig], None]], Callable[[Rig], None]]:
    """A fault of the arm during a take-over."""
    return FAULTS.fault(reaction, **{**EVERYWHERE, **options})


@in_a_takeover("the effort goes to zero at its rate where the arm becomes fast; fault", before="inactive")
def gate_motor_reversed(rig: Rig) -> None:
    """A motor is reversed, and the upstream controller stops sending; each joint in turn."""
    for j, joint in enumerate(rig.robot.joint_names):
        rig.rest()
        rig.driver.restart()
        rig.feed()
        rig.activate()
        rig.mark()
        rig.driver.simulator.faults.scale[j] = -1.0
        rig.driver.feed = nothing
        rig.reach("stopping", seconds=0.1)
        first = len(rig.driver.speeds)
        rig.until(lambda: rig.controller.state == "fault", f"the end, {joint!r} reversed", RELEASE_TIME + STOP_SLACK)
        fast = np.abs(rig.driver.speeds[first:]) > 1.5 * rig.robot.velocity_limit
        if fast.any():
            check_cut(rig, first + int(np.argmax(fast.any(axis=1))), None)
        rig.silent()


@in_a_takeover("released within its configured times plus 0.2 s; zeros, fault")
def gate_drives_off_and_on(rig: Rig) -> None:
    """All drives are off for 0.1 s during a take-over."""
    rig.driver.feed = nothing
    rig.reach("stopping", seconds=0.1)
    rig.driver.simulator.faults.off[:] = True
    rig.run(0.1)
    rig.driver.simulator.faults.off[:] = False
    ends_in_time(rig)


@in_a_takeover("released within its configured times plus 0.2 s; zeros, fault")
def gate_load_and_push(rig: Rig) -> None:
    """An unknown payload, and a hard push, during a take-over."""
    rig.driver.simulator.change_robot(rig.robot.with_payload(Payload(rig.arm.tool, rig.arm.payload)))
    rig.driver.wrenches = {rig.arm.tool: np.array([rig.arm.push, 0.0, 0.0, 0.0, 0.0, 0.0])}
    rig.driver.feed = nothing
    rig.reach("stopping", seconds=0.1)
    ends_in_time(rig)


@in_a_takeover("released within its configured times plus 0.2 s; zeros, fault", before="inactive")
def gate_at_an_end_stop(rig: Rig) -> None:
    """Gravity presses the arm into an end stop, and the upstream controller stops sending."""
    rig.driver.restart(home=pressed(rig.arm, 1e-4))
    rig.feed()
    rig.activate()
    rig.mark()
    rig.driver.feed = nothing
    taken_over(rig)


@in_a_takeover("gravity torque of the last posture, released within its configured times plus 0.2 s; zeros, fault")
def gate_states_lost(rig: Rig) -> None:
    """Joint states and efforts of the upstream controller stop together."""
    rig.driver.falsify, rig.driver.feed = silence, nothing
    taken_over(rig)
    rig.driver.falsify = honest


@in_a_takeover("held until its release: it sinks by no more than 0.1 rad")
def gate_holds(rig: Rig) -> None:
    """The upstream controller stops sending, and the gate holds for a second."""
    rig.change(stop__hold_time=1.0)
    rig.driver.feed = nothing
    rig.reach("stopping", seconds=0.1)
    rig.mark()
    rig.run(0.9)
    deviation, weight = rig.deviation(), gravity_torque(rig.robot, rig.driver.q)
    fastest = float((np.abs(rig.driver.speeds[-round(0.9 * RATE):]) / rig.robot.velocity_limit).max())
    # what the model lacks nobody holds: the arm sinks, damped
    rig.check(deviation < SUNK or (rig.slack > 0.0 and fastest < 0.5), f"the arm has sunk by {deviation:.3f} rad, at "
              f"{fastest:.2f} of its velocity limit")
    rig.check(np.abs(rig.efforts[-1] - weight).max() < 0.05 * rig.arm.limits.max(), "its weight is not held")


@FAULTS.fault("efforts are still passed on", **HERE)
def gate_simulation_set(rig: Rig) -> None:
    """Simulated time is set back by 10 s, then ahead."""
    for by in (-10.0, 10.0):
        rig.driver.stamp += round(by * 1e9)
        rig.run(0.3)
    rig.check("fault" not in rig.passed, "the arm was released")
    rig.run(2.0 / RATE)
    rig.held(HELD)
