"""Faults of people around the arm: loads picked up and lost, and a hand that pushes hard."""

from __future__ import annotations

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from faults.driver import COMMAND_TIMEOUT, RATE
from faults.fault import Faults
from faults.law_promise import yields
from faults.rig import HELD, Rig
from faults.robots import ROBOTS

from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import Payload

FAULTS = Faults("hand")
fault = FAULTS.fault

ARMS = ("panda", "small", "puma560", "ur10")
assert set(ARMS) == set(ROBOTS)
#: Speed of an arm at rest, rad/s, and the time that a floating one may take to come to rest, s: stretched, the Panda's
#: first joint slows down with a time constant of up to 10 s, because the damping is that for the inertia felt at home.
REST, RESTING = 0.1, 40.0
#: Speed at which a hand pushes no more, m/s: it goes no faster.
HAND = 1.5


@fault("held, sunk as far as the feedback allows; back when the load is lost. Displaced further than "
       "`holding_error` the arm yields, no faster than its limits", arms=ARMS)
def load_picked_up_and_lost(rig: Rig) -> None:
    """An unknown load is picked up, and lost a second later."""
    arm = rig.arm
    loaded = rig.robot.with_payload(Payload(arm.tool, arm.payload))
    simulator, place, first = rig.driver.simulator, rig.driver.q, len(rig.driver.speeds)
    sunk = yields(rig.law, place, loaded)
    simulator.change_robot(loaded)
    rig.run(1.0)
    rig.check(rig.controller.state == "holding", "the arm is not held")
    simulator.change_robot(rig.robot)
    rig.run(1.0)
    rig.check(rig.controller.state == "holding", "the arm is not held")
    away = float(np.abs(rig.driver.q - place).max())
    rig.check(away < HELD or sunk > HELD, f"the arm is {away:.3f} rad away from where it was held")
    fast = np.abs(rig.driver.speeds[first:]) > rig.robot.velocity_limit
    rig.check(not fast.any(), f"a joint was faster than its limit: {fast.any(axis=0).tolist()}")


def push(rig: Rig, way: Array, seconds: float) -> None:
    """A hand pushes the tool in a direction of the world, a unit vector (3,); the less, the faster that goes there."""
    for _ in range(round(seconds * RATE)):
        q, tool = rig.driver.q, rig.arm.tool
        speed = float(way @ jacobian(rig.robot, q, tool)[:3] @ rig.driver.qd)
        force = rig.arm.push * min(max(1.0 - speed / HAND, 0.0), 1.0) * way
        rotation = forward_kinematics(rig.robot, q)[tool][:3, :3]
        rig.driver.wrenches = {tool: np.concatenate((rotation.T @ force, np.zeros(3)))}
        rig.turn()
    rig.driver.wrenches = {}


@fault("held again at rest, or stopped for overspeed: zeros, fault. An arm that floats does so again at rest",
       arms=ARMS, nodes=(COMPUTED_TORQUE, GRAVITY_COMPENSATION))
def hand_pushes_hard(rig: Rig) -> None:
    """A hand pushes the tool hard for 0.3 s, along each axis in turn."""
    for axis in range(3):
        push(rig, np.eye(3)[axis], 0.3)
        rig.until(
            lambda: rig.controller.state == "fault"
            or (rig.controller.state == rig.steady and bool(np.abs(rig.driver.qd).max() < REST)),
            "an arm at rest, held, floating or released", seconds=RESTING,
        )
        if rig.controller.state == "fault":
            rig.check(rig.module != GRAVITY_COMPENSATION, "a hand's push is a fault of an arm that floats")
            rig.silent()
            rig.run(2.0 * COMMAND_TIMEOUT)  # until the brakes hold it
            rig.recover()
    rig.run(0.2)
    rig.check(rig.controller.state in (rig.steady, "fault"), "the arm is neither held nor released")


@fault("guided on: the motors resist a joint near its velocity limit, and the arm floats again at rest", arms=ARMS)
def guided_arm_pushed_hard(rig: Rig) -> None:
    """A hand that guides the arm pushes the tool hard for 0.5 s, to and fro along each axis in turn."""
    rig.accepted(rig.hand_guide(True))
    rig.reach("floating")
    for way in (*np.eye(3), *-np.eye(3)):
        push(rig, way, 0.5)
        rig.until(lambda: np.abs(rig.driver.qd).max() < REST, "an arm at rest", seconds=RESTING)
        rig.check(rig.controller.state == "floating", "the arm does not float any more")
    rig.hand_guide(False)
    rig.stays(0.3)
