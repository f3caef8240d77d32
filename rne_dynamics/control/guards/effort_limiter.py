"""Limits on every effort: soft walls, overspeed damping, effort and rate limits.

In this order, each joint alone (the only exception is saturation "direction"); support is what holds the arm, motion
the rest, I the inertia a joint feels, ω the stop frequency:

1. Overspeed. From the velocity limit v on a damper, −2 I ω (|q̇| − v) against q̇. Motion effort that speeds the joint
   up fades out until `EXCESS` beyond v.
2. Wall. p is how far the joint is inside the margin m of a position limit. Motion effort outwards fades with p / m
   and is gone at the limit. A spring and a damper push inwards: I ω (ω (p − p₀) + 2 min(p / (`DAMPER_RAMP` m), 1) ṗ),
   but never pull outwards. p₀ is 0; of a joint that starts inside the margin it is where it starts, so that activation
   moves nothing, and it follows the joint inwards. On its way back a wall so gives no more energy than its spring took.
3. Effort. Support, damper and wall are s, what is left of motion is m; λ ≤ 1 a factor. "joint": s + m cut at ± limit.
   The acceleration then is M⁻¹(cut(s + m) − bias), which turns away from the one requested. "direction": cut(s + λ m)
   with the largest λ, the same for all joints, that cuts nothing more. Then, where s is within the limits and holds
   the arm, the acceleration is λ M⁻¹ m: slower, in the same direction. Where s alone is at a limit and m asks for
   more, λ is 0 and all joints lose feedback and damping; therefore "joint" is the default.
4. Rate. At most rate · min(dt, `LONGEST_STEP`) from the last command.

What holds for every input (tests prove it with random input):

- The command is finite, or `ControlError` was raised and nothing has changed.
- |command − last| ≤ rate · min(dt, `LONGEST_STEP`): always. (From above a limit lowered by `change` on: the larger one
  of the rates before and after.)
- |command| ≤ effort limit: always, but for the way down after `change` has lowered the limit below the last command,
  where the rate wins: a step would shake the arm, and the way takes no longer than last / rate.
- At or beyond a position limit the command pushes no further out than the support does, unless the rate forbids so fast
  a change, or the support itself is beyond the effort limit. Both are flagged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.guards import effort_limits as rows
from rne_dynamics.control.guards.effort_limits import DAMPER_RAMP, EffortLimits
from rne_dynamics.control.parameters import frozen_vector, joint_name
from rne_dynamics.control.thresholds import LARGEST, LONGEST_STEP
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array

#: Bits of `Limited.flags`: what changed a joint's effort.
EFFORT, RATE, STOP, VELOCITY = 1, 2, 4, 8
#: Part of the velocity limit beyond it over which effort that speeds a joint up fades out.
EXCESS = 0.1

# Rows of the limiter's memory, after those of `EffortLimits.table`: inputs of a call; last command, inertia felt, where
# the wall's spring rests, rate on the way down from larger limits, whether the wall is anchored anew (1 or 0).
(
    SUPPORT, MOTION, POSITION, SPEED, _LAST, _INERTIA, _REST, _RATE_ABOVE, _FRESH, _ROWS,
) = range(rows.TABLE_ROWS, rows.TABLE_ROWS + 10)  # fmt: skip
_INPUT_ROWS, _WALLS = slice(SUPPORT, SPEED + 1), slice(rows.LOWER, rows.MARGIN + 1)
_INPUTS = ("support effort", "motion effort", "position", "velocity")
#: Answer of `limit_kernel` where an input is not finite.
REFUSED = -1


class Limited(NamedTuple):
    """Limited efforts."""

    #: Efforts, N·m or N; shape (n,).
    command: Array
    #: What changed them, bits `EFFORT`, `RATE`, `STOP`, `VELOCITY`; shape (n,).
    flags: NDArray[np.uint8]
    #: Whether any flag is set.
    any: bool

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Joints whose effort was limited, as `integrate_error` takes them; shape (n,)."""
        return np.asarray(self.flags != 0)


@helper
def _faded(motion: float, outward: float, keep: float) -> float:
    """A motion effort of which the part along `outward` (its sign) is kept by a factor, 0 or more."""
    return motion * max(keep, 0.0) if motion * outward > 0.0 else motion


@helper
def _place(q: float, lower: float, upper: float, margin: float) -> tuple[float, float, float]:
    """Which wall a joint is in (+1 upper, −1 lower, 0 none), how deep, and what is left to the limit, rad or m."""
    if q >= upper - margin:
        return 1.0, q - (upper - margin), upper - q
    if q <= lower + margin:
        return -1.0, (lower + margin) - q, q - lower
    return 0.0, 0.0, np.inf


