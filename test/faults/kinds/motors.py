"""Faults of motors: reversed, scaled, exchanged."""

from __future__ import annotations

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from faults.driver import RATE
from faults.fault import Faults
from faults.rig import SETTLE, Rig
from faults.robots import ROBOTS
from lifecycle_msgs.msg import Transition

from rne_dynamics.errors import RneDynamicsError

FAULTS = Faults("motor")
fault = FAULTS.fault

EVERYWHERE = {"arms": ("puma560", "small", "panda", "ur10"), "nodes": (COMPUTED_TORQUE, GRAVITY_COMPENSATION)}
assert set(EVERYWHERE["arms"]) == set(ROBOTS)
#: Longest time until a runaway, s; without one by then the arm counts as held.
RUNAWAY = 2.5
#: Longest times after a detection for which an effort may add energy, and be non-zero while the speed grows, s.
ADDING, GROWING = 0.020, 0.100
#: The promised reaction.
CUT = (
    "a runaway is cut: after its detection no effort adds energy for more than 20 ms plus its ramp to zero at its "
    "rate; zero within 100 ms while speed grows"
)
#: Fraction of the effort limit below which an effort counts as zero.
NOTHING = 1e-6
#: Time of observation, s: later the joint may fall under its own weight.
WATCHED = 0.6


@fault(CUT, before="inactive", **EVERYWHERE)
def motor_reversed(rig: Rig) -> None:
    """A motor is reversed from the start on; each one in turn."""
    for j, joint in enumerate(rig.robot.joint_names):
        _try(rig, f"the motor of {joint!r} is reversed", scale={j: -1.0})


@fault(CUT, before="inactive", **EVERYWHERE)
def motor_scaled(rig: Rig) -> None:
    """A motor gives 0.5 or 2 times its effort; each one in turn."""
    for j, joint in enumerate(rig.robot.joint_names):
        for factor in (0.5, 2.0):
            _try(rig, f"the motor of {joint!r} gives {factor:g} times its effort", scale={j: factor})


@fault(CUT, before="inactive", **EVERYWHERE)
def motors_swapped(rig: Rig) -> None:
    """Two motors are exchanged; each neighbouring pair in turn."""
    for j, (one, other) in enumerate(zip(rig.robot.joint_names, rig.robot.joint_names[1:], strict=False)):
        _try(rig, f"the motors of {one!r} and {other!r} are exchanged", swap=j)


def _try(rig: Rig, what: str, scale: dict[int, float] | None = None, swap: int | None = None) -> None:
    """Start the controller with the fault in force; check its reaction to a runaway."""
    rig.rest()
    rig.driver.restart()
    faults = rig.driver.simulator.faults
    for j, factor in (scale or {}).items():
        faults.scale[j] = factor
    if swap is not None:
        faults.order[[swap, swap + 1]] = faults.order[[swap + 1, swap]]
    rig.mark()
    rig.transition(Transition.TRANSITION_ACTIVATE)
    rig.run(SETTLE)
    deadline = rig.driver.time + RUNAWAY
    while not _detected(rig) and rig.driver.time < deadline:
        rig.turn()
    if _detected(rig):
        first = len(rig.driver.speeds) - 1
        rig.run(WATCHED)
        try:
            check_cut(rig, first, swap)
        except RneDynamicsError as error:
            raise type(error)(f"{what}: {error}") from None
        rig.reach("fault", "released", "inactive", seconds=3.0)
        rig.silent()


def _detected(rig: Rig) -> bool:
    return rig.controller.state in ("stopping", "fault")


def check_cut(rig: Rig, first: int, swap: int | None) -> None:
    """Check efforts and speeds after the detection in turn `first`; motors `swap` and the next one are exchanged."""
    rate = np.array(rig.arm.promised.rate)
    if swap is not None:  # each is driven at the rate of the other
        rate[swap : swap + 2] = rate[swap : swap + 2].min()
    speeds, given = np.array(rig.driver.speeds[first:]), np.array(rig.driver.motor_efforts[first:])
    limit, names = rig.robot.velocity_limit, rig.robot.joint_names
    fast = np.abs(speeds) > limit
    adding = (given * speeds > 0.0) & fast & (np.abs(given) > NOTHING * rig.arm.limits)
    for j in np.flatnonzero(adding.any(axis=0)):
        longest = _longest(adding[:, j])
        # time of the ramp to zero at its rate; at the detection one answer is still under way
        fading = np.abs(given[:2, j]).max() / rate[j]
        rig.check(
            longest <= ADDING + fading,
            f"the effort of {names[j]!r} adds energy for {1e3 * longest:.0f} ms, up to "
            f"{np.abs(given[adding[:, j], j]).max():.3g} N m at {np.abs(speeds[:, j]).max():.3g} rad/s",
        )
    growing = np.abs(speeds) > np.maximum(np.abs(speeds[0]), limit)
    pushing = growing & (np.abs(given) > NOTHING * rig.arm.limits)
    for j in np.flatnonzero(pushing.any(axis=0)):
        longest = _longest(pushing[:, j])
        rig.check(
            longest <= GROWING,
            f"{names[j]!r} moves at up to {np.abs(speeds[:, j]).max():.3g} rad/s, faster than at the detection, for "
            f"{1e3 * longest:.0f} ms, and its effort is not zero",
        )


def _longest(flags: np.ndarray) -> float:
    """Longest time for which they are set, s."""
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest / RATE
