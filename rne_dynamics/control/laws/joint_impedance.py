"""Joint impedance: a spring and a damper at each joint about a moving reference, with the model's terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.independence import generic_rank
from rne_dynamics.closed_chain.inverse_dynamics import closed_mass_matrix
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.felt_inertia import joint_inertia, posture_inertia
from rne_dynamics.control.impedance import (
    HELD_FRICTION,
    LEAST_RATIO,
    RATIO,
    SPEED,
    TINY,
    Softening,
    Springs,
    put_bounded,
    put_impedance,
    uniform_ratio,
)
from rne_dynamics.control.laws.computed_torque import (
    GAIN_D,
    GAIN_P,
    SCALE,
    STEEPNESS,
    TABLE_ROWS,
    VISCOUS,
)
from rne_dynamics.control.model_terms import OwnTerms, closed_terms, inertia_model, inertia_terms
from rne_dynamics.control.motion.limits import described_velocity
from rne_dynamics.control.parameters import frozen_vector, joint_parameter
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.spatial.cholesky import factor
from rne_dynamics.spatial.rows import product

#: Chosen stiffness: deflection at which a joint gives its effort limit, rad or m; natural frequency of a joint alone
#: where it has no limit, rad/s.
YIELDING, CHOSEN = 1.0, 10.0


@kernel
def spring_torque(
    M: Array, table: Array, rate: float, q: Array, qd: Array, aim: Array, aim_qd: Array, torque: Array, damping: Array
) -> None:
    """Torque of the joints' springs and dampers into `torque`, D_jj into `damping`; `table` as in `JointImpedance`."""
    n = q.shape[0]
    K, Z, L, spring, velocity = np.zeros((n, n)), np.zeros((n, n)), np.empty((n, n)), np.empty(n), np.empty((3, n))
    if not factor(M, L):
        torque[:] = np.nan
        return
    for j in range(n):
        K[j, j] = table[GAIN_P, j]
        Z[j, j] = table[GAIN_P, j] * table[GAIN_D, j]
        spring[j] = table[GAIN_P, j] * (aim[j] - q[j])
        velocity[0, j], velocity[1, j], velocity[2, j] = aim_qd[j] - qd[j], aim_qd[j], table[SPEED, j]
    put_impedance(L, K, Z, uniform_ratio(table[GAIN_D]), spring, velocity, rate, torque, damping)


@kernel
def joint_impedance_kernel(
    model: tuple[Any, Any], table: Array, q: Array, qd: Array, reference: Reference, integral: Array, terms: Array
) -> None:
    """`JointImpedance.law` of an open arm: `TorqueTerms` into the first rows of `terms`; `model`: `(arm, rate)`."""
    n = q.shape[0]
    arm, rate = model
    found = np.empty((n + 2, n))
    inertia_terms(arm, q, qd, found)
    for j in range(n):
        terms[0, j] = product(found[j], reference.qdd)
        terms[1, j], terms[2, j] = found[n, j], found[n + 1, j]
    spring_torque(found[:n], table, rate[0], q, qd, reference.q, reference.qd, terms[3], terms[4])
    put_bounded(table, q, reference, terms)


