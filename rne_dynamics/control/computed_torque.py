"""Computed torque: the feedback acts inside the inverse dynamics, so every error obeys the same linear equation."""

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
from rne_dynamics.control.rigid_terms import rigid_terms
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.model.friction import JointFriction, joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.model.rebuilt import Rebuilt


@dataclass(frozen=True, eq=False)
class ComputedTorque(Rebuilt):
    """τ = M(q)(q̈_d + Kd ė + Kp e + Ki ∫e) + c(q, q̇) + g(q) + friction, e = q_d − q.

    On an arm equal to the model the error follows ë + Kd ė + Kp e + Ki ∫e = 0, joint by joint.

    Parameters
    ----------
    robot
        The model; every joint must be driven. Of a mechanism all vectors here hold its actuated joints.
    gains
        In 1/s², 1/s³, 1/s (they make accelerations).
    friction_compensation
        None leaves friction to the feedback. The viscous part follows the measured velocity, which keeps the error
        equation linear; the Coulomb part the desired one.

    Raises
    ------
    ControlError
        A robot with a floating joint, or gains for another number of joints.
    """

    robot: Machine
    gains: Gains
    friction_compensation: FrictionCompensation | None = None
    _friction: JointFriction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every_joint_driven(self.robot, "computed torque")
        self.gains.fit(self.robot.n, "computed torque")
        object.__setattr__(self, "_friction", joint_friction(self.robot))

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *, posture: Array | None = None
    ) -> TorqueTerms:
        """The torque for one control cycle.

        Parameters
        ----------
        q, qd
            Measured position and velocity; shape (n,).
        reference
            Desired motion.
        integral
            ∫e dt from `integrate_error`, shape (n,); None leaves the integral part out.
        posture
            Of a mechanism, positions of all joints of its tree near `q`, shape (nq of the tree,), from where its loops
            are assembled: a loop hands in what it last had. None starts from the mechanism's own posture, which takes
            longer and always ends on that posture's branch. Not used for an open arm.

        Raises
        ------
        ControlError
            A wrong shape. NaN is not looked for here: it makes the torque NaN, which `EffortLimiter` refuses.
        AssemblyError, SingularPostureError
            Of a mechanism: a measured position where its loops do not close, or where the motors do not hold it.
        """
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        desired = measured(reference.qdd, n, "reference.qdd")
        correction = feedback(self.gains, q, qd, reference, integral)
        inertia, coriolis, gravity, answer, passive = rigid_terms(self.robot, q, qd, desired, correction, posture)
        if self.friction_compensation is None:
            friction = np.zeros(n)
        else:
            friction = self.friction_compensation.torque(self._friction, qd, reference.qd, passive)
        return TorqueTerms(inertia, coriolis, gravity, friction, answer)

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None = None
    ) -> Array:
        """∫e dt one cycle later, kept from winding up; see `integrate_error`."""
        return integrate_error(self.gains, integral, reference.q - q, dt, saturated)
