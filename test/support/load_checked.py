"""Arms at their start-up check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.supervision.load_check import LoadCheck
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.friction import joint_friction

#: A millisecond, ns.
MS = 1_000_000
#: Tolerance as a fraction of the effort limit.
SHARE = 0.05
#: Random postures a test.
STATES = 40
#: A posture of a UR5.
STRETCHED = np.array([0.3, -0.7, 0.9, 0.4, 0.8, 0.2])


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm of the wheel with the settings of its check."""

    robot: rne.RobotModel
    tolerance: np.ndarray
    coulomb: np.ndarray

    def postures(self, seed: int, count: int = STATES) -> Iterator[tuple[np.ndarray, np.random.Generator]]:
        """Random postures, each with the generator for the rest of that trial."""
        for k in range(count):
            rng = np.random.default_rng([seed, k])
            yield random_configuration(self.robot, rng), rng

    def loaded_joint(self, gravity: np.ndarray, rng: np.random.Generator) -> int:
        """A joint whose gravity is well beyond what is allowed, or −1."""
        heavy = np.flatnonzero(np.abs(gravity) > 2.5 * (self.tolerance + self.coulomb))
        return int(rng.choice(heavy)) if len(heavy) else -1


@cache
def arm(name: str) -> Arm:
    robot = rne.load_urdf(wheel_urdf(name))
    friction = joint_friction(robot)
    return Arm(robot, SHARE * robot.effort_limit, np.maximum(friction.coulomb_forward, friction.coulomb_backward))


def held(check: LoadCheck, q, effort, states: int = 11, step: int = 100 * MS, noise=0.0, rng=None):
    """The verdict after an arm stood still at q."""
    for k in range(states):
        shown = effort if rng is None else effort + noise * rng.normal(size=len(effort))
        check.add(k * step, np.array(q), np.zeros(len(q)), shown)
    assert check.finished
    return check.verdict()
