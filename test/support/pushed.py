"""MuJoCo's arm with other masses that follows random motions under the controller's model, observed for contact."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support.foreign_plant import Deviation, ForeignArm
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.contact_watch import ContactSettings, ContactWatch

DT = 1e-3
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """What a run has shown."""

    alarms: int
    pushes: int
    #: Time from each push that was felt until then, s.
    delays: list[float]


def described(name: str) -> tuple[str, str]:
    """URDF of an arm, and the link that is pushed."""
    if name == "ur10":
        return wheel_urdf("ur10_robot.urdf").read_text(encoding="utf-8"), "wrist_3_link"
    return (ROOT / "urdf" / f"{name}.urdf").read_text(encoding="utf-8"), "panda_link7"


def watched(name: str, seed: int, seconds: float, *, pushes: bool, error: float = 0.05) -> Outcome:
    """Let an arm move for a time with relative errors of the masses; with `pushes` of 20 N in random directions."""
    rng, (text, link) = np.random.default_rng(seed), described(name)
    robot = rne.load_urdf(text)
    n = robot.n
    count = len(list(ET.fromstring(text).iter("link")))
    middle = 0.5 * (np.maximum(robot.lower, -2.5) + np.minimum(robot.upper, 2.5))
    span = 0.35 * (np.minimum(robot.upper, 2.5) - np.maximum(robot.lower, -2.5))
    arm = ForeignArm(text, middle, DT, Deviation(mass=tuple(rng.uniform(1.0 - error, 1.0 + error, count))))
    law: Any = rne.ComputedTorque(robot, rne.Gains(np.full(n, 400.0), np.zeros(n), np.full(n, 40.0)))
    watch = ContactWatch(ContactSettings(rne.MomentumObserver(robot), 0.01 * robot.effort_limit))
    outcome, t, goal, effort = Outcome(0, 0, []), 0.0, middle, np.zeros(n)
    move, ends = rne.Quintic(middle, middle, 0.1), 0.1
    push_at, pushed, wrench = (0.7 if pushes else np.inf), 0.0, {}
    for k in range(round(seconds / DT)):
        t, state = k * DT, arm.state
        if t >= ends:
            begin, goal = goal, middle + span * rng.uniform(-1.0, 1.0, n)
            need = 1.9 * np.abs(goal - begin) / (0.8 * robot.velocity_limit)
            duration = max(float(need.max()), 0.5)
            move, start, ends = rne.Quintic(begin, goal, duration), t, t + duration
        else:
            start = ends - move.duration
        aim = move.sample(t - start)
        began = watch.take(round(1e9 * t) + 1, state.q, state.qd, effort, aim.qdd)
        if began and wrench and t - pushed < 0.1:
            outcome.delays.append(t - pushed)
        elif began:
            outcome.alarms += 1
        if wrench and t - pushed >= 0.1:
            wrench, push_at = {}, t + 0.7
        if t >= push_at and not wrench and watch.joint < 0:
            direction = rng.normal(size=3)
            wrench = {link: np.concatenate([20.0 * direction / np.linalg.norm(direction), np.zeros(3)])}
            outcome.pushes, pushed = outcome.pushes + 1, t
        effort = law.law(state.q, state.qd, aim).total
        effort = np.clip(effort, -robot.effort_limit, robot.effort_limit)
        arm.command(effort)
        arm.advance(1, wrench)
    return outcome
