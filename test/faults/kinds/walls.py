"""Faults of position limits: gravity presses the arm into a soft wall or an end stop, and it is stopped."""

from __future__ import annotations

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION, Arm
from faults.drive_faults import felt_inertia
from faults.fault import Faults
from faults.rig import Rig
from faults.robots import ROBOTS
from lifecycle_msgs.msg import Transition

from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.inertia import Array

FAULTS = Faults("wall")
fault = FAULTS.fault

BOTH = {"arms": ("puma560", *(name for name in ROBOTS if name != "puma560")),
        "nodes": (COMPUTED_TORQUE, GRAVITY_COMPENSATION)}
#: Second joint of the PUMA 560 in the wall before its lower limit, rad.
PUMA_SHOULDER = -0.66
#: How deep in the soft wall, as a part of its depth, other arms are.
DEEP = 0.9
#: Natural frequency of an end stop that yields, 1/s.
STOP_FREQUENCY = 60.0
#: Long enough for an arm next to a wall to fall into it while its support fades, s.
FADE = 0.6
ENDS = "the stop ends in its times and 0.2 s: zeros, released"


def pressed(arm: Arm, from_limit: float) -> Array:
    """A posture in which gravity presses a joint towards its limit, `from_limit` away from it, rad; (n,)."""
    robot, best, most = arm.robot, np.array(arm.home), -1.0
    for j in np.flatnonzero(np.isfinite(robot.lower) & np.isfinite(robot.upper)):
        for limit, way in ((robot.lower[j], -1.0), (robot.upper[j], 1.0)):
            q = np.array(arm.home)
            q[j] = limit - way * from_limit
            outwards = -way * gravity_torque(robot, q)[j] / arm.limits[j]
            if outwards > most:
                best, most = q, outwards
    return best


@fault(ENDS, before="inactive", stop__ramp_time=FADE, **BOTH)
def gravity_into_a_wall(rig: Rig) -> None:
    """Gravity presses a joint into a soft wall, and ~/stop is called."""
    home = pressed(rig.arm, (1.0 - DEEP) * rig.arm.margin)
    if rig.arm.name == "puma560":
        home = np.array(rig.arm.home)
        home[:] = 0.0
        home[1] = PUMA_SHOULDER
    _stopped(rig, home)


@fault(ENDS, before="inactive", stop__ramp_time=FADE, **BOTH)
def compliant_end_stop(rig: Rig) -> None:
    """Gravity presses a joint into an end stop that yields, with no soft wall before it, and ~/stop is called."""
    rig.accepted(rig.change(**{f"limits__{joint}__position_margin": 0.0 for joint in rig.robot.joint_names}))
    home = pressed(rig.arm, 1e-4)
    _stopped(rig, home, STOP_FREQUENCY**2 * felt_inertia(rig.robot, home))


def _stopped(rig: Rig, home: Array, stiffness: Array | None = None) -> None:
    rig.driver.restart(home=home, stop_stiffness=stiffness)
    rig.activate()
    rig.run(0.5)
    rig.mark()
    rig.stops(ramp_time=FADE)
    rig.run(0.3)
    rig.silent()
    rig.transition(Transition.TRANSITION_DEACTIVATE)
