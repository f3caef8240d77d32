"""Feedback gains of each joint, and their stability: discrete poles with one period of delay, and the largest delay.

With exact inertia each joint is a double integrator, whatever the arm. In a sampled loop its acceleration u is computed
from the last state, acts one period T later and is held for one period:

    e⁺ = e + T v + T²/2 u⁻,  v⁺ = v + T u⁻,  s⁺ = s + T e,  u = −(p e + i s + d v)

In continuous time p, i and d close the loop L(s) = (d s² + p s + i) / s³. At a crossover ω, |L(jω)| = 1, the phase
margin is φ = atan2(p ω, i − d ω²) − π/2, and a delay of φ / ω makes the loop oscillate without end. Crossovers are the
roots x = ω² of x³ − d² x² − (p² − 2 i d) x − i² = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.parameters import frozen_vector, joint_name
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array, Rebuilt, set_fields

#: Damping ratio of the sampled loop below which a warning is given.
LEAST_DAMPING_RATIO = 0.3
#: Smallest ratio of the rate to the bandwidth of critically damped gains.
SAMPLES_OF_BANDWIDTH = 6.0
#: Largest bandwidth chosen by default, rad/s: above it the drives and the elasticity of gears, which no model here has,
#: count on most arms.
USUAL_BANDWIDTH = 40.0
#: Mean age of a state while its effort acts, in periods: one of delay, and half of one in which the effort is held.
PERIODS_OF_DELAY = 1.5
#: Factor between the rate at which gains stop being stable and the lowest at which the arm is driven with them.
RATE_SAFETY = 1.25
#: The delay tolerated is the critical one divided by this. On an arm of half the model's mass the loop has twice the
#: gain, and half the critical delay; the rest is left for damping, and for elastic gears.
DELAY_SAFETY = 3.0


@dataclass(frozen=True, eq=False)
class Gains(Rebuilt):
    """Gains of p·e + i·∫e dt + d·ė for each joint, with e = desired − measured.

    In computed torque the result is an acceleration (p in 1/s², i in 1/s³, d in 1/s); in PD plus gravity it is a
    torque (N·m/rad, …). `i_clamp` bounds |i·∫e| in the unit of the result.

    Parameters
    ----------
    p, i, d, i_clamp
        Not negative; shape (n,). A single number counts for all joints where another gain has n of them.
    joint_names
        For messages; length n.

    Raises
    ------
    ControlError
        A negative gain, NaN or infinity (only `i_clamp` may be infinite), or shapes that do not agree.
    """

    p: Array
    i: Array = field(default_factory=lambda: np.zeros(1))
    d: Array = field(default_factory=lambda: np.zeros(1))
    i_clamp: Array = field(default_factory=lambda: np.full(1, np.inf))
    joint_names: Sequence[str] | None = field(default=None, repr=False)
    #: Whether any joint has an integral gain.
    integrates: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("p", "i", "d", "i_clamp")}
        n = max(map(np.size, given.values()))
        set_fields(self, **{
            name: frozen_vector(
                np.reshape(value, ()) if np.size(value) == 1 else value, n, f"gain {name}", lowest=0.0,
                finite=name != "i_clamp", names=self.joint_names,
            ) for name, value in given.items()
        })
        set_fields(self, integrates=bool(self.i.any()))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.p)

    @classmethod
    def critically_damped(cls, n: int, bandwidth: ArrayLike) -> Gains:
        """Gains that make ë + 2ω ė + ω² e = 0 under computed torque: errors die out fastest without overshoot.

        Parameters
        ----------
        n
            Number of joints.
        bandwidth
            ω, rad/s, above 0; one number or shape (n,).
        """
        omega = frozen_vector(bandwidth, n, "bandwidth", lowest=float(np.nextafter(0.0, 1.0)))
        return cls(p=omega**2, i=np.zeros(n), d=2.0 * omega)

    def fit(self, n: int, law: str) -> None:
        """`ControlError` unless there is one set of gains for each of `n` joints."""
        if self.n != n:
            raise ControlError(f"{law}: gains for {self.n} joints, but the robot has {n}")


def sampled_poles(p: float, i: float, d: float, period: float) -> Array:
    """Poles z of one joint's error with the period T, s, complex; those that gains of 0 leave at 1 are left out."""
    T = period
    A = np.array([[1.0, T, 0.5 * T * T, 0.0], [0.0, 1.0, T, 0.0], [-p, -d, 0.0, -i], [T, 0.0, 0.0, 1.0]])
    placed = p > 0.0 or i > 0.0
    moved = placed or d > 0.0
    kept = np.flatnonzero([placed, moved, moved, i > 0.0])
    return np.linalg.eigvals(A[np.ix_(kept, kept)]).astype(complex)


