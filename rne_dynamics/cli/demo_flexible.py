"""The demo's part for flexible links: motions that do not bend them too far, plans that leave them quiet, and gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.input_shaper import SHAPERS
from rne_dynamics.control.shaped import shaped_points
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ArgumentError
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

#: How far the joints' accelerations may bend a link, as a part of its length. Vibration comes on top and makes two to
#: three times as much of it, which must still be a small deflection.
BENT = 0.03
#: 2 ω λ T of the default gains, see `bandwidth`.
SAMPLED_GAIN = 0.25
#: What decays faster than this ratio of damping needs no shaper.
SWINGS = 0.5
#: Time of a move in periods of the slowest vibration, where none is asked for: long enough to be a sensible motion, too
#: short to leave the arm quiet.
LIVELY = 4.0 / 3.0
#: Bounds of the stillness after each move, s; a period of the slowest vibration in between.
SHORTEST_LOOK, LONGEST_LOOK = 0.5, 4.0

Move = Quintic | SampledTrajectory
PLAIN = "plain"


class Programme(NamedTuple):
    """One way to make the demo's moves.

    Parameters
    ----------
    name
        ``plain``, a shaper's, or ``slow``.
    moves
        As they are sent.
    """

    name: str
    moves: tuple[Move, ...]

    @property
    def seconds(self) -> float:
        """Time of one move on average, s."""
        return sum(move.duration for move in self.moves) / len(self.moves)


def bends_little(arm: FlexibleArm) -> Callable[[tuple[Quintic, ...]], bool]:
    """A test for `plan_moves`: whether moves bend no link by more than `BENT` of its length."""
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
    """Time for the demo's three moves, s."""
    return float(3.0 * LIVELY * 2.0 * np.pi / vibrations(arm, arm.neutral, 1)[0][0])


def vibrations(arm: FlexibleArm, q: Array, count: int, bandwidth: float | None = None) -> tuple[Array, Array]:
    """Frequencies, rad/s, and damping ratios of the lowest `count` vibrations at the posture q, (n,).

    The joints are held, or under a controller of the rigid arm with that bandwidth, rad/s: softly enough to matter.
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
    """The moves as they are, or shaped; or, to compare, as they are, with each shaper, and slowly.

    Shapers are for the lowest `modes` vibrations of the arm under its controller where a move ends, for there it is to
    be quiet. With the frequencies of held joints a ZV shaper leaves four times as much on the shipped two-link arm, and
    more on the stiffer ones, whose vibration is as fast as the controller.

    Slowly means quintics that take as long as the moves with the longest shaper, the fair opponent.
    """
    if not 1 <= modes <= arm.modes:
        raise ArgumentError(f"--modes is {modes}; arm {arm.name!r} has 1 to {arm.modes} to shape for")
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


def look(arm: FlexibleArm, moves: tuple[Quintic, ...]) -> float:
    """How long to look at the arm after each move, s: a period of its slowest vibration."""
    slowest = min(float(vibrations(arm, m.end, 1)[0][0]) for m in moves)
    return float(np.clip(2.0 * np.pi / slowest, SHORTEST_LOOK, LONGEST_LOOK))


def bandwidth(arm: FlexibleArm, postures: Array, rate: float) -> float:
    """Bandwidth ω, rad/s, at which a controller that knows the rigid arm is stable on the flexible one.

    Its velocity gain is 2 ω M with the rigid arm's M, but before the links bend an effort meets only M / λ,
    λ the largest eigenvalue of (J⁻¹)_qq M. With efforts that are a period T old when they act, the roots of
    z² − z + 2 ω λ T say that a swing at a sixth of the rate grows from 2 ω λ T = 1 on; a quarter of that is taken. The
    slow vibrations set no bound: without sampling such a law takes energy out of the arm at any gain.

    Parameters
    ----------
    arm
        The arm.
    postures
        Where to look for the largest λ; shape (postures, n).
    rate
        1/T, Hz.
    """
    n, rest = arm.n, np.zeros(arm.modes)
    J = equations_of_motion(arm, postures, rest, np.zeros(n), rest).J
    felt = np.linalg.inv(J)[:, :n, :n] @ J[:, :n, :n]
    largest = float(np.linalg.eigvals(felt).real.max())
    return SAMPLED_GAIN * rate / (2.0 * largest)
