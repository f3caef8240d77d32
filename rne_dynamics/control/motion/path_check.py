"""Check of a path: its start at the arm, and its limits, between the knots too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.bounds import Departure
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.takeover import BlendedPath
from rne_dynamics.control.reference import Reference
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Polynomials, one for each piece and joint, that a control cycle has time to check: 0.2 ms on the test machine.
A_CYCLE = 700
#: Smallest step in which the rate of a path that is too fast is lowered, as a factor.
SLOWER = 0.98


class PathCheck:
    """A check of a path against limits of position, velocity and acceleration, at the rate 1, piece by piece.

    `path`: from its `begin`, the blend included. `now`: the reference there: a joint that is outside the limits may
    move, but not further out, nor faster. `limits`: see `MotionLimits`. `blend_time`: s; what leaves the limits within
    it is reported to do so while the trajectory is taken over. `rest_known`: whether what follows the blend was checked
    before, so that only the pieces of the blend are to be checked. `slows`: whether velocities beyond the limits lower
    the rate at which the path may be followed, and are no error.
    """

    def __init__(
        self, path: BlendedPath, now: Reference, limits: MotionLimits, blend_time: float, *, rest_known: bool = False,
        slows: bool = False,
    ) -> None:
        self._path, self._limits, self._blended = path, limits, path.begin + blend_time
        self._bounds, self._slows = limits.bounds(now), slows
        #: Rate of path time at which what is checked keeps the velocity limits.
        self.rate = 1.0
        self._next, self._last = path.pieces()
        if rest_known:
            self._last = path.blended()

    @property
    def over(self) -> bool:
        """Whether there is nothing left to check."""
        return self._next >= self._last

    def all(self) -> None:
        """Check what is left; `TrajectoryError` where the path leaves the limits."""
        self._check(self._last)

    def cycle(self, s: float) -> None:
        """Check what a control cycle has time for, and in any case what is followed until path time `s`.

        Raises TrajectoryError: the path leaves the limits.
        """
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
    """`TrajectoryError` where a trajectory lies too far from where the arm is asked to be.

    `first`, `now`: where the trajectory is and where the arm is asked to be, rad or m; shape (n,). `limits`: of which
    `start` counts. `off`: whole turns that were taken off the trajectory's positions, rad, (n,): the message has them
    as they were sent.
    """
    gap, sent, allowed = np.abs(first - now), first + off, np.broadcast_to(limits.start, now.shape)
    beyond = away(first, now, limits)
    if beyond.any():
        j = int(np.argmax(np.where(beyond, gap, -1.0)))
        raise TrajectoryError(
            f"joint {limits.joints[j]!r}: the trajectory starts at {sent[j]:.6g}, {gap[j]:.3g} away from where the "
            f"arm is held; it may differ by {allowed[j]:g} (constraints.start). Start where the arm is, or give the "
            "first point a time above 0"
        )