def damping_ratio(p: float, i: float, d: float, period: float) -> float:
    """Smallest damping ratio of the poles, as ln(z) / T in the s-plane; 0 or less: not stable. 1 without gains."""
    poles = sampled_poles(p, i, d, period)
    rates = np.log(np.where(poles == 0.0, 1e-300, poles))
    size = np.abs(rates)
    return float(np.min(-rates.real / np.where(size > 0.0, size, 1.0), initial=1.0))


def check_gains(gains: Gains, rate: float, joints: Sequence[str] | None = None) -> tuple[str, ...]:
    """Warnings about joints whose error oscillates at `rate` efforts per second; `ControlError` if one is unstable."""
    unstable, ringing = [], []
    for j, (p, i, d) in enumerate(zip(gains.p, gains.i, gains.d, strict=True)):
        ratio = damping_ratio(float(p), float(i), float(d), 1.0 / rate)
        what = f"{joint_name(j, joints)} (p {p:g}, i {i:g}, d {d:g}"
        if ratio <= 1e-9:
            unstable.append(f"{what})")
        elif ratio < LEAST_DAMPING_RATIO:
            ringing.append(f"{what}: damping ratio {ratio:.2f})")
    advice = "Choose p = w^2, i = 0, d = 2 w with w at most a sixth of the rate"
    at = f"at {rate:g} joint states per second and with one period of delay"
    if unstable:
        raise ControlError(
            f"gains are not stable {at}: {', '.join(unstable)}. {advice}, or set min_rate to the rate at which joint "
            "states always come"
        )
    if ringing:
        return (
            f"gains are stable {at}, but errors oscillate: {', '.join(ringing)}; at least {LEAST_DAMPING_RATIO:g} is "
            f"advised. {advice}",
        )
    return ()


def advised_bandwidth(rate: float) -> float:
    """Bandwidth, rad/s, of critically damped gains where only `rate`, joint states per second, is known."""
    return min(USUAL_BANDWIDTH, rate / SAMPLES_OF_BANDWIDTH)


def lowest_rate(gains: Gains) -> float:
    """States per second below which an arm must not be driven with these gains; 0 without, infinite if unstable."""
    critical = float(np.min(critical_delays(gains.p, gains.i, gains.d), initial=np.inf))
    return RATE_SAFETY * PERIODS_OF_DELAY / critical if critical > 0.0 else np.inf


def tolerated_delay(p: Array, i: Array, d: Array) -> float:
    """Largest delay that all joints tolerate, s: from a state until half of the time for which its effort acts."""
    return float(np.min(critical_delays(p, i, d), initial=math.inf)) / DELAY_SAFETY


def critical_delays(p: Array, i: Array, d: Array) -> Array:
    """The delay from which on each joint's loop is not stable, s; shape (n,). Parameters as for `tolerated_delay`."""
    return np.array([_critical_delay(float(a), float(b), float(c)) for a, b, c in zip(p, i, d, strict=True)])


def _critical_delay(p: float, i: float, d: float) -> float:
    if p == i == d == 0.0:
        return math.inf
    if (p > 0.0 or i > 0.0) and p * d <= i:
        return 0.0
    # in units of the fastest rate, so that neither tiny nor huge gains lose digits
    unit = max(d, math.sqrt(p), math.pow(i, 1.0 / 3.0))
    p, i, d = p / unit**2, i / unit**3, d / unit
    roots = np.roots([1.0, -d * d, 2.0 * i * d - p * p, -i * i])
    crossovers = [math.sqrt(x.real) for x in roots if x.real > 1e-12 and abs(x.imag) <= 1e-9 * abs(x)]
    delays = [(math.atan2(p * omega, i - d * omega**2) - 0.5 * math.pi) / omega for omega in crossovers]
    return max(min(delays, default=math.inf), 0.0) / unit
