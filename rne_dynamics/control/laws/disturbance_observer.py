"""Computed torque with a disturbance observer: loads, masses and friction that the model lacks are compensated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.felt_inertia import joint_inertia
from rne_dynamics.control.gains import Gains, lowest_rate
from rne_dynamics.control.laws.computed_torque import GAIN_D, GAIN_I, GAIN_P, ComputedTorque, put_friction
from rne_dynamics.control.model_terms import inertia_model, inertia_terms
from rne_dynamics.control.motion.limits import described_velocity
from rne_dynamics.control.parameters import check_number, gain_parameters, joint_number, law_parameter
from rne_dynamics.control.tracking_law import FrictionCompensation, integrate_error
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.spatial.rows import product

#: Rows of `DisturbanceObserver.memory`: largest correction, as effort and as acceleration; 1 where one is reached; time
#: of the reference at rest, s.
BOUND, FREED, LIMITED, RESTED, MEMORY_ROWS = range(5)
#: Bandwidth for critically damped gains, of theirs: more costs delay margin, less leaves more of the error.
PART = 0.4
#: Speed of a reference that counts as rest, rad/s or m/s, and the time for which the observer goes on then, s.
REST, SETTLING = 1e-3, 1.0
#: Time at rest of a reference that comes to rest first.
UNRESTED = -1.0
#: Acceleration of a joint without an effort limit that counts as its limit, rad/s² or m/s².
UNLIMITED = 20.0


@kernel
def disturbance_observer_kernel(
    model: tuple[Any, Array], table: Array, q: Array, qd: Array, reference: Reference, integral: Array, terms: Array
) -> None:
    """`DisturbanceObserver.law`: `TorqueTerms` into the first rows of `terms`; `model`: `(arm, memory)`."""
    n = q.shape[0]
    arm, memory = model
    found, answer, observed = np.empty((n + 2, n)), np.empty(n), np.empty(n)
    inertia_terms(arm, q, qd, found)
    for j in range(n):
        p, d = table[GAIN_P, j], table[GAIN_D, j]
        error, rate = reference.q[j] - q[j], reference.qd[j] - qd[j]
        answer[j] = p * error + d * rate
        sought, most = table[GAIN_I, j] * (rate + d * error + p * integral[j]), memory[FREED, j]
        observed[j] = min(max(sought, -most), most)
        memory[LIMITED, j] = 1.0 if abs(sought) > most else 0.0
    for j in range(n):
        terms[0, j] = product(found[j], reference.qdd)
        terms[1, j], terms[2, j] = found[n, j], found[n + 1, j]
        correction, bound = product(found[j], observed), memory[BOUND, j]
        if abs(correction) > bound:
            memory[LIMITED, j] = 1.0
        terms[3, j] = product(found[j], answer) + min(max(correction, -bound), bound)
    put_friction(table, q, reference, terms)


@dataclass(frozen=True, eq=False)
class DisturbanceObserver(ComputedTorque):
    """Computed torque plus an estimate d of the effort that the model lacks, τ = τ_ct + d.

    With e = q_d − q an arm that lacks w obeys M (ë + Kd ė + Kp e) = w − d. The observer of first order d' = γ (w − d)
    is integrated in accelerations, so that none is measured: d = M γ (ė + Kd e + Kp ∫e). An error of the model that is
    constant then leaves no error. Every joint's d is at most a part of its effort limit, and its acceleration what
    Kd holds at the velocity limit: what dragged may let go. ∫e stays what it is where d or
    an effort is limited, and once the reference has been at rest for 1 s: who pushes a resting arm feels Kp only.

    Parameters
    ----------
    robot
        The model of an open arm.
    gains
        p and d, in 1/s² and 1/s; i is not used.
    friction_compensation
        As for `TrackingLaw`.
    bandwidth
        γ, 1/s.
    correction
        Largest |d|, as a part of each joint's effort limit; of 20 rad/s² where there is none.

    Raises
    ------
    ControlError
        Closed loops, a number outside its range, or as of `TrackingLaw`.
    """

    gains: Gains = field(metadata=gain_parameters(
        p=joint_number(400.0, "Position gain.", "1/s^2", 0.0, 1e6),
        d=joint_number(40.0, "Velocity gain.", "1/s", 0.0, 1e4),
    ))
    friction_compensation: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    bandwidth: float = law_parameter(
        8.0, "Bandwidth of the observer; 0 for computed torque.", "1/s", lower=0.0, upper=1e3
    )
    correction: float = law_parameter(
        0.5, "Largest effort that it adds, as a part of each joint's effort limit.", lower=0.0, upper=1.0
    )
    #: Rows `BOUND` to `RESTED`, (MEMORY_ROWS, n).
    memory: Array = field(init=False, repr=False)
    name: ClassVar[str] = "disturbance observer"
    prefix: ClassVar[str] = "disturbance_observer"
    kernel: ClassVar[Callable[..., None]] = disturbance_observer_kernel
    compensates_delay: ClassVar[bool] = False
    #: Other parameters come into force over this time, s.
    fade_time: ClassVar[float] = 0.3
    #: Kinds of robots that it does not drive, with the reason; of closed loops the constructor says it.
    refused_kinds: ClassVar[Mapping[str, str]] = MappingProxyType({
        "flexible": "links bend, and the observer would answer to their vibrations; use computed_torque",
    })

    def __post_init__(self) -> None:
        if self.robot.loops:
            raise ControlError(
                f"disturbance observer: robot {self.robot.name!r} has closed loops, and it is for open arms; use "
                "computed_torque with an integral gain"
            )
        super().__post_init__()
        check_number(self.bandwidth, "bandwidth of the disturbance observer", zero=True, unit=" 1/s")
        if not 0.0 <= self.correction <= 1.0:
            raise ControlError(f"disturbance observer: correction is {self.correction}; it must lie in [0, 1]")
        self.table[GAIN_I] = self.bandwidth
        limit = self.robot.effort_limit
        known = np.isfinite(limit) & (limit > 0.0)
        if not known.all():
            limit = np.where(known, limit, UNLIMITED * joint_inertia(self.robot, np.array(self.robot.neutral)).held)
        memory = np.zeros((MEMORY_ROWS, self.robot.n))
        memory[BOUND], memory[RESTED] = self.correction * limit, np.inf
        memory[FREED] = described_velocity(self.robot) * self.gains.d
        object.__setattr__(self, "memory", memory)

    @classmethod
    def tuned(
        cls, robot: RigidRobot, bandwidth: float, integral: float, friction: FrictionCompensation | None, q: Array
    ) -> DisturbanceObserver:
        """Critically damped at `bandwidth`, rad/s, with an observer of `PART` of it; `integral` is not used."""
        return cls(robot, Gains.critically_damped(robot.n, bandwidth), friction, PART * bandwidth)

    @cached_property
    def acceleration_gains(self) -> Gains:
        """Gains of computed torque that answer small errors as it does."""
        p, d, rate = self.gains.p, self.gains.d, self.bandwidth
        return Gains(p + rate * d, rate * p, d + rate, joint_names=self.robot.joint_names)

    @property
    def integrates(self) -> bool:
        """Whether it observes anything."""
        return self.bandwidth > 0.0

    @cached_property
    def lowest_rate(self) -> float:
        """As of `ControlLaw`."""
        return lowest_rate(self.acceleration_gains)

    @cached_property
    def model(self) -> tuple[Any, Array]:
        """What the kernel takes of the arm with its base at rest."""
        return inertia_model(self.robot.open_tree), self.memory

    def restart(self) -> None:
        """As of `ControlLaw`: nothing is learnt before the first motion that begins at rest."""
        self.memory[LIMITED], self.memory[RESTED] = 0.0, UNRESTED

    def resume(self, former: DisturbanceObserver) -> None:
        """As of `ControlLaw`."""
        self.memory[LIMITED:] = former.memory[LIMITED:]

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None = None
    ) -> Array:
        """∫e dt one cycle later: it only shrinks where an effort is limited, and stays where the reference rests."""
        rested, moving = self.memory[RESTED], np.abs(reference.qd).max() > REST
        if rested[0] == UNRESTED:
            rested[:] = UNRESTED if moving else np.inf
            return integral
        rested[:] = 0.0 if moving else rested[0] + dt
        if rested[0] > SETTLING:
            return integral
        limited = self.memory[LIMITED] > 0.0
        if saturated is not None:
            limited |= saturated
        return integrate_error(self.acceleration_gains, integral, reference.q - q, dt, limited)


LAW = DisturbanceObserver
