"""MuJoCo's arms of the example-robot-data wheel, stepped in this process, with efforts that act late."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import deque
from typing import NamedTuple

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is the oracle: pip install '.[test]'")

import mujoco
import numpy as np

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.prediction import Predictor
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

from .wheel import wheel_urdf

PERIOD = 1_000_000  # ns
SUBSTEPS = 2


class Case(NamedTuple):
    """A URDF of the wheel, joints that are locked, and a move."""

    urdf: str
    locked: tuple[str, ...]
    start: tuple[float, ...]
    end: tuple[float, ...]


CASES = {
    "ur5": Case("ur5_robot.urdf", (), (0.0, -1.2, 1.4, -1.0, -1.2, 0.3), (0.9, -0.5, 0.6, -1.8, -0.4, 1.2)),
    "panda": Case(
        "panda.urdf", ("panda_finger_joint1",),
        (0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8), (0.8, 0.2, -0.6, -1.4, 0.7, 2.3, -0.2),
    ),
}


def our_model(case: Case) -> RobotModel:
    """The arm as this package reads it."""
    return rne.load_urdf(wheel_urdf(case.urdf), lock=dict.fromkeys(case.locked, 0.0))


def their_model(case: Case) -> mujoco.MjModel:
    """The arm as MuJoCo reads it, without shapes, with a motor on every joint."""
    root = ET.parse(wheel_urdf(case.urdf)).getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for joint in root.iter("joint"):
        mimic = joint.find("mimic")
        if (joint.get("name") if mimic is None else mimic.get("joint")) in case.locked:
            joint.set("type", "fixed")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.timestep = 1e-9 * PERIOD / SUBSTEPS
    for joint in spec.joints:
        spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    return spec.compile()


def law_of(robot: RobotModel, bandwidth: float) -> ComputedTorque:
    """A law with the poles of all joints at −`bandwidth`, 1/s."""
    gains = Gains(np.full(robot.n, bandwidth**2), np.zeros(1), np.full(robot.n, 2.0 * bandwidth))
    return ComputedTorque(robot, gains, FrictionCompensation())


def follow(
    case: Case, late: int, compensated: float, *, seconds: float = 2.0, bandwidth: float = 40.0,
    law: ComputedTorque | None = None, offset: float = 0.0,
) -> Array:
    """Follow a quintic; the error of the position at each period, rad, shape (periods, n).

    Parameters
    ----------
    case
        The arm.
    late
        Periods of 1 ms from a state until its effort acts.
    compensated
        Delay that the law believes in, s; 0 for none.
    seconds, bandwidth
        Of the move, and of the law where `law` is None.
    offset
        How far from the reference the arm starts, rad.
    """
    model = their_model(case)
    data = mujoco.MjData(model)
    data.qpos[:] = np.array(case.start) + offset
    law = law or law_of(our_model(case), bandwidth)
    predictor = Predictor(law, compensated) if compensated > 0.0 else None
    move, errors = Quintic(np.array(case.start), np.array(case.end), seconds), []
    holding = rne.gravity_torque(law.robot, data.qpos.copy())  # type: ignore[arg-type]
    under_way = deque([holding] * late)
    for k in range(round(1.3 * seconds * 1e9 / PERIOD)):
        stamp, q, qd = k * PERIOD, data.qpos.copy(), data.qvel.copy()
        if not np.isfinite(q).all() or np.abs(qd).max() > 100.0:
            return np.full((1, len(q)), np.inf)
        now = move.sample(1e-9 * stamp)
        errors.append(now.q - q)
        if predictor is not None:
            q, qd = predictor.predict(q, qd, stamp, stamp, now.qd)
            now = move.sample(1e-9 * (stamp + predictor.ahead))
        effort = law.law(q, qd, now).total
        if predictor is not None:
            predictor.note(stamp, effort)
        under_way.append(effort)
        data.ctrl[:] = under_way.popleft()
        mujoco.mj_step(model, data, nstep=SUBSTEPS)
    return np.array(errors)