@helper
def _common_factor(motion: float, support: float, limit: float) -> float:
    """Largest factor, 0 to 1, by which `motion` may be added to `support` within ± limit."""
    if motion == 0.0:
        return 1.0
    room = limit - support if motion > 0.0 else limit + support
    return min(max(room, 0.0) / abs(motion), 1.0)


@kernel
def limit_kernel(
    memory: Array, dt: float, walls: bool | np.bool_, fade: float, command: Array, flags: NDArray[np.uint8]
) -> int:
    """The steps of the module's docstring, without `walls` the last two; all flags together, or −1 and no change."""
    n = command.shape[0]
    if not abs(dt) < np.inf:
        return REFUSED
    fade = min(max(fade, 0.0), 1.0)
    for j in range(n):
        for row in range(SUPPORT, SPEED + 1):
            if not abs(memory[row, j]) <= LARGEST:
                return REFUSED
    factor, direction = 1.0, walls
    for j in range(n):
        flag = 0
        support, motion, qd = memory[SUPPORT, j], memory[MOTION, j], memory[SPEED, j]
        frequency = memory[rows.FREQUENCY, j]
        damping = 2.0 * memory[_INERTIA, j] * frequency
        if walls:
            velocity = memory[rows.VELOCITY, j]
            excess = abs(qd) - velocity
            damper = 0.0
            if excess > 0.0:
                along = np.sign(qd)
                damper = -fade * damping * excess * along
                allowed = _faded(motion, along, 1.0 - excess / (EXCESS * velocity))
                flag |= VELOCITY if damper != 0.0 or allowed != motion else 0
                motion = allowed
            margin = memory[rows.MARGIN, j]
            outward, depth, room = _place(memory[POSITION, j], memory[rows.LOWER, j], memory[rows.UPPER, j], margin)
            if outward == 0.0:
                memory[_REST, j] = 0.0
            else:
                keep = room / margin if margin > 0.0 else 0.0
                allowed = _faded(motion, outward, keep)
                brake = _faded(damper, outward, keep)
                # where the spring rests, with the sign of its side; it follows the joint inwards
                rest = depth if memory[_FRESH, j] != 0.0 else min(max(outward * memory[_REST, j], 0.0), depth)
                memory[_REST, j] = outward * rest
                ramp = min(depth / (DAMPER_RAMP * margin), 1.0) if margin > 0.0 else 1.0
                spring = memory[_INERTIA, j] * frequency * frequency * (depth - rest)
                wall = fade * max(spring + damping * ramp * outward * qd, 0.0)
                flag |= STOP if wall != 0.0 or allowed != motion or brake != damper else 0
                motion, damper = allowed, brake - outward * wall
            support += damper
            memory[_FRESH, j] = 0.0
            direction = direction and memory[rows.DIRECTION, j] != 0.0
        limit = memory[rows.EFFORT, j]
        factor = min(factor, _common_factor(motion, support, limit))
        memory[SUPPORT, j], memory[MOTION, j], flags[j] = support, motion, flag
    together = 0
    if not direction:
        factor = 1.0
    for j in range(n):
        limit, last = memory[rows.EFFORT, j], memory[_LAST, j]
        motion = memory[MOTION, j]
        asked = memory[SUPPORT, j] + factor * motion
        target = min(max(asked, -limit), limit)
        flag = np.int64(flags[j])  # as plain Python, uint8 has no room for flags of other kernels
        if target != asked or (factor < 1.0 and motion != 0.0):
            flag |= EFFORT
        # inf * 0 would be NaN: without a rate limit any step is allowed
        rate = memory[_RATE_ABOVE, j] if abs(last) > limit else memory[rows.RATE, j]
        step = rate * min(max(dt, 0.0), LONGEST_STEP) if rate < np.inf else np.inf
        if abs(target - last) > step:
            target = last + step if target > last else last - step
            flag |= RATE
        if abs(target) > limit:
            flag |= EFFORT
        memory[_LAST, j] = command[j] = target
        flags[j] = flag
        together |= flag
    return together