@dataclass(frozen=True, eq=False)
class JointImpedance(Springs):
    """τ = K e + D ė + M(q) q̈_d + c(q, q̇) + g(q) + friction(q̇_d), e = q_d − q.

    On an arm equal to the model an effort F from outside deflects it by K⁻¹ F at rest, and errors follow
    M ë + D ė + K e = F. D gives each mode of M and K the damping ratio, in every posture. Modes too fast for `rate`
    are softened: `check_rate` says which.

    Parameters
    ----------
    robot
        The model; every joint must be driven. Of a mechanism all vectors here hold its actuated joints.
    stiffness
        K of each joint, N·m/rad or N/m; a negative one is chosen: the effort limit at a deflection of 1 rad or m.
    damping_ratio
        ζ, 1 for no overshoot; of a mode the mean of the joints', by their part in its elastic energy.
    friction_compensation
        At the desired velocity; None leaves friction to the springs.
    rate
        Efforts per second, Hz.

    Raises
    ------
    ControlError
        A robot with a floating joint, motors that depend on each other, or a number outside its range.
    """

    robot: RigidRobot
    stiffness: Array = joint_parameter(
        -1.0, "Stiffness. If negative, the effort limit at a deflection of 1 rad or m, as far as the rate can damp "
        "it.", "N m/rad or N/m", lower=-1.0, upper=1e6,
    )
    damping_ratio: Array = joint_parameter(RATIO, "Damping ratio; 1 does not overshoot.", lower=LEAST_RATIO, upper=3.0)
    friction_compensation: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    rate: float = ASSUMED_RATE
    name: ClassVar[str] = "joint impedance"
    kernel: ClassVar[Callable[..., None]] = joint_impedance_kernel
    #: Rows as of `ComputedTorque`, stiffness and damping ratio as gains; shape (TABLE_ROWS, n).
    table: Array = field(init=False, repr=False)
    #: Whose stiffness was not chosen, bool (n,).
    given: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        mechanism = mechanism_of(self.robot)
        if mechanism is not None and not generic_rank(mechanism).coordinates:
            raise ControlError(
                f"joint impedance: the motors of {self.robot.name!r} depend on each other, so that their springs would "
                "pull against each other; leave motors out of `actuated`, or use computed_torque"
            )
        n, names = self.robot.n, self.robot.joint_names
        ratio = frozen_vector(self.damping_ratio, n, "damping ratio", lowest=LEAST_RATIO, highest=3.0, names=names)
        stiffness = frozen_vector(self.stiffness, n, "stiffness", names=names)
        given = stiffness >= 0.0
        if not given.all():
            stiffness = frozen_vector(np.where(given, stiffness, chosen_stiffness(self.robot)), n, "stiffness")
        table = np.zeros((TABLE_ROWS, n))
        table[GAIN_P], table[GAIN_D], table[VISCOUS:SCALE] = stiffness, ratio, self._friction.rows
        table[SPEED] = described_velocity(self.robot)
        table[SCALE], table[STEEPNESS] = self.friction_scale, self.steepness
        set_fields(self, stiffness=stiffness, damping_ratio=ratio, table=table, rate=float(self.rate), given=given)

    @cached_property
    def model(self) -> tuple[Arm | OwnTerms, Array]:
        """What `joint_impedance_kernel` takes of an open arm with its base at rest."""
        return inertia_model(self.robot.open_tree), self.damped_rate

    @cached_property
    def softening(self) -> Softening:
        """Of its modes, in all postures."""
        return Softening.of(posture_inertia(self.robot), np.diag(self.stiffness), self.damping_ratio)

    def check_rate(self, rate: float) -> tuple[str, ...]:
        """As of `ControlLaw`: joints whose stiffness was given and is softened, or less than friction hides."""
        names, band = self.robot.joint_names, self.dead_band
        hidden = [f"{names[j]} up to {band[j]:.2g}" for j in np.flatnonzero(self.given & (band > self.tolerances.goal))]
        text = f"{self.name}: at rest friction holds joints away from the reference, rad or m: {', '.join(hidden)}"
        softened = self.softening.check(min(rate, self.rate), self.name, names, self.given)
        return (*softened, f"{text}. Set their stiffness higher") if hidden else softened

    @property
    def dead_band(self) -> Array:
        """How far from the reference friction of the model may hold each joint, rad or m; (n,)."""
        dry = self._friction.static
        return np.divide(dry, self.stiffness, np.where(dry > 0.0, np.inf, 0.0), where=self.stiffness > 0.0)

    def _of_mechanism(
        self, mechanism: Mechanism, q: Array, qd: Array, aim: Reference, integral: Array, posture: Array | None,
        base_motion: BaseMotion | None,
    ) -> TorqueTerms:
        still = np.zeros(len(q))
        inertia, coriolis, gravity, answer, passive, _ = closed_terms(
            mechanism, q, qd, aim.qdd, still, posture, base_motion, np.array([aim.qd, still])
        )
        M, damping = closed_mass_matrix(mechanism, q, start=posture), np.zeros(len(q))
        spring_torque(np.array(M), self.table, float(self.damped_rate[0]), q, qd, aim.q, aim.qd, answer, damping)
        held = HELD_FRICTION * self.table[SPEED] * np.maximum(damping, TINY)
        friction = np.clip(self.friction_torque(aim.qd, passive), -held, held)
        return TorqueTerms(inertia, coriolis, gravity, friction, answer)


def chosen_stiffness(robot: RigidRobot) -> Array:
    """Stiffness by the effort limits, by the inertia where there is none; (n,)."""
    limit = robot.effort_limit
    felt = joint_inertia(robot, np.array(robot.neutral)).held
    return np.asarray(np.where(np.isfinite(limit) & (limit > 0.0), limit / YIELDING, CHOSEN**2 * felt))


LAW = JointImpedance
