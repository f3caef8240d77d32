"""A law and MuJoCo's arm in one loop of 1 kHz without a supervisor: deflections and damping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from support.foreign_plant import Deviation, ForeignArm
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.laws import find_law
from rne_dynamics.model.inertia import Array

ROOT = Path(__file__).resolve().parents[2]
START = {
    "panda": np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6]), "puma560": np.array([0.2, 0.6, -0.9, 0.3, 0.7, 0.2]),
    "ur10": np.array([0.3, -1.1, 1.6, -0.9, -1.2, 0.3]), "four_joint_arm": np.array([0.2, 0.6, -0.9, 0.3]),
}
TIP = {"panda": "panda_link8", "puma560": "tool0", "ur10": "tool0", "four_joint_arm": "tool"}
PERIOD = 1e-3


def text_of(name: str) -> str:
    """The URDF."""
    folder = "examples" if name == "four_joint_arm" else "urdf"
    path = wheel_urdf("ur10_robot.urdf") if name == "ur10" else ROOT / folder / f"{name}.urdf"
    return path.read_text(encoding="utf-8")


class Loop:
    """A law drives MuJoCo's arm, without joint friction and without the delay of a period."""

    def __init__(self, name: str, law: str, given: Mapping[str, Any], start: Array | None = None) -> None:
        urdf = text_of(name)
        self.robot = rne.load_urdf(urdf)
        self.law: Any = find_law(law).law(self.robot, given, None, 1.0 / PERIOD)
        self.start = START[name] if start is None else start
        self.reference = rne.Reference(self.start, np.zeros(self.robot.n), np.zeros(self.robot.n))
        self.arm = ForeignArm(urdf, self.start, PERIOD, Deviation(friction=0.0))
        #: Effort at the joints from outside, (n,).
        self.push = np.zeros(self.robot.n)
        self.q: list[Array] = []
        self.qd: list[Array] = []
        self.efforts: list[Array] = []

    def run(self, seconds: float, reference: Callable[[float], rne.Reference] | None = None) -> Array:
        """Let time pass; returns where the arm then is."""
        for _ in range(round(seconds / PERIOD)):
            state = self.arm.state
            if reference is not None:
                self.reference = reference(state.t)
            effort = self.law.law(state.q, state.qd, self.reference).total
            self.q.append(state.q)
            self.qd.append(state.qd)
            self.efforts.append(effort)
            self.arm.command(effort + self.push)
            self.arm.advance()
        return self.arm.state.q


def ratio_of(place: Array, speed: Array) -> tuple[float, float]:
    """Damping ratio and frequency, rad/s, of y'' + 2 ζ ω y' + ω² y = 0, by least squares over samples."""
    acceleration = (speed[2:] - speed[:-2]) / (2.0 * PERIOD)
    (square, damping), *_ = np.linalg.lstsq(-np.stack([place[1:-1], speed[1:-1]], axis=1), acceleration, rcond=None)
    omega = float(np.sqrt(square))
    return float(damping) / (2.0 * omega), omega