class EffortLimiter:
    """Limits efforts and remembers the last ones. One object a loop; only results are allocated.

    Parameters
    ----------
    limits
        What is kept.
    """

    def __init__(self, limits: EffortLimits) -> None:
        #: For a kernel that fills the inputs and calls `limit_kernel` itself; `judge` then takes its answer.
        self.memory = np.zeros((_ROWS, limits.n))
        self._shape = (limits.n,)
        #: What is kept at present.
        self.limits = limits
        self._take(limits)

    @property
    def last(self) -> Array:
        """The last command, N·m or N; shape (n,), a copy."""
        return np.array(self.memory[_LAST])

    def start(self, effort: Array) -> None:
        """Begin at what the motors give now, N·m or N, shape (n,): the first step is limited against it.

        Efforts beyond the limit count as at the limit. A joint inside a margin may stay there; see the module.

        Raises
        ------
        ControlError
            An effort that is not finite.
        """
        given = frozen_vector(effort, self.limits.n, "present effort", names=self.limits.joints or None)
        np.clip(given, -self.limits.effort, self.limits.effort, out=self.memory[_LAST])
        self.memory[_FRESH] = 1.0

    def update_inertia(self, inertia: Array) -> None:
        """Take the inertia that each joint feels, kg·m² or kg, shape (n,), for walls and dampers.

        `felt_inertia` makes it of the mass matrix. Until the first call walls only fade motion out.

        Raises
        ------
        ControlError
            An inertia that is negative or not finite.
        """
        self.memory[_INERTIA] = frozen_vector(
            inertia, self.limits.n, "inertia", lowest=0.0, highest=LARGEST, names=self.limits.joints or None
        )

    def change(self, limits: EffortLimits) -> None:
        """Other limits from the next command on; the last command stays the one against which steps are limited.

        Raises
        ------
        ControlError
            Limits for another number of joints.
        """
        if limits.n != self.limits.n:
            raise ControlError(f"limits are for {limits.n} joints; the limiter has {self.limits.n}")
        self._take(limits)

    def _take(self, limits: EffortLimits) -> None:
        above = np.abs(self.memory[_LAST]) > self.limits.effort  # still on the way down from limits before these
        before = np.where(above, np.maximum(self.memory[_RATE_ABOVE], self.limits.rate), self.limits.rate)
        self.memory[_RATE_ABOVE] = np.maximum(before, limits.rate)
        self.limits = limits
        moved = (self.memory[_WALLS] != limits.table[_WALLS]).any(axis=0)  # perhaps over a joint
        self.memory[_FRESH] = np.maximum(self.memory[_FRESH], moved)
        self.memory[: rows.TABLE_ROWS] = limits.table

    def limit(self, support: Array, motion: Array, q: Array, qd: Array, dt: float, fade: float = 1.0) -> Limited:
        """The effort to send, where a law asks for `support` + `motion`.

        Parameters
        ----------
        support
            What holds the arm (gravity), N·m or N; shape (n,).
        motion
            All else, N·m or N; shape (n,).
        q, qd
            Measured position and velocity, rad or m and per s; shape (n,).
        dt
            Time since the last command, s; below 0 counts as 0, above `LONGEST_STEP` as that.
        fade
            Factor of walls and overspeed dampers, 0 to 1: a released arm must not be pushed by them without end.

        Raises
        ------
        ControlError
            A number that is not finite (or beyond `LARGEST`), or a wrong shape; names joint and value. Nothing has
            changed then, and no effort must be sent.
        """
        return self._run(support, motion, q, qd, dt, True, fade)

    def approach(self, effort: Array, dt: float) -> Limited:
        """One step from the last command towards `effort`, within effort and rate limit but without walls and dampers.

        For releasing the arm, and where its state is not known.

        Raises
        ------
        ControlError
            As for `limit`.
        """
        zero = np.zeros(self.limits.n)
        return self._run(effort, zero, zero, zero, dt, False)

    def _run(
        self, support: Array, motion: Array, q: Array, qd: Array, dt: float, walls: bool, fade: float = 1.0
    ) -> Limited:
        memory, shape = self.memory, self._shape
        for name, values in zip(_INPUTS, (support, motion, q, qd), strict=True):
            if values.shape != shape:
                raise ControlError(f"{name} has shape {values.shape}; the limits are for {shape}")
        # copied: a kernel would be compiled anew for read-only or strided arrays, in the middle of a motion
        memory[SUPPORT], memory[MOTION], memory[POSITION], memory[SPEED] = support, motion, q, qd
        command, flags = np.empty(shape), np.empty(shape, dtype=np.uint8)
        return self.judge(limit_kernel(memory, float(dt), walls, float(fade), command, flags), dt, command, flags)

    def judge(self, together: int, dt: float, command: Array, flags: NDArray[np.uint8]) -> Limited:
        """What `limit` would have given where `limit_kernel` has answered `together`; errors as there."""
        if together == REFUSED:
            raise self._refusal(dt)
        return Limited(command, flags, together != 0)

    def _refusal(self, dt: float) -> ControlError:
        if not abs(dt) < np.inf:
            return ControlError(f"time since the last effort is {dt} s; it must be finite, so no effort was passed on")
        good = np.abs(self.memory[_INPUT_ROWS]) <= LARGEST
        row, j = np.unravel_index(int(np.argmin(good)), good.shape)
        name = joint_name(int(j), self.limits.joints or None)
        return ControlError(
            f"{_INPUTS[row]} of {name} is {self.memory[SUPPORT + row, j]}; it must be finite, so no effort was passed "
            "on. Look for a state, reference or model parameter that is not finite"
        )
