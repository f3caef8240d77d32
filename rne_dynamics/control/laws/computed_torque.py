"""Computed torque: feedback inside the inverse dynamics, so that every error obeys the same linear equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import in_python
from rne_dynamics.control.control_law import MotionDemand, Reference, TorqueTerms
from rne_dynamics.control.gains import Gains, check_gains
from rne_dynamics.control.model_terms import OwnTerms, closed_terms, own_terms, rigid_terms
from rne_dynamics.control.parameters import gain_parameters, joint_number
from rne_dynamics.control.tracking_law import (
    FrictionCompensation,
    KernelLaw,
    TrackingLaw,
    feedback,
    feedback_kernel,
    joint_compensation,
)
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, arm_of
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.mechanism import Mechanism, RigidRobot

#: Rows of `ComputedTorque.table`: gains; `JointFriction.rows`; scale and 1 / threshold of `FrictionCompensation`;
#: effort of the viscous friction for an error of 1, `viscous_gain`.
(
    GAIN_P, GAIN_D, GAIN_I, VISCOUS, FORWARD, BACKWARD, STRIBECK, FADING, SCALE, STEEPNESS, VISCOUS_GAIN, TABLE_ROWS,
) = range(12)  # fmt: skip


def decay_rate(p: float, d: float) -> float:
    """Λ: how fast an error decays where viscous friction outweighs inertia, 1/s; p / d of gains that do not overshoot.

    A quarter of d at most: beyond that friction would make the loop less damped.
    """
    return min(p / d, 0.25 * d) if d > 0.0 else 0.0


@helper
def put_friction(table: Array, q: Array, reference: Reference, terms: Array) -> None:
    """`TorqueTerms` in the rows of `terms` after the four of `rigid_terms`: friction before feedback."""
    for j in range(q.shape[0]):
        terms[4, j] = terms[3, j] + table[VISCOUS_GAIN, j] * (reference.q[j] - q[j])
        terms[3, j] = joint_compensation(
            table[SCALE, j], table[STEEPNESS, j], table[VISCOUS, j], table[FORWARD, j], table[BACKWARD, j],
            table[STRIBECK, j], table[FADING, j], reference.qd[j],
        )


@kernel
def computed_torque_kernel(
    model: Arm | OwnTerms, table: Array, q: Array, qd: Array, reference: Reference, integral: Array, terms: Array
) -> None:
    """`ComputedTorque.law` of an open arm: `TorqueTerms` into the first rows of `terms`, (5 or more, n).

    `table` as in `ComputedTorque`.
    """
    correction = terms[4]  # filled last
    feedback_kernel(table[GAIN_P], table[GAIN_I], table[GAIN_D], q, qd, reference.q, reference.qd, integral, correction)
    rigid_terms(model, q, qd, reference.qdd, correction, terms)
    put_friction(table, q, reference, terms)


@cache
def _in_python() -> Callable[..., None]:
    """The kernel for models with machine code: controllers call the law rarely, and then without compiling."""
    return in_python(computed_torque_kernel)


@dataclass(frozen=True, eq=False)
class ComputedTorque(KernelLaw, TrackingLaw):
    """τ = M(q)(q̈_d + Kd ė + Kp e + Ki ∫e) + c(q, q̇) + g(q) + friction(q̇_d) + D Λ e, e = q_d − q.

    On an arm equal to the model, without viscous friction D, the error follows ë + Kd ė + Kp e + Ki ∫e = 0, joint by
    joint, also on a moving base whose motion is known. Its linear acceleration counts with gravity then, its turning
    with the velocity torque c. With friction compensated it follows M (ë + Kd ė + Kp e + Ki ∫e) + D (ė + Λ e) = 0:
    friction damps, and an error decays at the rate Λ = Kp / Kd where friction outweighs inertia (docs/friction.md).

    Parameters
    ----------
    robot, friction_compensation
        As for `TrackingLaw`; so are the errors.
    gains
        In 1/s², 1/s³, 1/s (they make accelerations).
    """

    gains: Gains = field(metadata=gain_parameters(
        p=joint_number(400.0, "Position gain.", "1/s^2", 0.0, 1e6),
        i=joint_number(0.0, "Integral gain.", "1/s^3", 0.0, 1e8),
        d=joint_number(40.0, "Velocity gain.", "1/s", 0.0, 1e4),
        i_clamp=joint_number(10.0, "Largest acceleration of the integral term.", "rad/s^2 or m/s^2", 0.0, 1e6),
    ))
    name: ClassVar[str] = "computed torque"
    prefix: ClassVar[str] = "gains"
    kernel: ClassVar[Callable[..., None]] = computed_torque_kernel
    #: A `Predictor` can give it the state at which its effort acts.
    compensates_delay: ClassVar[bool] = True
    #: Gains and friction of each joint, rows `GAIN_P` to `STEEPNESS`; shape (TABLE_ROWS, n).
    table: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        gains, scale = self.gains, self.friction_scale
        table = np.zeros((TABLE_ROWS, self.robot.n))
        table[:SCALE] = gains.p, gains.d, gains.i, *self._friction.rows
        table[SCALE], table[STEEPNESS] = scale, self.steepness
        table[VISCOUS_GAIN] = scale * self._friction.viscous * self._decay_rates
        set_fields(self, table=table)

    @cached_property
    def _decay_rates(self) -> Array:
        return np.array([decay_rate(p, d) for p, d in zip(self.gains.p, self.gains.d, strict=True)])

    @cached_property
    def model(self) -> Any:
        """What `computed_torque_kernel` takes of an open arm with its base at rest."""
        tree = self.robot.open_tree
        return own_terms(tree) or arm_of(tree)

    @property
    def acceleration_gains(self) -> Gains:
        """Its gains: they make accelerations, so that delays and oscillations can be judged by them."""
        return self.gains

    @property
    def motion_demand(self) -> MotionDemand:
        """As of `ControlLaw`: half of the velocity gain is the bandwidth."""
        return MotionDemand(self.friction_rows, 0.5 * self.acceleration_gains.d)

    def check_rate(self, rate: float) -> tuple[str, ...]:
        """As of `ControlLaw`: the damping of each joint's poles."""
        return check_gains(self.acceleration_gains, rate, self.robot.joint_names)

    @classmethod
    def tuned(
        cls, robot: RigidRobot, bandwidth: float, integral: float, friction: FrictionCompensation | None, q: Array
    ) -> ComputedTorque:
        """Critically damped at `bandwidth`, rad/s, with an integral gain of `integral` · bandwidth³."""
        gains = Gains.critically_damped(robot.n, bandwidth)
        return cls(robot, replace(gains, i=np.full(robot.n, integral * bandwidth**3)), friction)

    def _run(self, model: Any, *arguments: Any) -> None:
        if isinstance(model, OwnTerms):
            _in_python()(model, *arguments)
        else:
            super()._run(model, *arguments)

    def _of_mechanism(
        self, mechanism: Mechanism, q: Array, qd: Array, aim: Reference, integral: Array, posture: Array | None,
        base_motion: BaseMotion | None,
    ) -> TorqueTerms:
        correction = feedback(self.gains, q, qd, aim, integral)
        speeds = np.array([aim.qd, self._decay_rates * (aim.q - q)])
        inertia, coriolis, gravity, answer, passive, passive_answer = closed_terms(
            mechanism, q, qd, aim.qdd, correction, posture, base_motion, speeds
        )
        answer += self.table[VISCOUS_GAIN] * (aim.q - q) + self.table[SCALE] * passive_answer
        return TorqueTerms(inertia, coriolis, gravity, self.friction_torque(aim.qd, passive), answer)


LAW = ComputedTorque
