"""Contact that is felt through the joints: external efforts, and those beyond each joint's threshold.

    p = M q̇,    ṗ = τ + Cᵀq̇ − g − friction + τ_ext
    r̈ + 2 ζ ω ṙ + ω² r = ω² τ_ext

Over one period the mean τ_ext is the change of p less the impulse of what is known, where Cᵀq̇ − g − friction is the
mean of both ends. For a τ_ext that is constant in the period, r is exact at its end, whatever the period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.parameters import (
    check_parameters,
    every_joint_driven,
    frozen_vector,
    measured,
    of_node,
    parameter,
)
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.tracking_law import FrictionCompensation, joint_compensation
from rne_dynamics.dynamics.declared.arguments import Arm, arm_of
from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.dynamics.newton_euler.newton_euler import (
    DRIFT,
    MOMENTUM,
    MOMENTUM_ROWS,
    OWN,
    WEIGHT,
    momentum_terms_kernel,
)
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.friction import SCALED, joint_friction, smooth_sign
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import same_masses
from rne_dynamics.model.robot import RobotModel

#: Rows of the memory after those of `momentum_terms_kernel`: r, ṙ, the allowance.
EXTERNAL, RATE, ALLOWANCE, ROWS = range(MOMENTUM_ROWS, MOMENTUM_ROWS + 4)
#: Least speed above which the direction of friction is taken as known, rad/s or m/s: stuck joints creep.
REST_SPEED = 0.05
#: Rate at which an allowance approaches a smaller one, of the bandwidth: slower than r, which it must cover.
DECAY = 0.25
#: Singular value of a link's Jacobian, of the largest, at which half of a direction is seen; and the length, m, that
#: makes moments comparable with forces.
SEEN, LENGTH = 0.02, 0.3


@kernel
def observe_kernel(
    arm: Arm, q: Array, qd: Array, qdd: Array, effort: Array, friction: Array, steepness: Array, numbers: Array,
    dt: float, memory: Array,
) -> None:
    """One period of `dt`, s, that ended at q, qd, in which `effort` acted; 0: `memory` (ROWS, n) begins anew."""
    # friction (5, n): of `JointFriction`; steepness (n,): 1 / threshold; numbers: ω, ζ, relative errors of masses and
    # friction, part of gravity that the efforts must hold
    n = q.shape[0]
    rows = np.empty((MOMENTUM_ROWS, n))
    momentum_terms_kernel(arm, q, qd, qdd, rows)
    omega, ratio = numbers[0], numbers[1]
    damped = omega * math.sqrt(max(1.0 - ratio * ratio, 0.0))
    fade, c = math.exp(-ratio * omega * dt), math.cos(damped * dt)
    s = math.sin(damped * dt) / damped if damped > 0.0 else dt
    hold = math.exp(-DECAY * omega * dt)
    for j in range(n):
        level = joint_compensation(
            1.0, steepness[j], friction[0, j], friction[1, j], friction[2, j], friction[3, j], friction[4, j], qd[j]
        )
        unsure = 0.5 * (friction[1, j] + friction[2, j]) * (1.0 - abs(smooth_sign(qd[j] * steepness[j])))
        allowance = numbers[2] * rows[OWN, j] + numbers[3] * abs(level) + unsure
        drift, p = rows[DRIFT, j] - numbers[4] * rows[WEIGHT, j] - level, rows[MOMENTUM, j]
        if dt > 0.0:
            known = effort[j] + 0.5 * (drift + memory[DRIFT, j])
            w = (p - memory[MOMENTUM, j]) / dt - known
            y, v = memory[EXTERNAL, j] - w, memory[RATE, j]
            memory[EXTERNAL, j] = w + fade * (y * (c + ratio * omega * s) + v * s)
            memory[RATE, j] = fade * (v * (c - ratio * omega * s) - omega * omega * y * s)
            allowance += hold * max(memory[ALLOWANCE, j] - allowance, 0.0)
        else:
            memory[EXTERNAL, j] = memory[RATE, j] = 0.0
        memory[MOMENTUM, j], memory[DRIFT, j], memory[OWN, j] = p, drift, rows[OWN, j]
        memory[ALLOWANCE, j] = allowance


class Observed(NamedTuple):
    """State of a `MomentumObserver`."""

    #: Everything that it remembers, (8, n).
    memory: Array

    @property
    def external(self) -> Array:
        """External efforts, N·m or N; (n,)."""
        return np.asarray(self.memory[EXTERNAL])

    @property
    def allowance(self) -> Array:
        """What errors of masses and friction may contribute to them, N·m or N; (n,)."""
        return np.asarray(self.memory[ALLOWANCE])


class LinkWrench(NamedTuple):
    """A wrench that explains external efforts."""

    #: Force, N, and moment, N·m, at the link's origin in base axes; (6,).
    wrench: Array
    #: Part of each component that the joints can see in this posture, 0 to 1; (6,).
    seen: Array
    #: Efforts that it does not explain: of contact elsewhere, N·m or N; (n,).
    rest: Array


@dataclass(frozen=True, eq=False)
class MomentumObserver:
    """Observer of external efforts on an open arm with its base at rest.

    Parameters
    ----------
    robot
        The model.
    bandwidth
        ω, 1/s. The observed effort reaches half of a step after 1.5 / ω.
    ratio
        Damping ratio ζ, up to 1.
    friction
        Friction of the joints that is known; None for none. Its allowance covers rest and reversals.
    model_error, friction_error
        Relative errors of the masses of the bodies and of moving friction that `Observed.allowance` covers.
    compensated
        Of "gravity" and "friction" what the arm's electronics add to the efforts.

    Raises
    ------
    ControlError
        A number that is not allowed, closed loops, or a floating base.
    """

    robot: RobotModel
    bandwidth: float = parameter(
        200.0, "Bandwidth of the observer; higher is faster and noisier.", "1/s", lower=1.0, upper=2000.0
    )
    ratio: float = 0.8
    friction: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    model_error: float = parameter(
        0.05, "Relative error of the masses of the links that is no contact.", lower=0.0, upper=1.0
    )
    friction_error: float = parameter(
        0.3, "Relative error of the friction of a moving joint that is no contact.", lower=0.0, upper=10.0
    )
    compensated: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.robot.kind != "arm":
            raise ControlError(
                f"a momentum observer needs an open arm of rigid links; robot {self.robot.name!r} is a "
                f"{self.robot.kind}"
            )
        every_joint_driven(self.robot, "a momentum observer")
        check_parameters(self, "contact.")
        unknown = sorted(self.compensated - {"gravity", "friction"})
        refuse(
            ControlError,
            (not 0.0 < self.ratio <= 1.0,
             f"ratio of the momentum observer is {self.ratio}; it must be above 0 and at most 1"),
            (unknown,
             f"the momentum observer cannot leave out {', '.join(unknown)}, which hardware_compensates names; "
             "allowed are gravity and friction"),
        )  # fmt: skip

    @cached_property
    def constants(self) -> tuple[Arm, Array, Array, Array]:
        """For `observe_kernel`: arm, friction, steepness, numbers."""
        known = joint_friction(self.robot)
        model = self.friction or FrictionCompensation(0.0)
        numbers = np.array([
            self.bandwidth, self.ratio, self.model_error, self.friction_error, "gravity" not in self.compensated,
        ])  # fmt: skip
        rows = known.rows
        rows[:SCALED] *= 0.0 if "friction" in self.compensated else model.scale
        return arm_of(self.robot), rows, np.minimum(model.steepness(known), 1.0 / REST_SPEED), numbers

    def start(self, q: ArrayLike, qd: ArrayLike) -> Observed:
        """The state before the first period, with no external effort.

        `q`, `qd`: measured, (n,), rad or m, rad/s or m/s. Raises ControlError: wrong shapes.
        """
        return self.update(Observed(np.zeros((ROWS, self.robot.n))), q, qd, np.zeros(self.robot.n), 0.0)

    def update(
        self, state: Observed, q: ArrayLike, qd: ArrayLike, effort: ArrayLike, dt: float, qdd: ArrayLike | None = None
    ) -> Observed:
        """The state at the end of one period; `state` itself does not change.

        `q`, `qd`: measured at its end, (n,). `effort`: motor efforts that acted in it, N·m or N, (n,). `dt`: its
        length, s; 0 begins anew. `qdd`: desired accelerations, (n,), for the allowance; zero by default. Raises
        ControlError: wrong shapes. NaN in the arguments makes NaN.
        """
        n, memory = self.robot.n, state.memory.copy()
        acceleration = np.zeros(n) if qdd is None else measured(qdd, n, "the desired acceleration")
        arm, rows, steepness, numbers = self.constants
        observe_kernel(
            arm, measured(q, n, "the position"), measured(qd, n, "the velocity"), acceleration,
            measured(effort, n, "the effort"), rows, steepness, numbers, dt, memory,
        )
        return Observed(memory)

    def wrench(self, external: ArrayLike, q: ArrayLike, link: str, damping: float = SEEN) -> LinkWrench:
        """The least wrench on a link that explains external efforts, by damped least squares.

        `external`: efforts, (n,), N·m or N; `q`: positions, (n,); `link`: its name; `damping`: singular value of the
        Jacobian, of the largest one, at which half of a direction is seen; moments count with a length of 0.3 m. Raises
        ControlError: wrong shapes; ModelError: no such link.
        """
        tau, at = (measured(x, self.robot.n, what) for x, what in ((external, "the effort"), (q, "the position")))
        scale = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
        J = jacobian(self.robot, at, link)
        U, sigma, Vt = np.linalg.svd(scale[:, None] * J, full_matrices=False)
        square = sigma**2 + (damping * float(sigma[0])) ** 2
        wrench = scale * (U @ (sigma / square * (Vt @ tau)))
        return LinkWrench(wrench, np.einsum("ik,k,ik->i", U, sigma**2 / square, U), tau - J.T @ wrench)


Reaction = Literal["none", "stop", "float", "comply", "retract"]
REACTIONS: tuple[Reaction, ...] = ("none", "stop", "float", "comply", "retract")
#: Part of the threshold below which a contact may have ended, and for how long, s; least threshold, N·m or N.
RELEASE, CLEAR, LEAST_THRESHOLD = 0.5, 0.1, 1e-9
#: Part of the effort limit that is the threshold of nodes by default.
THRESHOLD_SHARE = 0.01
#: Longest time between two states over which efforts are observed, s.
OBSERVED_GAP = 0.05
#: Rows of a watch's memory after those of the observer.
OFFSET, THRESHOLD = ROWS, ROWS + 1
#: What `watch_kernel` returns besides a joint: whether a contact may have ended.
ENDING, BETWEEN = -1, -2
#: Bandwidths after which the first external efforts are no transient any more, for a tare.
OBSERVED = 8.0


@kernel
def watch_kernel(
    arm: Arm, q: Array, qd: Array, qdd: Array, effort: Array, friction: Array, steepness: Array, numbers: Array,
    dt: float, memory: Array,
) -> int:
    """As `observe_kernel`; the index of the joint that feels a contact most, or `ENDING`, or `BETWEEN`."""
    observe_kernel(arm, q, qd, qdd, effort, friction, steepness, numbers, dt, memory)
    most, part = 0, -np.inf
    for j in range(q.shape[0]):
        beyond = (abs(memory[EXTERNAL, j] - memory[OFFSET, j]) - memory[ALLOWANCE, j]) / memory[THRESHOLD, j]
        if beyond > part:
            most, part = j, beyond
    if part >= 1.0:
        return most
    return ENDING if part < RELEASE else BETWEEN


@dataclass(frozen=True, eq=False)
class ContactSettings:
    """When external efforts are a contact, and what follows. Raises ControlError: a number that is not allowed."""

    observer: MomentumObserver
    #: Not negative, (n,).
    threshold: Array = field(metadata=of_node(
        "contact.{joint}.threshold", -1.0, "External effort, beyond what errors of the model explain, that is a "
        f"contact; if negative, {THRESHOLD_SHARE:.0%} of the effort limit.", "N m or N", -1.0, 1e6,
    ))
    reaction: Reaction = parameter(
        "none", "What a contact does to the arm: nothing (none); it is held where it touched (stop), led by hand "
        "(float), held by the law joint_impedance, which prepared_laws must name (comply), or goes back along its path "
        "(retract).", choices=REACTIONS,
    )
    retract_time: float = parameter(
        0.3, "Path time that the arm goes back, at half the speed.", "s", lower=0.05, upper=10.0
    )
    link: str = parameter("", "Link of which the external wrench is published; empty for none.", at_configure=True)

    def __post_init__(self) -> None:
        robot = self.observer.robot
        threshold = frozen_vector(self.threshold, robot.n, "contact threshold", lowest=0.0, names=robot.joint_names)
        object.__setattr__(self, "threshold", threshold)
        check_parameters(self, "contact.")


class ContactWatch:
    """Observes external efforts state by state; `settings`: when they are a contact."""

    def __init__(self, settings: ContactSettings) -> None:
        n = settings.observer.robot.n
        self._memory = np.zeros((ROWS + 2, n))
        self._anew, self._still = False, np.zeros(n)
        #: Whether external efforts are observed at present, and since when, s.
        self.observing, self.age = False, 0.0
        self._stamp, self._calm = 0, 0.0
        #: Index of the joint that feels a contact most, -1 for none.
        self.joint = -1
        self.settings = settings
        self.adopt(settings)

    def adopt(self, settings: ContactSettings) -> None:
        """Other settings; another model makes the observer begin anew, and another payload ends a tare."""
        robot, former = settings.observer.robot, self.settings.observer.robot
        self._anew |= settings.observer is not self.settings.observer  # momentum by another model; r goes on
        if not same_masses(robot.parameters, former.parameters):  # what was tared is in the model now
            self._memory[EXTERNAL] -= self._memory[OFFSET]
            self._memory[OFFSET] = 0.0
        self.settings = settings
        self._memory[THRESHOLD] = np.maximum(settings.threshold, LEAST_THRESHOLD)

    @property
    def external(self) -> Array:
        """External efforts less those of the last tare, N·m or N; (n,). Zero where none are observed."""
        found: Array = self._memory[EXTERNAL] - self._memory[OFFSET]
        return found if self.observing else self._still

    @property
    def allowance(self) -> Array:
        """What errors of the model may contribute, N·m or N; (n,)."""
        return np.array(self._memory[ALLOWANCE])

    @property
    def settled(self) -> bool:
        """Whether external efforts are observed, and their beginning has decayed."""
        return self.observing and self.age * self.settings.observer.bandwidth >= OBSERVED

    def rest(self) -> None:
        """Observe nothing until the next state is taken, which begins anew; the last tare stays."""
        self.observing, self.joint = False, -1

    def tare(self) -> None:
        """Let the present external efforts be zero. Raises ControlError: none are observed, or a contact is felt."""
        refuse(
            ControlError,
            (not self.observing, "no external efforts are observed: the arm must be driven"),
            (self.joint >= 0, "a contact is felt: clear it first, or raise contact.<joint>.threshold"),
        )
        self._memory[OFFSET] = self._memory[EXTERNAL]

    def take(self, stamp: int, q: Array, qd: Array, effort: Array, qdd: Array) -> bool:
        """Take a state at `stamp`, ns, and the effort that acted since the last, (n,); whether a contact has begun."""
        dt, self._stamp = (stamp - self._stamp) / NANOSECONDS, stamp
        constants, memory = self.settings.observer.constants, self._memory
        begun = self.observing and 0.0 < dt <= OBSERVED_GAP
        if not begun or self._anew:
            self._anew, former = False, memory[EXTERNAL:].copy()
            watch_kernel(constants[0], q, qd, self._still, effort, *constants[1:], 0.0, memory)
            if begun:
                memory[EXTERNAL:] = former
            else:
                self.observing, self.age, self._calm, self.joint = True, 0.0, 0.0, -1
            return False
        self.age += dt
        felt = watch_kernel(constants[0], q, qd, qdd, effort, *constants[1:], dt, memory)
        if felt >= 0:
            began, self._calm = self.joint < 0, 0.0
            self.joint = felt
            return began
        self._calm = self._calm + dt if felt == ENDING else 0.0
        if self._calm >= CLEAR:
            self.joint = -1
        return False

    def text(self) -> str:
        """What is felt, as in "joint 'elbow': 12.3 N m beyond 4.1 N m"; empty for no contact."""
        j = self.joint
        if j < 0:
            return ""
        bound = self.settings.threshold[j] + self.allowance[j]
        name = self.settings.observer.robot.joint_names[j]
        return f"joint {name!r}: external effort {self.external[j]:.3g}, more than {bound:.3g} explain"
