"""Springs and dampers of impedance laws by modes: double diagonalisation, and modes that the rate cannot damp.

Inertia M = Q Qᵀ and stiffness K = Q diag(ω²) Qᵀ have common modes, the columns of Q⁻ᵀ (Albu-Schäffer and others 2003).
The damping D = Q diag(2 ζ ω) Qᵀ gives each the ratio ζ in any posture. A loop of `rate` efforts per second cannot damp
modes faster than `fastest`: of those, spring and damper are those of the fastest mode that it can damp.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import LawTolerances, MotionDemand, Reference
from rne_dynamics.control.felt_inertia import PostureInertia
from rne_dynamics.control.gains import PERIODS_OF_DELAY, Gains, lowest_rate
from rne_dynamics.control.laws.computed_torque import GAIN_I, put_friction
from rne_dynamics.control.thresholds import OVERSPEED
from rne_dynamics.control.tracking_law import KernelLaw
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import backward, forward, jacobi, reduced
from rne_dynamics.spatial.rows import add_scaled, product, transposed_times

#: Damping of a mode over the rate, and mode over the rate for a damping ratio of 1, at which it counts as too fast:
#: damping of more is felt as noise and late, a mode with less of it gains energy from a delay of one period.
DAMPED, UNDAMPED = 0.25, 0.5
#: Damping ratios: the least that is allowed, and the one that is chosen.
LEAST_RATIO, RATIO = 0.05, 1.0
#: Exactness of modes: damping may be off by 1e-4 of itself, the springs' torque is not.
ALMOST = 1e-9
#: Part of a stiffness that may be missing before anything is said.
NOTICED = 0.01
#: Growth of the rate for which modes are softened, from one call of `act_after` to the next.
STIFFENING = 1.05
#: Delay from which on all of the feedback is lowered, over the one that modes are softened for.
TOLERATED = 2.0
#: Square of a mode that counts as none, 1/s².
TINY = 1e-9
#: Part of its velocity limit that compensated friction may drive a joint without friction beyond the desired velocity,
#: and the row of the law's table with that limit: it has no integral gain.
HELD_FRICTION, SPEED = OVERSPEED - 1.0, GAIN_I
#: Parts of the velocity limits at which springs no longer accelerate a mode, and by which they may always make it
#: faster than desired.
DRIVEN, LEFT = 0.8, 0.25


@helper
def fastest_mode(ratio: float, rate: float) -> float:
    """ω of the fastest mode that `rate`, 1/s, can give the damping ratio, rad/s."""
    return rate * min(0.5 * DAMPED / ratio, UNDAMPED * ratio)


@helper
def uniform_ratio(ratios: Array) -> float:
    """The damping ratio that all springs have, 0 where they differ."""
    for k in range(1, ratios.shape[0]):
        if ratios[k] != ratios[0]:
            return 0.0
    return float(ratios[0])


@kernel
def put_impedance(
    L: Array, K: Array, Z: Array, uniform: float, spring: Array, velocity: Array, rate: float, torque: Array,
    damping: Array,
) -> None:
    """Torque of springs and dampers, softened where their mode is too fast, into `torque`, and D_jj into `damping`.

    L (n, n): Cholesky factor of the inertia, M = L Lᵀ. K (n, n): stiffness, not negative definite. `uniform`: damping
    ratio of all springs; if it is 0 Z (n, n) counts: K with each of its springs times its damping ratio, and a mode has
    the mean by its elastic energy. `spring` (n,): torque of the springs, which is overwritten. `velocity` (3, n):
    desired less measured, desired, and its limits.

    As a mode comes near the velocity limit of a joint in it, its force ends, as steeply as the rate can damp.
    """
    n = L.shape[0]
    A, V, x, turned = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty((2, n))
    reduced(L, K, A)
    jacobi(A, V, ALMOST)
    forward(L, spring)
    torque[:] = 0.0
    damping[:] = 0.0
    for row in range(2):
        transposed_times(L, velocity[row], turned[row])
    for m in range(n):
        square = A[m, m]
        force = product(V[m], spring)
        if square > 0.0:
            ratio, slow = uniform, 0.0
            x[:] = V[m]
            backward(L, x)  # motion of the joints at a speed of the mode of 1
            for j in range(n):
                slow = max(slow, abs(x[j]) / velocity[2, j])
            if uniform == 0.0:
                share = 0.0
                for i in range(n):
                    share += x[i] * product(Z[i], x)
                ratio = max(share / square, LEAST_RATIO)
            omega, fastest = math.sqrt(square), fastest_mode(ratio, rate)
            if omega > fastest:
                force *= fastest * fastest / square
                omega = fastest
            damper = 2.0 * ratio * omega
            lag, aim = product(V[m], turned[0]), product(V[m], turned[1])
            force += damper * lag
            if slow > 0.0:
                quick, speed = DAMPED * rate, aim - lag
                force = min(force, quick * (max(DRIVEN / slow, LEFT / slow + aim) - speed))
                force = max(force, -quick * (max(DRIVEN / slow, LEFT / slow - aim) + speed))
            for j in range(n):
                entry = product(L[j, : j + 1], V[m])
                damping[j] += damper * entry * entry
        add_scaled(torque, force, V[m])
    for i in range(n - 1, -1, -1):
        torque[i] = product(L[i, : i + 1], torque[: i + 1])


@helper
def put_bounded(table: Array, q: Array, reference: Reference, terms: Array) -> None:
    """`put_friction`, limited by the damping, which is in the row of the feedback before; limits of speed in `SPEED`.

    A joint that turns out to have no friction is driven on by all of it, until damping balances that.
    """
    n = q.shape[0]
    held = np.empty(n)
    for j in range(n):
        held[j] = HELD_FRICTION * table[SPEED, j] * terms[4, j]
    put_friction(table, q, reference, terms)
    for j in range(n):
        terms[3, j] = min(max(terms[3, j], -held[j]), held[j])


class Springs(KernelLaw, ABC):
    """What impedance laws share: dataclasses with the field `rate`, efforts per second, and `softening`."""

    rate: float
    #: A held arm keeps its place, whoever pushes it; friction leaves it off its goal.
    tolerances: ClassVar[LawTolerances] = LawTolerances(holding_error=0.0, goal=0.05)
    #: Other parameters come into force over this time, s.
    fade_time: ClassVar[float] = 0.5
    #: As of `ControlLaw`: with a longer one light joints are beyond their velocity limits before that is answered.
    longest_delay: ClassVar[float] = 0.015

    @property
    @abstractmethod
    def softening(self) -> Softening:
        """Of its modes, in all postures."""

    @cached_property
    def damped_rate(self) -> Array:
        """The rate for which modes are softened now, 1/s, (1,); see `act_after`."""
        return np.array([self.rate])

    def act_after(self, delay: float, period: float) -> None:
        """Soften modes for a delay from a state until its effort acts and for a time between states, s: less slowly."""
        rate, wanted = self.damped_rate, PERIODS_OF_DELAY / (delay + 0.5 * period)
        rate[0] = min(self.rate, wanted, STIFFENING * rate[0])

    @property
    def tolerated_delay(self) -> float:
        """As of `ControlLaw`: about 50 % of the critical one of a mode as fast as is damped now."""
        return TOLERATED * PERIODS_OF_DELAY / float(self.damped_rate[0])

    @cached_property
    def lowest_rate(self) -> float:
        """As of `ControlLaw`."""
        return self.softening.lowest_rate(self.rate)

    @property
    def motion_demand(self) -> MotionDemand:
        """As of `ControlLaw`: each joint answers like the fastest mode, slowed to what the rate can damp."""
        fastest = min(self.softening.fastest, 0.5 * DAMPED * self.rate)
        return MotionDemand(self.friction_rows, np.full(self.robot.n, fastest))

    def __reduce__(self) -> tuple[Any, ...]:
        """With what is searched for in many postures: a control loop that receives the law must not wait for that."""
        return *super().__reduce__(), {"lowest_rate": self.lowest_rate}


# -- what a rate leaves of springs, in all postures --------------------------------------------------------------------


@dataclass(frozen=True)
class Softening:
    """The fastest mode of springs over many postures, and what a rate leaves of them."""

    #: rad/s, and the posture in which it is met, (n,).
    fastest: float
    posture: Array
    #: Lowest damping ratio, and the highest.
    ratios: tuple[float, float]
    #: Squares of the modes, (B, n), and torques of unit efforts along springs in their coordinates, (B, n, springs).
    squares: Array
    efforts: Array

    @classmethod
    def of(
        cls, study: PostureInertia, stiffness: Array, ratio: Array, along: Array | None = None
    ) -> Softening:
        """Of springs with this stiffness, (n, n) or (B, n, n), and damping ratios over postures.

        `along`: torques of unit efforts along the springs, (B, n, springs); by default of each joint.
        """
        L = np.linalg.cholesky(study.inverse)
        turned = np.swapaxes(L, 1, 2)
        squares, V = np.linalg.eigh(turned @ stiffness @ L)
        efforts = np.swapaxes(V, 1, 2) @ (turned if along is None else turned @ along)
        worst = int(squares[:, -1].argmax())
        fastest = math.sqrt(max(float(squares[worst, -1]), 0.0))
        ratios = float(ratio.min()), float(ratio.max())
        return cls(fastest, study.postures[worst], ratios, np.maximum(squares, TINY), efforts)

    def left(self, rate: float) -> Array:
        """Part of each spring's stiffness that is left in the posture in which that is least; (springs,)."""
        limit = min(fastest_mode(ratio, rate) for ratio in self.ratios) ** 2
        given, soft = (
            (self.efforts**2 / squares[..., None]).sum(axis=1)
            for squares in (self.squares, np.minimum(self.squares, limit))
        )
        return np.asarray(np.divide(given, soft, np.ones_like(given), where=soft > 0.0).min(axis=0))

    def lowest_rate(self, rate: float) -> float:
        """Efforts per second below which modes that were softened for `rate` are not stable, Hz."""
        omegas = [min(self.fastest, fastest_mode(ratio, rate)) for ratio in self.ratios]
        return lowest_rate(Gains(np.square(omegas), np.zeros(2), 2.0 * np.multiply(self.ratios, omegas)))

    def check(self, rate: float, law: str, springs: Sequence[str], given: NDArray[np.bool_]) -> tuple[str, ...]:
        """As of `ControlLaw.check_rate`: which of the `given` springs are softened at a rate, and to what."""
        left = self.left(rate) if given.any() else np.ones(len(given))
        soft = [f"{name} to {left[k]:.0%}" for k, name in enumerate(springs) if given[k] and left[k] < 1.0 - NOTICED]
        if not soft:
            return ()
        near = ", ".join(f"{x:.2f}" for x in self.posture)
        limit = min(fastest_mode(ratio, rate) for ratio in self.ratios)
        return (
            f"{law}: {rate:g} joint states per second damp modes up to {limit:.3g} rad/s, and the fastest one is "
            f"{self.fastest:.3g} rad/s (near q = [{near}]). In such postures stiffness is softened: {', '.join(soft)}. "
            "Set it lower, or set min_rate to the rate at which joint states always come",
        )
