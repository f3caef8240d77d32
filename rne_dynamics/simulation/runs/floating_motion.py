"""Small motions of an arm under gravity compensation that is pushed, linear about a posture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.control.damping_limits import SAFETY, lowered
from rne_dynamics.control.guards.felt_inertia import joint_inertia
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array

#: Step, s.
STEP = 0.02


@dataclass(frozen=True, eq=False)
class FloatingMotion:
    """M q̈ + D q̇ + friction = load, in implicit steps of `STEP`; gravity is compensated.

    v⁺ = `decay` v + `gain` (load − f), in which the Coulomb friction f of each joint holds it or opposes its motion.

    Parameters
    ----------
    decay
        (1 + h M⁻¹D)⁻¹, where D is the law's damping and the viscous friction that it does not compensate; (n, n).
    gain
        decay h M⁻¹, (n, n).
    forward, backward
        Coulomb friction against motion from rest in the positive and the negative direction, N·m or N; (n,).
    sliding
        Fraction of it that the law does not compensate while a joint moves.
    """

    decay: Array
    gain: Array
    forward: Array
    backward: Array
    sliding: float

    @classmethod
    def of(cls, settings: Settings, q: Array, *, friction: bool = True) -> FloatingMotion:
        """Motions about `q`, (n,), of an arm that has joint `friction` or none; raises as `joint_inertia`."""
        robot, law = settings.robot, settings.floating
        compensated = 0.0 if law.friction_compensation is None else law.friction_compensation.scale
        left = 1.0 - compensated
        of_joints, inverse = joint_friction(robot), joint_inertia(robot, q).inverse
        # as the supervisor does: what is compensated a period late is stable
        viscous = of_joints.viscous - lowered(inverse, compensated * of_joints.viscous, settings.assumed_rate / SAFETY)
        damping = law.damping + (viscous if friction else 0.0)
        decay = np.asarray(np.linalg.inv(np.eye(robot.n) + STEP * inverse * damping), dtype=np.float64)
        part = 1.0 if friction else 0.0
        return cls(
            decay, STEP * decay @ inverse, part * of_joints.coulomb_forward, part * of_joints.coulomb_backward, left
        )

    def run(self, qd: Array, loads: Array) -> tuple[Array, Array]:
        """Displacements and velocities after each step; (steps, n) both.

        Parameters
        ----------
        qd
            Velocity at the beginning, rad/s or m/s; (n,).
        loads
            Effort of the pushes on each joint in each step, N·m or N; (steps, n).
        """
        speeds, signs = np.zeros_like(loads), np.sign(qd)
        if not qd.any() and ((-self.backward <= loads) & (loads <= self.forward)).all():
            return speeds, speeds.copy()  # friction holds every joint
        for k, load in enumerate(loads):
            free = self.decay @ qd + self.gain @ load
            qd, signs = self._with_friction(free, signs)
            speeds[k] = qd
        return STEP * np.cumsum(speeds, axis=0), speeds

    def _with_friction(self, free: Array, signs: Array) -> tuple[Array, Array]:
        """Velocities of an arm that would move at `free` without Coulomb friction, and the signs of moving joints.

        A joint is held while that takes no more than its friction. Joints begin to move or are held one at a time,
        beginning with the one that contradicts its state most.
        """
        rubs = (self.forward > 0.0) | (self.backward > 0.0)
        if not rubs.any():
            return free, np.sign(free)
        signs = np.where(rubs, signs, 0.0)
        for _ in range(4 * len(free)):
            held = rubs & (signs == 0.0)
            f = np.where(signs > 0.0, self.forward, -self.backward) * self.sliding * (signs != 0.0)
            v = free - self.gain @ f
            if held.any():
                f[held] = np.linalg.lstsq(self.gain[np.ix_(held, held)], v[held], rcond=None)[0]
                v = free - self.gain @ f
                v[held] = 0.0
            turned = v * signs < 0.0
            if turned.any():
                signs[np.argmax(np.where(turned, np.abs(v), 0.0))] = 0.0
                continue
            excess = np.where(held, np.abs(f) - np.where(f > 0.0, self.forward, self.backward), 0.0)
            j = int(np.argmax(excess))
            if excess[j] <= 1e-9 * abs(f[j]):
                break
            signs[j] = np.sign(f[j])
        return v, np.where(rubs, signs, np.sign(v))
