"""PD plus gravity: the classical regulator, which needs masses but no inertia."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rne_dynamics.control.checks import measured
from rne_dynamics.control.damping_limits import posture_inertia
from rne_dynamics.control.gains import Gains, lowest_rate
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.reference import Reference, TorqueTerms
from rne_dynamics.control.tracking_law import TrackingLaw, feedback
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class PdGravity(TrackingLaw):
    """τ = Kp e + Kd ė + Ki ∫e + g(q) + friction, e = q_d − q.

    Globally stable towards a reference at rest for any positive gains, with gravity taken at the measured
    position (Takegaki and Arimoto 1981). It does not use the desired acceleration, so it lags in motion. On a moving
    base g(q) is as `GravityCompensation` takes it.

    Parameters
    ----------
    robot, friction_compensation
        As for `TrackingLaw`; so are the errors.
    gains
        In N·m/rad, N·m/(rad·s), N·m·s/rad (or N/m, …): they make torques.
    """

    name: ClassVar[str] = "PD plus gravity"

    @cached_property
    def lowest_rate(self) -> float:
        """As of `TrackingLaw`, for the least inertia that these gains meet in any posture."""
        gains, inverse = self.gains, posture_inertia(self.robot).inverse
        # K e accelerates by M⁻¹ K e: the largest eigenvalue, of the symmetric √K M⁻¹ √K, is the gain per inertia
        p, i, d = (
            np.linalg.eigvalsh(root[:, None] * inverse * root)[:, -1:].max(axis=0)
            for root in np.sqrt((gains.p, gains.i, gains.d))
        )
        return lowest_rate(Gains(p, i, d))

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The torque for one control cycle; arguments and errors as for `ComputedTorque.law`."""
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        answer = feedback(self.gains, q, qd, reference, integral)
        aim_qd = measured(reference.qd, n, "reference.qd")
        gravity, passive = holding_terms(self.robot, q, aim_qd, posture, base_motion)
        friction = self.friction_torque(aim_qd, passive)
        return TorqueTerms(np.zeros(n), np.zeros(n), gravity, friction, answer)
