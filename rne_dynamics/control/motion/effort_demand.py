"""Efforts and effort rates that a trajectory needs, compared with the limits.

An arm whose trajectory needs far more than its limits does not just lag behind. Each joint is limited alone, so what is
cut at one of them throws others through the inertia coupling: a velocity that reverses within one cycle, as between two
straight lines, brings a healthy Panda to 1.8 times its velocity limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.assembly import Follower
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.model_terms import closed_terms
from rne_dynamics.control.motion.takeover import BlendedPath
from rne_dynamics.control.thresholds import OVERSPEED
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import ModelError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel

#: Multiple of the effort limit that is accepted, and multiple of the rate limit. Up to these arms in simulation stay
#: well below 1.5 times their velocity limits with any random trajectory; above them some do not. A loop that is limited
#: in its rate becomes unstable, therefore there is nothing to spare.
ACCEPTED, ACCEPTED_RATE = 1.25, 1.0
#: Multiple of a joint's velocity limit by which couplings may throw it while efforts follow a step, see `_throw`. What
#: brought an arm in simulation to 1.56 times its limit had 3.8 here, what stayed below 1.1 times had up to 2.3.
ACCEPTED_THROW = 1.5
#: Errors of the masses, along the bodies and repeated over them, with which an arm must not be thrown; and the largest
#: velocity that an acceleration makes against feedback, in 1/ω of it.
MASSES, REACTION = ((1.5, 0.5), (0.5, 1.5), (1.5, 1.5, 0.5, 0.5), (0.5, 0.5, 1.5, 1.5)), 0.37
#: Samples with the largest accelerations at which that is checked.
HARDEST = 300
MORE_TIME = "Give the trajectory more time, and velocities at its points where they are missing"
#: Samples of a piece: of few long pieces many, at least its two ends; about so many together.
MOST_IN_A_PIECE, SAMPLES = 24, 4000
#: The same for mechanisms, whose loops are closed at each.
CLOSED_SAMPLES = 1000
#: Times that lie closer together are the two sides of a knot, s.
SAME = 1e-6
#: In a piece shorter than this the velocity counts as stepping, s: an arm does not notice how it changed.
SHORT = 0.005
#: Longest time over which a change of the effort is averaged, s.
LONGEST_WINDOW = 0.05


class EffortDemand:
    """Checks the efforts of a law along a path, feedback on velocity steps included.

    Where the velocity of the reference steps by Δ, a critically damped law asks for the acceleration ω (2 − ω t) exp(−ω
    t) Δ for a time t afterwards, with ω half its velocity gain. That is added to the path's own; in pieces shorter than
    `SHORT` it takes its place, so that the noise of a recorded motion does not count.
    """

    def __init__(
        self, law: Any, limits: EffortLimits, compensated: frozenset[str] = frozenset(), delay: float = 0.0,
        posture: Array | None = None,
    ) -> None:
        # of a law with a `motion_demand`
        self._robot, self._limits, self._delay, self._posture = law.robot, limits, np.nan_to_num(delay), posture
        demand = law.motion_demand
        self._friction = np.zeros_like(demand.friction) if "friction" in compensated else demand.friction
        self._omega = demand.bandwidth
        fastest = float(self._omega.max(initial=0.0))
        self._window = min(0.5 / fastest, LONGEST_WINDOW) if fastest > 0.0 else LONGEST_WINDOW
        self._base = BaseMotion(linear_acceleration=law.robot.gravity) if "gravity" in compensated else None
        self._coriolis = "coriolis" not in compensated

    def check(self, path: BlendedPath) -> str:
        """A warning where a path needs more effort than allowed, empty where not; `TrajectoryError` for much more."""
        mechanism = mechanism_of(self._robot)
        times, short = _times(path, SAMPLES if mechanism is None else CLOSED_SAMPLES)
        asked = path.samples(times)
        acceleration = np.where(short[:, None], 0.0, asked[:, 2])
        _add_feedback(times, short, asked[:, 1], self._omega, acceleration)
        speed = asked[:, 1] if self._coriolis else np.zeros_like(asked[:, 1])
        if mechanism is not None:
            motion = self._closed(mechanism, asked[:, 0], speed, acceleration)
        else:
            robot = self._robot.open_tree
            motion = inverse_dynamics(robot, asked[:, 0], speed, acceleration, base_motion=self._base)
        motion += self._friction[0] * asked[:, 1]
        ahead = asked[:, 1] > 0.0
        effort = motion + np.sign(asked[:, 1]) * np.where(ahead, self._friction[1], self._friction[2])
        self._judged(times, self._slope(times, motion), self._limits.rate, "effort_rate", ACCEPTED_RATE)
        warning = self._judged(times, np.abs(effort), self._limits.effort, "effort", ACCEPTED)
        if mechanism is None:
            self._throw(robot, times, asked[:, 0], motion)
            self._mistaken(robot, times, asked, acceleration)
        return warning

    def _closed(self, mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> Array:
        """Inverse dynamics of a mechanism along its path, (rows, n)."""
        follower, zero, effort = Follower(mechanism, self._posture), np.zeros(mechanism.n), np.zeros_like(q)
        for row in range(len(q)):
            try:
                follower.follow(q[row], qd[row])
                inertia, coriolis, gravity, *_ = closed_terms(
                    mechanism, q[row], qd[row], qdd[row], zero, follower.posture, self._base
                )
            except ModelError:  # loops that do not close there: `check_loops` refuses the path
                break
            effort[row] = inertia + gravity + coriolis
        return effort

    def _mistaken(self, robot: RobotModel, times: Array, asked: Array, acceleration: Array) -> None:
        """Refuse accelerations with which an arm of other masses is too fast before the feedback has reacted."""
        limit = self._limits.velocity
        rows = np.argsort(np.abs(acceleration / limit).max(axis=1))[-HARDEST:]
        q, wanted = asked[rows, 0], acceleration[rows]
        force = np.einsum("rij,rj->ri", mass_matrix(robot, q), wanted)[..., None]
        off = np.zeros_like(wanted)
        for masses in MASSES:
            parameters = robot.parameters.copy()
            parameters[:, MASS:ROTOR] *= np.resize(masses, (len(parameters), 1))
            other = replace(robot, parameters=parameters)
            off = np.maximum(off, np.abs(np.linalg.solve(mass_matrix(other, q), force)[..., 0] - wanted))
        reaction = REACTION / np.where(self._omega > 0.0, self._omega, np.inf) + self._delay
        self._slow_enough(
            times[rows], np.abs(asked[rows, 1]) + reaction * off, OVERSPEED,
            "the acceleration at {:.3f} s could bring joint {!r} to {:.4g} per second, if masses are 50 % off, before "
            "the feedback reacts",
        )

    def _slow_enough(self, times: Array, speed: Array, accepted: float, text: str) -> None:
        """Refuse speeds, (rows, n), above a multiple of the velocity limits; `text` takes time, joint and speed."""
        limit = self._limits.velocity
        row, j = np.unravel_index(int(np.argmax(speed / limit)), speed.shape)
        if speed[row, j] > accepted * limit[j]:
            joint = self._limits.joints[j] if self._limits.joints else f"number {j}"
            raise TrajectoryError(
                f"{text.format(times[row], joint, speed[row, j])}; accepted is {accepted * limit[j]:.4g}, {accepted:g} "
                f"times its velocity limit. {MORE_TIME}"
            )

    def _throw(self, robot: RobotModel, times: Array, q: Array, effort: Array) -> None:
        """Refuse steps Δτ of the effort that throw a joint: each joint follows its own at its rate limit r."""
        # what is missing until then changes the velocities by M⁻¹ Δτ |Δτ| / 2r: much where a heavy joint waits for a
        # light one
        rate = np.where(self._limits.rate > 0.0, self._limits.rate, np.inf)
        step = np.diff(effort, axis=0) * (np.diff(times) < SAME)[:, None]
        rows = np.flatnonzero((np.abs(step) > SHORT * rate).any(axis=1))
        if not rows.size:
            return
        impulse = step[rows] * np.abs(step[rows]) / (2.0 * rate)
        thrown = np.abs(np.linalg.solve(mass_matrix(robot, q[rows]), impulse[..., None])[..., 0])
        self._slow_enough(
            times[rows], thrown, ACCEPTED_THROW,
            "the step of the velocity at {:.3f} s would throw joint {!r} by {:.4g} per second while the efforts follow "
            "it",
        )

    def _slope(self, times: Array, effort: Array) -> Array:
        """Rate of the effort from each time on, per second, over the window; of an isolated step over 1.5 of it."""
        same = np.diff(times) < SAME
        apart = np.diff(times[1:][same], prepend=-np.inf, append=np.inf) > self._window
        steps = np.zeros_like(effort)
        steps[1:][same] = np.diff(effort, axis=0)[same] * (apart[:-1] & apart[1:])[:, None]
        effort = effort - np.cumsum(steps, axis=0)
        next_ = np.minimum(np.arange(len(times)) + 1, len(times) - 1)
        later = np.maximum(np.searchsorted(times, times + self._window, side="right") - 1, next_)
        changes = [
            np.abs(effort[k] - effort) / np.maximum(times[k] - times, self._window)[:, None] for k in (next_, later)
        ]
        return np.maximum(np.maximum(*changes), np.abs(steps) / (1.5 * self._window))

    def _judged(self, times: Array, asked: Array, limit: Array, name: str, accepted: float) -> str:
        with np.errstate(divide="ignore", invalid="ignore"):
            use = np.where(asked > 0.0, asked / limit, 0.0)
        row, j = np.unravel_index(int(np.argmax(use)), use.shape)
        if use[row, j] <= 1.0:
            return ""
        joint = self._limits.joints[j] if self._limits.joints else f"number {j}"
        what, unit = ("an effort", "") if name == "effort" else ("a change of the effort", " per second")
        text = (
            f"joint {joint!r} would need {what} of {asked[row, j]:.4g}{unit} at {times[row]:.3f} s; allowed is "
            f"{limit[j]:.4g} (limits.{joint}.{name})"
        )
        if not use[row, j] <= accepted:
            more = f", up to {accepted:g} times of which is accepted" if accepted > 1.0 else ""
            raise TrajectoryError(f"{text}{more}. {MORE_TIME}")
        return f"{text}: the arm will lag behind there"


def _times(path: BlendedPath, samples: int) -> tuple[Array, NDArray[np.bool_]]:
    """Path times to sample: both sides of each knot, and between knots that are few; and which lie in short pieces."""
    knots = path.knots

    inside = int(np.clip(samples // len(knots), 0, MOST_IN_A_PIECE))
    begins, ends = knots[:-1], np.nextafter(knots[1:], -np.inf)
    parts = np.arange(inside + 2) / (inside + 1.0)
    times: Array = begins[:, None] + parts * (ends - begins)[:, None]
    times[:, -1] = ends
    return np.append(times.ravel(), knots[-1]), np.append(np.repeat(ends - begins < SHORT, inside + 2), False)


@kernel
def _add_feedback(times: Array, short: NDArray[np.bool_], velocity: Array, omega: Array, out: Array) -> None:
    """Add the accelerations that the law asks for after steps of the velocity, at each time, to `out`, (rows, n)."""
    for j in range(out.shape[1]):
        w, now, aged = omega[j], 0.0, 0.0  # sums of Δ exp(−ω t) and of Δ ω t exp(−ω t)
        for k in range(1, times.shape[0]):
            x = w * (times[k] - times[k - 1])
            fade = np.exp(-x)
            aged, now = (aged + now * x) * fade, now * fade
            if short[k - 1] or times[k] - times[k - 1] < SAME:  # in a short piece, or the two sides of a knot
                now += velocity[k, j] - velocity[k - 1, j]
            out[k, j] += w * (2.0 * now - aged)
