"""Faults of people around the arm: loads picked up and lost, and a hand that pushes hard."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from rne_dynamics.ros.faults.driver import COMMAND_TIMEOUT
from rne_dynamics.ros.faults.fault import Faults
from rne_dynamics.ros.faults.rig import Rig
from rne_dynamics.ros.faults.robots import ROBOTS

FAULTS = Faults("hand")
fault = FAULTS.fault

ARMS = ("panda", "small", "puma560", "ur10")
assert set(ARMS) == set(ROBOTS)
#: Speed of an arm at rest, rad/s.
REST = 0.1


@fault("held, lower by what the feedback lets it sink; back where the load is lost", arms=ARMS)
def load_picked_up_and_lost(rig: Rig) -> None:
    """A load that nobody was told of is picked up, and lost a second later."""
    arm = rig.arm
    load = Payload(arm.tool, arm.payload, (0.0, 0.0, 0.0), ((0.0, 0.0, 0.0),) * 3)
    simulator = rig.driver.simulator
    place = rig.driver.q
    simulator.change_robot(with_payload(rig.robot, load))
    rig.run(1.0)
    rig.check(rig.controller.state == "holding", "the arm is not held")
    simulator.change_robot(rig.robot)
    rig.run(1.0)
    rig.check(rig.controller.state == "holding", "the arm is not held")
    away = float(np.abs(rig.driver.q - place).max())
    rig.check(away < 0.05, f"the arm is {away:.3f} rad away from where it was held")


@fault("held or floating again at rest, or stopped for overspeed: zeros, fault", arms=ARMS,
       nodes=(COMPUTED_TORQUE, GRAVITY_COMPENSATION))
def hand_pushes_hard(rig: Rig) -> None:
    """A hand pushes the tool hard for 0.3 s, along each axis in turn."""
    for axis in range(3):
        wrench = np.zeros(6)
        wrench[axis] = rig.arm.push
        rig.driver.wrenches = {rig.arm.tool: wrench}
        rig.run(0.3)
        rig.driver.wrenches = {}
        rig.until(
            lambda: rig.controller.state == "fault"
            or (rig.controller.state == rig.steady and bool(np.abs(rig.driver.qd).max() < REST)),
            "an arm at rest, held, floating or released", seconds=6.0,
        )
        if rig.controller.state == "fault":
            rig.silent()
            rig.run(2.0 * COMMAND_TIMEOUT)  # until the brakes hold it
            rig.recover()
    rig.run(0.2)
    rig.check(rig.controller.state in (rig.steady, "fault"), "the arm is neither held nor released")
