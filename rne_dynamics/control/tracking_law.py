"""What tracking laws share: robot, gains, feedback, friction compensation, integral, and an effort from one kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import CompiledLaw, Reference, TorqueTerms, on_base
from rne_dynamics.control.gains import Gains, lowest_rate
from rne_dynamics.control.parameters import check_number, every_joint_driven, measured, of_node
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import SCALED, JointFriction, faded, joint_friction, smooth_sign
from rne_dynamics.model.inertia import Array, Rebuilt
from rne_dynamics.model.mechanism import Mechanism, RigidRobot


@helper
def joint_compensation(
    scale: float, steepness: float, viscous: float, forward: float, backward: float, stribeck: float, fading: float,
    velocity: float,
) -> float:  # fmt: skip
    """`FrictionCompensation.torque` of one joint: `JointFriction.rows`, and `steepness` = 1 / threshold."""
    level = 0.5 * (forward + backward) - faded(stribeck, fading, velocity)
    offset = 0.5 * (forward - backward)
    return scale * (viscous * velocity + offset + level * smooth_sign(velocity * steepness))


@kernel
def compensation_kernel(
    scale: float, steepness: Array, rows: Array, velocity: Array, passive: Array, torque: Array
) -> None:
    """`FrictionCompensation.torque` into `torque`; `rows` (5, n) of `JointFriction`, other arrays of shape (n,)."""
    for j in range(torque.shape[0]):
        own = joint_compensation(
            scale, steepness[j], rows[0, j], rows[1, j], rows[2, j], rows[3, j], rows[4, j], velocity[j]
        )
        torque[j] = own + scale * passive[j]


@dataclass(frozen=True)
class FrictionCompensation:
    """Friction by the law of `rne_dynamics.model.friction`, smooth below each joint's threshold.

    Parameters
    ----------
    scale
        Fraction of the modelled friction to cancel, 0 to 1. Above 1 the arm would drive itself.
    velocity_threshold
        Speed from which on all of the Coulomb torque is given, rad/s or m/s; above 0: of joints for which the model has
        none. The small default suits tracking, which takes the desired velocity; for a measured velocity (hand guiding)
        take twice its noise.

    Raises
    ------
    ControlError
        Values outside these ranges.
    """

    scale: float = field(default=1.0, metadata=of_node(
        "friction_compensation", 1.0, "Fraction of the modelled joint friction that is compensated.", "", 0.0, 1.0
    ))
    velocity_threshold: float = field(default=0.0001, metadata=of_node(
        "friction_velocity_threshold", 0.0001, "Speed below which the compensation of Coulomb friction fades, of "
        "joints without a threshold in the model.", "rad/s or m/s", 1e-6, 10.0,
    ))

    def __post_init__(self) -> None:
        if not 0.0 <= self.scale <= 1.0:
            raise ControlError(
                f"friction compensation: scale is {self.scale}; it must lie in [0, 1], above 1 the arm drives itself"
            )
        check_number(self.velocity_threshold, "friction compensation: velocity_threshold")

    def steepness(self, friction: JointFriction) -> Array:
        """1 / threshold of each joint, s/rad or s/m; shape (n,)."""
        return 1.0 / np.where(friction.threshold > 0.0, friction.threshold, self.velocity_threshold)

    def torque(self, friction: JointFriction, velocity: Array, passive: Array | None = None) -> Array:
        """Compensating torque, N·m or N; shape (n,).

        Parameters
        ----------
        friction
            The joints' friction.
        velocity
            rad/s or m/s; shape (n,). A tracking law takes the desired velocity: it knows the way ahead while the joint
            still sticks, noise near standstill cannot make it chatter, and no delay turns friction into oscillation
            (docs/friction.md).
        passive
            What a mechanism's passive joints take from its motors by viscous friction at that velocity, N·m or N;
            shape (n,).
        """
        n = len(friction.viscous)
        torque = np.empty(n)
        compensation_kernel(
            float(self.scale), self.steepness(friction), friction.rows, measured(velocity, n, "the velocity"),
            np.zeros(n) if passive is None else passive, torque,
        )  # fmt: skip
        return torque


# -- what tracking laws share: robot, gains, feedback, friction compensation, integral of the error with anti-windup ---


_Law = TypeVar("_Law", bound="CompensatesFriction")


@helper
def after_cycle(gain: float, clamp: float, before: float, error: float, dt: float, saturated: bool) -> float:
    """∫e dt of one joint one cycle later."""
    if not gain > 0.0:
        return 0.0
    step = error * dt
    x = before + step if np.isfinite(step) else before
    if saturated:  # shrink only: between where it is and zero
        low, high = (0.0, before) if before >= 0.0 else (before, 0.0)
        x = low if x < low else (high if x > high else x)
    bound = clamp / gain
    return bound if x > bound else (-bound if x < -bound else x)


@kernel
def integral_kernel(
    gain: Array, clamp: Array, integral: Array, error: Array, dt: float, saturated: NDArray[np.bool_], after: Array
) -> None:
    """∫e dt one cycle later into `after`, which may be `integral`; see `integrate_error`. Each of shape (n,)."""
    for j in range(after.shape[0]):
        after[j] = after_cycle(gain[j], clamp[j], integral[j], error[j], dt, saturated[j])


def integrate_error(
    gains: Gains, integral: ArrayLike, error: ArrayLike, dt: float, saturated: NDArray[np.bool_] | None = None
) -> Array:
    """∫e dt one cycle later, (n,): where saturated it may shrink only, |i·∫e| stays within `gains.i_clamp`."""
    n = gains.n
    before = np.array(integral, dtype=np.float64)
    after = np.empty(n)
    clamped = np.zeros(n, dtype=np.bool_) if saturated is None else np.array(saturated, dtype=np.bool_)
    integral_kernel(gains.i, gains.i_clamp, before, np.array(error, dtype=np.float64), float(dt), clamped, after)
    return after


@kernel
def feedback_kernel(
    p: Array, i: Array, d: Array, q: Array, qd: Array, reference_q: Array, reference_qd: Array, integral: Array,
    answer: Array,
) -> None:
    """Kp e + Kd ė + Ki ∫e into `answer`; each of shape (n,)."""
    for j in range(answer.shape[0]):
        answer[j] = p[j] * (reference_q[j] - q[j]) + d[j] * (reference_qd[j] - qd[j]) + i[j] * integral[j]


def feedback(gains: Gains, q: Array, qd: Array, reference: Reference, integral: Array | None) -> Array:
    """Kp e + Kd ė + Ki ∫e with e = reference − measured; shape (n,)."""
    n = gains.n
    answer = np.empty(n)
    feedback_kernel(
        gains.p, gains.i, gains.d, q, qd,
        measured(reference.q, n, "reference.q"), measured(reference.qd, n, "reference.qd"),
        np.zeros(n) if integral is None else measured(integral, n, "integral"), answer,
    )  # fmt: skip
    return answer


class CompensatesFriction(Rebuilt):
    """A law with the fields `robot` and `friction_compensation`, a dataclass."""

    robot: RigidRobot
    friction_compensation: FrictionCompensation | None
    #: Its name in messages.
    name: ClassVar[str]

    _friction: JointFriction

    def __post_init__(self) -> None:
        every_joint_driven(self.robot, self.name)
        object.__setattr__(self, "_friction", joint_friction(self.robot))

    def friction_torque(self, velocity: Array, passive: Array) -> Array:
        """`FrictionCompensation.torque` at a velocity, of tracking laws the desired one; zero without one."""
        if self.friction_compensation is None:
            return np.zeros(self.robot.n)
        return self.friction_compensation.torque(self._friction, velocity, passive)

    @cached_property
    def friction_rows(self) -> Array:
        """Friction that it compensates, as `JointFriction.rows`; shape (5, n)."""
        rows = self._friction.rows
        rows[:SCALED] *= self.friction_scale
        return rows

    @property
    def friction_scale(self) -> float:
        """Fraction of the friction that it compensates; 0 without a compensation."""
        return 0.0 if self.friction_compensation is None else self.friction_compensation.scale

    @cached_property
    def steepness(self) -> Array:
        """1 / threshold of the friction compensation of each joint, s/rad or s/m; 0 without one; shape (n,)."""
        compensation = self.friction_compensation
        return np.zeros(self.robot.n) if compensation is None else compensation.steepness(self._friction)

    def without_friction(self: _Law) -> _Law:
        """The same law for an arm whose own electronics compensate friction."""
        return replace(self, friction_compensation=None)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class TrackingLaw(CompensatesFriction):
    """A law with gains on the error e = q_d − q.

    Parameters
    ----------
    robot
        The model; every joint must be driven. Of a mechanism all vectors here hold its actuated joints.
    gains
        Their units are those of the law.
    friction_compensation
        All of the modelled friction by default, at the desired velocity; None leaves it to the feedback.

    Raises
    ------
    ControlError
        A robot with a floating joint, or gains for another number of joints.
    """

    robot: RigidRobot
    gains: Gains
    friction_compensation: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    #: Whether its effort for the desired motion is that of the model, so that errors do not grow with accelerations.
    feedforward: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gains.fit(self.robot.n, self.name)

    @property
    def integrates(self) -> bool:
        """Whether it needs ∫e dt."""
        return self.gains.integrates

    @cached_property
    def lowest_rate(self) -> float:
        """Joint states per second below which the arm must not be driven with these gains, Hz; 0 without gains."""
        return lowest_rate(self.gains)

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None = None
    ) -> Array:
        """∫e dt one cycle later, kept from winding up; see `integrate_error`."""
        return integrate_error(self.gains, integral, reference.q - q, dt, saturated)


class KernelLaw(CompensatesFriction):
    """A law with `kernel`, `model`, for the base at rest, and `table`, which are those of a `CompiledLaw`."""

    kernel: ClassVar[Callable[..., None]]
    model: Any
    table: Array

    @property
    def compiled(self) -> CompiledLaw | None:
        """As of `ControlLaw`; None of mechanisms, and of subclasses without a kernel, whose law may differ."""
        kernel = vars(type(self)).get("kernel")
        return None if kernel is None or self.robot.loops else CompiledLaw(kernel, self.model, self.table)

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
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
            are assembled: a loop passes its last one. None starts from the mechanism's own posture, which takes
            longer and always ends on that posture's branch. Not used for an open arm.
        base_motion
            How the base moves now; at rest by default.

        Raises
        ------
        ControlError, ArgumentError
            A wrong shape, or a base motion that is none. NaN in `q` or `qd` is not looked for here: it makes the torque
            NaN, which `EffortLimiter` refuses.
        AssemblyError, SingularPostureError
            Of a mechanism: a measured position where its loops do not close, or where the motors do not hold it.
        """
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        aim = Reference(
            measured(reference.q, n, "reference.q"), measured(reference.qd, n, "reference.qd"),
            measured(reference.qdd, n, "reference.qdd"),
        )
        summed = np.zeros(n) if integral is None else measured(integral, n, "integral")
        if (mechanism := mechanism_of(self.robot)) is not None:
            return self._of_mechanism(mechanism, q, qd, aim, summed, posture, base_motion)
        model, terms = self.model, np.empty((5, n))
        if base_motion is not None:
            model = on_base(model, base_motion.packed(self.robot.gravity))
        self._run(model, self.table, q, qd, aim, summed, terms)
        return TorqueTerms(*terms)

    def _run(self, *arguments: Any) -> None:
        type(self).kernel(*arguments)

    def _of_mechanism(
        self, mechanism: Mechanism, q: Array, qd: Array, aim: Reference, integral: Array, posture: Array | None,
        base_motion: BaseMotion | None,
    ) -> TorqueTerms:
        """The torque of a mechanism with closed loops; `ControlError` from a law for open arms."""
        raise ControlError(
            f"{type(self).__name__} is for open arms: robot {mechanism.name!r} has closed loops; take computed torque"
        )
