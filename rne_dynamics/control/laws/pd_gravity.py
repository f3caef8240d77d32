"""PD plus gravity: the classical regulator, which needs masses but no inertia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rne_dynamics.control.control_law import LawTolerances, MotionDemand, Reference, TorqueTerms
from rne_dynamics.control.felt_inertia import joint_inertia, lowered_everywhere, posture_inertia
from rne_dynamics.control.gains import Gains, critical_delays, lowest_rate
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.parameters import gain_parameters, joint_number, measured
from rne_dynamics.control.tracking_law import FrictionCompensation, TrackingLaw, feedback
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Damping per inertia and stiffness per damping of gains that are chosen, 1/s: a bandwidth of 20 rad/s.
DAMPING, STIFFNESS = 40.0, 10.0
#: Fastest decay that they may make in any posture, 1/s: half of what is stable at `ASSUMED_RATE`.
FASTEST_DECAY = 100.0
#: Part of the critical delay that it tolerates.
CRITICAL_PART = 0.5


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

    gains: Gains = field(metadata=gain_parameters(
        p=joint_number(-1.0, f"Position gain. If negative, the velocity gain times {STIFFNESS:g}/s.",
                       "N m/rad or N/m", -1.0, 1e6),
        i=joint_number(0.0, "Integral gain.", "N m/(rad s) or N/(m s)", 0.0, 1e6),
        d=joint_number(-1.0, "Velocity gain. If negative, it is computed from the inertia that the joint feels: "
                       f"{DAMPING:g}/s, less where that is too much in some posture.", "N m s/rad or N s/m", -1.0, 1e5),
        i_clamp=joint_number(10.0, "Largest effort of the integral term.", "N m or N", 0.0, 1e6),
    ))
    name: ClassVar[str] = "PD plus gravity"
    feedforward: ClassVar[bool] = False
    #: It lags behind accelerations.
    tolerances: ClassVar[LawTolerances] = LawTolerances(goal=0.02)

    @classmethod
    def chosen(cls, robot: RigidRobot, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, with gains for those that are negative."""
        p, d = values["p"], values["d"]
        if (d < 0.0).any():
            wanted = DAMPING * joint_inertia(robot, np.array(robot.neutral)).held
            d = np.where(d < 0.0, lowered_everywhere(posture_inertia(robot), wanted, FASTEST_DECAY), d)
        return {**values, "p": np.where(p < 0.0, STIFFNESS * d, p), "d": d}

    @classmethod
    def tuned(
        cls, robot: RigidRobot, bandwidth: float, integral: float, friction: FrictionCompensation | None, q: Array
    ) -> PdGravity:
        """As of `ComputedTorque`, with the inertia that each joint feels at `q`."""
        inertia = joint_inertia(robot, q).held
        gains = Gains.critically_damped(robot.n, bandwidth)
        return cls(robot, Gains(inertia * gains.p, inertia * (integral * bandwidth**3), inertia * gains.d), friction)

    @cached_property
    def _largest(self) -> Gains:
        """Accelerations that the gains make of the error in the posture in which that is most; of one joint."""
        gains, inverse = self.gains, posture_inertia(self.robot).inverse
        # K e accelerates by M⁻¹ K e: the largest eigenvalue, of the symmetric √K M⁻¹ √K, is the gain per inertia
        return Gains(*(
            np.linalg.eigvalsh(root[:, None] * inverse * root)[:, -1:].max(axis=0)
            for root in np.sqrt((gains.p, gains.i, gains.d))
        ))

    def __reduce__(self) -> tuple[Any, ...]:
        """With what is searched for in many postures: a control loop that receives the law must not wait for that."""
        return *super().__reduce__(), {"_largest": self._largest}

    @cached_property
    def lowest_rate(self) -> float:
        """As of `TrackingLaw`, for the least inertia that these gains meet in any posture."""
        return lowest_rate(self._largest)

    @cached_property
    def tolerated_delay(self) -> float:
        """As of `ControlLaw`: 50 % of the critical one, for the least inertia."""
        gains = self._largest
        return CRITICAL_PART * float(critical_delays(gains.p, gains.i, gains.d).min())

    @property
    def longest_delay(self) -> float:
        """As of `ControlLaw`."""
        return self.tolerated_delay

    @property
    def motion_demand(self) -> MotionDemand:
        """As of `ControlLaw`: of each joint as of the one that is accelerated most."""
        return MotionDemand(self.friction_rows, np.full(self.robot.n, 0.5 * float(self._largest.d[0])))

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
        return TorqueTerms(np.zeros(n), np.zeros(n), gravity, self.friction_torque(aim_qd, passive), answer)


LAW = PdGravity
