"""Real arms' parameter files: with each motor reversed in turn, an arm that runs away is cut."""

from __future__ import annotations

import numpy as np
import pytest
from support.hardware_files import ARMS, POSTURES, sections
from support.supervised import Rig
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.supervision.output import CUT
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, SILENT
from rne_dynamics.control.thresholds import OVERSPEED
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.parameters.controller import controller_settings
from rne_dynamics.ros.parameters.files import JOINT, Values, per_joint
from rne_dynamics.ros.parameters.table import COMMON
from rne_dynamics.ros.parameters.tracking import SCHEMA

#: Below this part of a joint's largest power a motor does not count as driving the joint.
NEGLIGIBLE = 0.02
PERIOD = 1e-3


def file_settings(name: str) -> tuple[RobotModel, Settings, Array]:
    """The simulated arm, what the file's parameters make of it, and where it starts."""
    named, urdf, joints = ARMS[name]
    text = wheel_urdf(urdf).read_text(encoding="utf-8")
    for ours, theirs in zip(named, joints, strict=True):
        text = text.replace(f'"{theirs}"', f'"{ours}"')
    locked = dict.fromkeys(set(rne.load_urdf(text).joint_names) - set(named), 0.0)
    robot = rne.load_urdf(text, lock=locked)
    given = sections(name)["computed_torque_controller"]
    values: Values = {
        key: p.parse(key, given.get(key, p.default))
        for p in (*COMMON, *SCHEMA) for key in (p.name.replace(JOINT, joint) for joint in named)
    }
    columns = [np.array(per_joint(values, f"gains.{{joint}}.{k}", named)) for k in ("p", "i", "d", "i_clamp")]
    law = ComputedTorque(robot, Gains(*columns, tuple(named)))
    made = controller_settings(robot, values, law=law, damping="hand_guiding.{joint}.damping")
    return robot, made, np.array(POSTURES[urdf])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["franka", "ur"])
def test_no_reversed_motor_is_driven_on(name):
    robot, made, start = file_settings(name)
    limits = made.limits
    floor = NEGLIGIBLE * limits.effort * limits.velocity
    # a driver that limits the rate itself may need longer from full effort to zero
    allowed = max(CUT, float(np.max(limits.effort / limits.rate))) + 2.0 * PERIOD
    ran_away = 0
    # an arm that compensates its weight by itself moves under our efforts as if it had none
    moved = robot.with_gravity(np.zeros(3)) if "gravity" in made.compensated else robot
    for j in range(robot.n):
        sign = np.where(np.arange(robot.n) == j, -1.0, 1.0)
        rig = Rig(robot, start, made, period=PERIOD, real=moved)
        rig.motors = lambda command, sign=sign: sign * command
        driven, worst = np.zeros(robot.n), 0.0
        for _ in range(60):
            rig.run(0.05)
            if rig.supervisor.mode in DRIVING and not rig.supervisor.queue.moving:
                try:
                    rig.move(rig.supervisor.queue.reference.q + 0.1, 1.0)
                except RneDynamicsError:
                    continue  # the start-up check has found it, or is under way
            if rig.supervisor.mode in SILENT:
                break
        speeds, power = np.array(rig.speeds), np.array(rig.power)
        fast = (np.abs(speeds) > OVERSPEED * limits.velocity).any(axis=1)
        if not fast.any():
            continue
        ran_away += 1
        for k in range(int(np.argmax(fast)), len(speeds)):
            drives = (power[k] > floor) & (np.abs(speeds[k]) > 0.1 * limits.velocity)
            driven = np.where(drives, driven + PERIOD, 0.0)
            worst = max(worst, float(driven.max()))
        assert worst <= allowed, f"{name}, joint {j}: driven on for {worst:.3f} s"
        assert not rig.sent[-1].any()
        rig.check()
    assert ran_away or made.check.duration > 0.0, "without a start-up check some joint runs away"
