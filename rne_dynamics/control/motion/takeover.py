"""Takeover of a trajectory from the current reference, without a jump up to the acceleration; check of the path."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, rare_kernel
from rne_dynamics.control.control_law import Reference, rows_reference
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.path import ORDER, Departure, Path, add_piece, distinct, evaluate_path, leaves
from rne_dynamics.control.thresholds import HALVINGS
from rne_dynamics.control.trajectory import polynomials
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Least rate in terms of which a motion under way is written in path time.
LEAST_RATE = 0.05
#: Longest time over which a difference of accelerations a dies out, s. Its offset grows to 0.0173 a T².
ACCELERATION_BLEND = 0.05


def in_path_time(now: Reference, rate: float, slope: float = 0.0) -> tuple[Reference, float, float]:
    """A motion in time as one in path time, its rate (at least `LEAST_RATE` where something moves) and slope."""
    if not (now.qd.any() or now.qdd.any()):
        return now, rate, 0.0
    if rate < LEAST_RATE:
        rate, slope = LEAST_RATE, slope * LEAST_RATE / rate if rate > 0.0 else 0.0
    first = now.qd / rate
    return Reference(now.q, first, (now.qdd - first * slope) / rate**2), rate, slope


@dataclass(frozen=True, eq=False)
class BlendedPath:
    """A path from some path time on, plus offsets that die out: a trajectory taken over. Nothing of it is copied."""

    #: The path of the trajectory.
    base: Path
    #: Path time from which on it is followed, s.
    begin: float
    #: Coefficients of (s − begin)^k, lowest power first, of each offset; rad or m; shape (offsets, 6, n).
    offsets: Array
    #: Path time from which on each offset is zero, s; `begin` for none at all; shape (offsets,).
    until: Array
    #: Path time of the end, s; together with `sample` this makes it a `Trajectory`.
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", max(self.base.duration, self.begin, *self.until.tolist()))

    @property
    def knots(self) -> Array:
        """Path times between which it is one polynomial, s; from `begin` on."""
        own = self.base.knots
        return distinct(np.concatenate([[self.begin], self.until, own[own > self.begin]]))

    def sample(self, s: float, rate: float = 1.0, slope: float = 0.0) -> Reference:
        """As `Path.sample`."""
        out = np.empty((3, self.offsets.shape[2]))
        _sample(self.base.coefficients, self.base.knots, self.begin, self.offsets, self.until, s, rate, slope, out)
        return rows_reference(out)

    def samples(self, times: Array) -> Array:
        """`sample` at many path times, shape (rows,): position, velocity, acceleration; shape (rows, 3, n)."""
        out = np.empty((len(times), 3, self.offsets.shape[2]))
        _samples(self.base.coefficients, self.base.knots, self.begin, self.offsets, self.until, times, out)
        return out

    def departure(self, bounds: Array, first: int, last: int) -> tuple[int, Departure] | None:
        """Where pieces first leave bounds (3, 2, n), and of what: 0 position, 1 velocity, 2 acceleration.

        `first`, `last`: the first piece of `base`, −1 for the time before its first knot, and behind the last one.
        """
        found = np.zeros(2)
        which = _departure(
            self.base.coefficients, self.base.knots, self.begin, self.offsets, self.until, bounds, first, last, found
        )
        if which < 0:
            return None
        what, joint = divmod(which, bounds.shape[2])
        return what, Departure(float(found[0]), joint, float(found[1]))


def takeover(base: Path, begin: float, now: Reference, blend_time: float) -> BlendedPath:
    """The path from path time `begin` on, plus the offset of `now` from it, which dies out over `blend_time`, s."""
    # quintics from the difference to zero, at rest; that of acceleration is shorter: it would lead far from the
    # trajectory
    there = base.sample(begin)
    zero = np.zeros(len(now.q))
    offsets, until = np.zeros((2, ORDER, len(now.q))), np.full(2, begin)
    for k, (e, v, a, T) in enumerate((
        (now.q - there.q, now.qd - there.qd, zero, blend_time),
        (zero, zero, now.qdd - there.qdd, min(blend_time, ACCELERATION_BLEND)),
    )):
        if e.any() or v.any() or a.any():
            ends = np.array([(e, zero), (v, zero), (a, zero)])
            offsets[k], until[k] = polynomials(np.array([0.0, T]), *ends)[0], begin + T
    return BlendedPath(base, begin, offsets, until)


@rare_kernel
def _sample(
    coefficients: Array, knots: Array, begin: float, offsets: Array, until: Array, s: float, rate: float, slope: float,
    out: Array,
) -> None:
    """`BlendedPath.sample`."""
    evaluate_path(coefficients, knots, s, rate, slope, out)
    for k in range(until.shape[0]):
        if s < until[k]:
            add_piece(offsets, k, s - begin, rate, slope, out)


@rare_kernel
def _samples(
    coefficients: Array, knots: Array, begin: float, offsets: Array, until: Array, times: Array, out: Array
) -> None:
    """`BlendedPath.samples`."""
    for r in range(times.shape[0]):
        _sample(coefficients, knots, begin, offsets, until, times[r], 1.0, 0.0, out[r])


@helper
def shift(c: Array, x: float) -> None:
    """The same polynomial counted from `x` later, in place."""
    if x != 0.0:
        for i in range(ORDER - 1):
            for k in range(ORDER - 2, i - 1, -1):
                c[k] += x * c[k + 1]


@rare_kernel
def _departure(
    coefficients: Array, knots: Array, begin: float, offsets: Array, until: Array, bounds: Array, first: int, last: int,
    found: Array,
) -> int:
    """`BlendedPath.departure`: n times what, plus the joint, or −1; the path time and the value in `found`."""
    n, end = coefficients.shape[2], knots.shape[0] - 1
    points, c, part, place = np.empty((HALVINGS + 2, ORDER)), np.empty(ORDER), np.empty(ORDER), np.empty(2)
    for what in range(3):
        for p in range(first, last):
            a = max(knots[p], begin) if p >= 0 else begin
            stop = knots[p + 1] if p < end else max(a, until[0], until[1])
            while True:
                b = stop
                for k in range(until.shape[0]):  # an offset that ends within the piece divides it
                    if a < until[k] < b:
                        b = until[k]
                which = -1
                for j in range(n):
                    c[:] = coefficients[max(p, 0), :, j]
                    if p < 0:
                        c[1:] = 0.0  # it rests where the first piece begins
                    else:
                        shift(c, a - knots[p])
                    for k in range(until.shape[0]):
                        if a < until[k]:
                            part[:] = offsets[k, :, j]
                            shift(part, a - begin)
                            for i in range(ORDER):
                                c[i] += part[i]
                    for d in range(what):
                        for k in range(ORDER - 1 - d):
                            c[k] = (k + 1) * c[k + 1]
                    low, high = bounds[what, 0, j], bounds[what, 1, j]
                    if leaves(c, ORDER - 1 - what, b - a, low, high, points, place) and (
                        which < 0 or a + place[0] < found[0]
                    ):
                        found[0], found[1], which = a + place[0], place[1], what * n + j
                if which >= 0:
                    return which
                if b >= stop:
                    break
                a = b
    return -1


# -- check of a path: its start at the arm, and its limits, between the knots too --------------------------------------


#: Polynomials, one for each piece and joint, that a control cycle has time to check: 0.2 ms on the test machine.
A_CYCLE = 700
#: Smallest step in which the rate of a path that is too fast is lowered, as a factor.
SLOWER = 0.98


class PathCheck:
    """A check of a path against limits, at the rate 1, piece by piece; with `slows` fast ones lower the rate."""
    # `blend_time`: what leaves the limits within it does so while taken over; `rest_known`: only the blend is checked

    def __init__(
        self, path: BlendedPath, now: Reference, limits: MotionLimits, blend_time: float, *, rest_known: bool = False,
        slows: bool = False,
    ) -> None:
        self._path, self._limits, self._blended = path, limits, path.begin + blend_time
        self._bounds, self._slows = limits.bounds(now), slows
        #: Rate of path time at which what is checked keeps the velocity limits.
        self.rate = 1.0
        # the pieces of the base that are checked: the next one, and the one behind the last
        knots = path.base.knots
        self._next, self._last = int(np.searchsorted(knots, path.begin, side="right")) - 1, len(knots)
        if rest_known:  # those to which an offset is added
            blended = (path.until > path.begin).any()
            self._last = int(np.searchsorted(knots, path.until.max(), side="left")) if blended else self._next

    @property
    def over(self) -> bool:
        """Whether there is nothing left to check."""
        return self._next >= self._last

    def all(self) -> None:
        """Check what is left; `TrajectoryError` where the path leaves the limits."""
        self._check(self._last)

    def cycle(self, s: float) -> None:
        """Check what a control cycle has time for, and what is followed until path time `s`; `TrajectoryError`."""
        if not self.over:
            needed = int(np.searchsorted(self._path.base.knots, s, side="right"))
            self._check(min(self._last, max(needed, self._next + max(A_CYCLE // len(self._limits.joints), 1))))

    def _check(self, last: int) -> None:
        found = self._path.departure(self._bounds, self._next, last)
        while self._slows and found is not None and found[0] == 1:
            factor = min(self._bounds[1, 1, found[1].joint] / abs(found[1].value), SLOWER)
            self.rate *= factor
            self._bounds[1] /= factor
            found = self._path.departure(self._bounds, self._next, last)
        self._next = last
        if found is not None:
            raise TrajectoryError(self._text(*found))

    def _text(self, what: int, place: Departure) -> str:
        limits, j = self._limits, place.joint
        hint = "" if place.t >= self._blended else (
            "; where the trajectory itself stays within, it is so while the arm is led onto the trajectory from what "
            "it does now: start where the arm is and as fast as it moves, or allow more time"
        )
        if what == 0:
            return (
                f"joint {limits.joints[j]!r} would be at {place.value:.6g} at {place.t:.3f} s; "
                f"allowed is [{limits.lower[j]:.6g}, {limits.upper[j]:.6g}]{hint}"
            )
        if what == 1:
            return (
                f"joint {limits.joints[j]!r} would move at {place.value:.6g} per second at {place.t:.3f} s; allowed is "
                f"{limits.velocity[j]:.6g}. Give the trajectory more time{hint}"
            )
        return (
            f"joint {limits.joints[j]!r} would accelerate by {place.value:.3g} per s² at {place.t:.3f} s; no "
            "arm does. Look for points that nearly coincide in time"
        )


def away(first: Array, now: Array, limits: MotionLimits) -> NDArray[np.bool_]:
    """Joints at which a trajectory lies too far from where the arm is asked to be; as for `check_start`, (n,)."""
    return ~(np.abs(first - now) <= limits.start)


def check_start(first: Array, now: Array, limits: MotionLimits, off: Array | float = 0.0) -> None:
    """`TrajectoryError` where a trajectory is too far from the arm, (n,); `off`: turns taken off what was sent, rad."""
    gap, sent, allowed = np.abs(first - now), first + off, np.broadcast_to(limits.start, now.shape)
    beyond = away(first, now, limits)
    if beyond.any():
        j = int(np.argmax(np.where(beyond, gap, -1.0)))
        raise TrajectoryError(
            f"joint {limits.joints[j]!r}: the trajectory starts at {sent[j]:.6g}, {gap[j]:.3g} away from where the "
            f"arm is held; it may differ by {allowed[j]:g} (constraints.start). Start where the arm is, or give the "
            "first point a time above 0"
        )
