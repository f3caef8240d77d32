"""PD plus gravity: the classical regulator that needs no inertia, only what the arm weighs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.checks import every_joint_driven, measured
from rne_dynamics.control.feedback import feedback
from rne_dynamics.control.friction_compensation import FrictionCompensation
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.integral import integrate_error
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.rigid_terms import holding_terms
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.model.friction import JointFriction, joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.model.rebuilt import Rebuilt


@dataclass(frozen=True, eq=False)
class PdGravity(Rebuilt):
    """τ = Kp e + Kd ė + Ki ∫e + g(q) + friction, e = q_d − q.

    Globally stable towards a reference at rest for any positive gains, with gravity taken at the measured
    position (Takegaki and Arimoto 1981). It does not use the desired acceleration, so it lags in motion. On a moving
    base g(q) is as `GravityCompensation` takes it.

    Parameters
    ----------
    robot
        The model; every joint must be driven. Of a mechanism all vectors here hold its actuated joints.
    gains
        In N·m/rad, N·m/(rad·s), N·m·s/rad (or N/m, …): they make torques.
    friction_compensation
        As in `ComputedTorque`.

    Raises
    ------
    ControlError
        A robot with a floating joint, or gains for another number of joints.
    """

    robot: Machine
    gains: Gains
    friction_compensation: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    _friction: JointFriction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every_joint_driven(self.robot, "PD plus gravity")
        self.gains.fit(self.robot.n, "PD plus gravity")
        object.__setattr__(self, "_friction", joint_friction(self.robot))

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The torque for one control cycle; arguments and errors as for `ComputedTorque.law`."""
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        answer = feedback(self.gains, q, qd, reference, integral)
        gravity, passive = holding_terms(self.robot, q, qd, posture, base_motion)
        if self.friction_compensation is None:
            friction = np.zeros(n)
        else:
            friction = self.friction_compensation.torque(self._friction, qd, reference.qd, passive)
        return TorqueTerms(np.zeros(n), np.zeros(n), gravity, friction, answer)

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None = None
    ) -> Array:
        """∫e dt one cycle later, kept from winding up; see `integrate_error`."""
        return integrate_error(self.gains, integral, reference.q - q, dt, saturated)
