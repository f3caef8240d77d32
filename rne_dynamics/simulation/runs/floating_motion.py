"""Small motions of an arm under gravity compensation that is pushed, linear about a posture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.control.felt_inertia import joint_inertia, lowered
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import SAFETY
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.stepping.box_lcp import box_lcp

#: Step, s: fine where friction and its compensation decide which of several joints break away, coarse for estimates.
FINE, COARSE = 1e-3, 0.02
#: Added to the diagonal of the gain, as a part of its largest entry.
_SHARED = 1e-9


@dataclass(frozen=True, eq=False)
class FloatingMotion:
    """M q̈ + D q̇ + friction = load, in implicit steps; gravity is compensated.

    v⁺ = `decay` v + `gain` (load − f), in which the friction f of each joint holds it or opposes its motion. The law
    compensates a fraction of it while the joint moves, and only its offset at rest.
    """

    #: h, s.
    step: float
    #: (1 + h M⁻¹D)⁻¹, where D is the law's damping and the viscous friction that it does not compensate; (n, n).
    decay: Array
    #: decay h M⁻¹, (n, n).
    gain: Array
    #: Friction at rest in both directions, what of the offset is not compensated, Stribeck friction, N·m or N, and
    #: 1 / v_s²; (4, n).
    friction: Array
    #: Fraction of it that the law compensates, and 1 / the speed from which on it does so, s/rad or s/m; (n,).
    compensated: float
    steepness: Array

    @classmethod
    def of(cls, settings: Settings, q: Array, *, friction: bool = True, step: float = FINE) -> FloatingMotion:
        """Motions about `q`, (n,), of an arm that has joint `friction` or none; raises as `joint_inertia`."""
        robot, law = settings.robot, settings.floating
        compensation = law.friction_compensation or FrictionCompensation(0.0)
        compensated = compensation.scale
        of_joints, inverse = joint_friction(robot), joint_inertia(robot, q).inverse
        # as the supervisor does: what is compensated a period late is stable
        viscous = of_joints.viscous - lowered(inverse, compensated * of_joints.viscous, settings.assumed_rate / SAFETY)
        damping = law.damping + (viscous if friction else 0.0)
        decay = np.asarray(np.linalg.inv(np.eye(robot.n) + step * inverse * damping), dtype=np.float64)
        *_, stribeck, fading = of_joints.rows
        rubs = np.array([of_joints.coulomb + stribeck, (1.0 - compensated) * of_joints.offset, stribeck, fading])
        return cls(
            step, decay, step * decay @ inverse, rubs if friction else 0.0 * rubs, compensated,
            compensation.steepness(of_joints),
        )  # fmt: skip

    def run(self, qd: Array, loads: Array) -> tuple[Array, Array]:
        """Displacements and velocities after each step from `qd`, (n,), under `loads`, N·m or N; (steps, n) all."""
        speeds = np.zeros_like(loads)
        level, offset, stribeck, fading = self.friction
        # motors that work against each other share what is left undetermined
        shared = self.gain + _SHARED * np.abs(self.gain).max() * np.eye(len(qd))
        if not qd.any() and (np.abs(loads - offset) <= level).all():
            return speeds, speeds.copy()  # friction holds every joint
        for k, load in enumerate(loads):
            left = 1.0 - self.compensated * np.minimum(np.abs(qd) * self.steepness, 1.0)
            left = left * (level + stribeck * np.expm1(-fading * qd * qd))
            free, friction, qd = self.decay @ qd + self.gain @ load, np.empty_like(qd), np.empty_like(qd)
            box_lcp(shared, free, -offset - left, left - offset, friction, qd, np.empty(len(qd), dtype=np.int64))
            speeds[k] = qd
        return self.step * np.cumsum(speeds, axis=0), speeds
