"""Gravity compensation with damping, for hand guiding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.parameters import frozen_vector, measured
from rne_dynamics.control.tracking_law import CompensatesFriction, FrictionCompensation
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.mechanism import RigidRobot


@dataclass(frozen=True, eq=False)
class GravityCompensation(CompensatesFriction):
    """τ = g(q) − D q̇ + friction.

    On a moving base whose motion is known, g(q) holds the joints still on it: with gravity turned into its axes, its
    linear and angular acceleration and its centrifugal forces.

    With the friction's `scale` at most 1 the motors never put energy into the motion beyond what gravity and
    friction take, so the arm does not drift off by itself.

    Parameters
    ----------
    robot
        The model; every joint must be driven. Of a mechanism all vectors here hold its actuated joints.
    damping
        D, N·m·s/rad or N·s/m, not negative; one number or shape (n,).
    friction_compensation
        Takes the measured velocity for both parts: the hand's intention is unknown.
    viscous_part
        Fraction of the viscous part that is compensated, 0 to 1; one number or shape (n,). With 1 a control loop, which
        measures a period late, makes a light link with much friction oscillate: `Supervisor` lowers it there.

    Raises
    ------
    ControlError
        A robot with a floating joint, a negative or non-finite damping, a part outside [0, 1].
    """

    robot: RigidRobot
    damping: Array
    friction_compensation: FrictionCompensation | None = None
    viscous_part: Array | float = 1.0
    name: ClassVar[str] = "gravity compensation"

    def __post_init__(self) -> None:
        super().__post_init__()
        damping = frozen_vector(self.damping, self.robot.n, "damping", lowest=0.0, names=self.robot.joint_names)
        part = frozen_vector(
            self.viscous_part, self.robot.n, "viscous part", lowest=0.0, highest=1.0, names=self.robot.joint_names
        )
        friction = self._friction._replace(viscous=part * self._friction.viscous)
        set_fields(self, damping=damping, viscous_part=part, _friction=friction)

    def law(
        self, q: Array, qd: Array, reference: Reference | None = None, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The torque for one control cycle.

        Parameters
        ----------
        q, qd
            Measured position and velocity; shape (n,).
        reference, integral
            Not used: taken so that `simulate` runs this law too.
        posture, base_motion
            As for `ComputedTorque.law`.

        Raises
        ------
        ControlError, ArgumentError, AssemblyError, SingularPostureError
            As for `ComputedTorque.law`.
        """
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        gravity, passive = holding_terms(self.robot, q, qd, posture, base_motion)
        friction = self.friction_torque(qd, self.viscous_part * passive)
        return TorqueTerms(np.zeros(n), np.zeros(n), gravity, friction, -self.damping * qd)
