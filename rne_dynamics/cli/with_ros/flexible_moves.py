"""The part of `rne demo` for flexible links: gentle moves, input shaping, gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.input_shaper import SHAPERS, shaped_points
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ArgumentError
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

#: Largest static deflection by the joints' accelerations, as a part of the link's length. Vibration increases it two to
#: three times, which must still be a small deflection.
BENT = 0.03
#: 2 ω λ T of the default gains, see `stable_bandwidth`.
SAMPLED_GAIN = 0.25
#: Damping ratio from which a vibration needs no shaper.
SWINGS = 0.5
#: Default time of a move in periods of the slowest vibration: long enough for a realistic motion, short enough to
#: excite vibration.
LIVELY = 4.0 / 3.0
#: Bounds of the pause after each move, s, which is a period of the slowest vibration.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 4.0

Move = Quintic | SampledTrajectory
PLAIN = "plain"


class Programme(NamedTuple):
    """One variant of the demo's moves."""

    #: ``plain``, the name of a shaper, or ``slow``.
    name: str
    #: The moves to send.
    moves: tuple[Move, ...]

    @property
    def seconds(self) -> float:
        """Mean time of a move, s."""
        return sum(move.duration for move in self.moves) / len(self.moves)


def bends_little(arm: FlexibleArm) -> Callable[[tuple[Quintic, ...]], bool]:
    """A test for `plan_moves`: whether moves deflect every link by at most `BENT` of its length."""
    lengths = np.array([np.linalg.norm(link.tip) for link in arm.flexible_links])

    def gentle(moves: tuple[Quintic, ...]) -> bool:
        references = [m.sample(t) for m in moves for t in np.linspace(0.0, m.duration, 21).tolist()]
        q, qd, qdd = (np.array(column) for column in zip(*references, strict=True))
        still = np.zeros_like(qd)
        moved = balance(arm, q, qd, qdd).delta - balance(arm, q, still, still).delta
        size = np.linalg.norm(tip_deflections(arm, moved)[..., :3], axis=-1)
        return bool((size <= BENT * lengths).all())

    return gentle


def lively(arm: FlexibleArm) -> float:
    """Default time of the three moves, s."""
    return float(3.0 * LIVELY * 2.0 * np.pi / vibrations(arm, arm.neutral, 1)[0][0])


def vibrations(arm: FlexibleArm, q: Array, count: int, bandwidth: float | None = None) -> tuple[Array, Array]:
    """Frequencies, rad/s, and damping ratios of the lowest `count` vibrations at the posture q, (n,).

    The joints are held, or, with a bandwidth, rad/s, under a controller of the rigid arm, whose compliance matters.
    """
    if bandwidth is None:
        found = linearised(arm, q)
    else:
        M = mass_matrix(arm.robot, q)
        found = linearised(arm, q, joint_stiffness=bandwidth**2 * M, joint_damping=2.0 * bandwidth * M)
    swings = np.flatnonzero(found.damping_ratios < SWINGS)[:count]
    return found.frequencies[swings], found.damping_ratios[swings]


def programmes(
    arm: FlexibleArm, moves: tuple[Quintic, ...], kind: str | None, modes: int, bandwidth: float, *, compare: bool
) -> tuple[Programme, ...]:
    """The moves unshaped or shaped; or, to compare, unshaped, with each shaper, and slow.

    Shapers are for the lowest `modes` vibrations of the arm under its controller at the end of a move. With the
    frequencies of held joints a ZV shaper leaves four times as much vibration on the shipped two-link arm, and more on
    stiffer arms, whose vibration is as fast as the controller.

    Slow moves are quintics as long as the moves with the longest shaper, for a fair comparison.
    """
    if not 1 <= modes <= arm.modes:
        raise ArgumentError(f"--modes is {modes}; it must be 1 to {arm.modes} for arm {arm.name!r}")
    plain = Programme(PLAIN, moves)

    def shaped(kind: str) -> Programme:
        shapers = [SHAPERS[kind](*vibrations(arm, m.end, modes, bandwidth)) for m in moves]
        return Programme(
            kind, tuple(shaped_points(m, s, nanoseconds=True) for m, s in zip(moves, shapers, strict=True))
        )

    if not compare:
        return (shaped(kind),) if kind else (plain,)
    with_shaper = [shaped(name) for name in SHAPERS]
    longest = max(with_shaper, key=lambda p: p.seconds)
    slow = tuple(Quintic(m.start, m.end, s.duration) for m, s in zip(moves, longest.moves, strict=True))
    return (plain, *with_shaper, Programme("slow", slow))


def pause(arm: FlexibleArm, moves: tuple[Quintic, ...]) -> float:
    """Pause after each move, s: a period of the slowest vibration."""
    slowest = min(float(vibrations(arm, m.end, 1)[0][0]) for m in moves)
    return float(np.clip(2.0 * np.pi / slowest, SHORTEST_PAUSE, LONGEST_PAUSE))


def stable_bandwidth(arm: FlexibleArm, postures: Array, rate: float) -> float:
    """Bandwidth ω, rad/s, at which a controller of the rigid arm is stable on the flexible one at `rate`, 1/T, Hz.

    Its velocity gain is 2 ω M with the rigid arm's M, but at high frequency an effort accelerates only M / λ, with λ
    the largest eigenvalue of (J⁻¹)_qq M in all `postures`, (postures, n). If efforts act one period T late, the roots
    of z² − z + 2 ω λ T show that an oscillation at a sixth of the rate grows for 2 ω λ T > 1; a quarter of that is
    used. Slow vibrations set no bound: without sampling such a law dissipates energy at any gain.
    """
    n, rest = arm.n, np.zeros(arm.modes)
    J = equations_of_motion(arm, postures, rest, np.zeros(n), rest).J
    felt = np.linalg.inv(J)[:, :n, :n] @ J[:, :n, :n]
    largest = float(np.linalg.eigvals(felt).real.max())
    return SAMPLED_GAIN * rate / (2.0 * largest)
