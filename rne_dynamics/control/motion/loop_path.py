"""Paths of a mechanism with more motors than freedoms: leading joints, and the others along the loops.

A request says where all joints are at its points. Between them each would go its own way, and the loops would not
close. So the joints that depend on the others get new polynomials: quintics between postures that are at most `WAY`
apart, with position, velocity and acceleration as the loops have them there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rne_dynamics.closed_chain.assembly import DISAGREEMENT, Follower
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.independence import evaluated, independent_joints
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.thresholds import ROUNDING
from rne_dynamics.control.trajectory import Trajectory, polynomials
from rne_dynamics.errors import ModelError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Way of a leading joint in one polynomial, rad or lengths of the mechanism, and how often a piece is sampled for it.
WAY, _LOOKS = 0.02, 8
#: Most polynomials of a path: each takes about 0.3 ms.
MOST_POLYNOMIALS = 10_000

#: Makes the path that is followed of the one that is asked for, the joints it names, and where it begins, s.
Leading = Callable[[Path, Array, float], Path]
#: Time between two checked points of a trajectory, s, and their smallest and largest number.
CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS = 0.02, 20, 100


def leading_path(mechanism: Mechanism, posture: Array) -> Leading | None:
    """Paths of all actuated joints from those that lead; None where all do. `posture`: all joints of the tree."""
    if independent_joints(mechanism) is None:
        return None

    def along(path: Path, named: Array, begin: float) -> Path:
        leading = leading_joints(mechanism, named.tolist())
        return _LoopPath(mechanism, leading, posture).along(path, named, begin)

    return along


def leading_joints(mechanism: Mechanism, named: Sequence[int]) -> tuple[int, ...]:
    """Places of the actuated joints that lead where a request names those at the places `named`: these if they can."""
    leading = independent_joints(mechanism, tuple(sorted(named)))
    return tuple(range(mechanism.n)) if leading is None else leading


class _LoopPath:
    """One path in the making."""

    def __init__(self, mechanism: Mechanism, leading: tuple[int, ...], posture: Array) -> None:
        names = mechanism.joint_names
        self._mechanism, self._leading = mechanism, np.array(leading)
        self._led = [j for j in range(mechanism.n) if j not in leading]
        self._follower = Follower(replace(mechanism, joint_names=tuple(names[j] for j in leading)), posture)
        self._packed = pack(mechanism)
        self._work = workspace(self._packed)

    def along(self, path: Path, named: Array, begin: float) -> Path:
        """The path with the led joints on the loops; those of them that are `named` must be there at its knots."""
        knots, pieces = [float(path.knots[0])], []
        rest = len(path.knots) - 1
        first = max(int(np.searchsorted(path.knots, begin, side="right")) - 1, 0)
        agreeing = [j for j in self._led if j in named]
        q = self._closed(path.in_piece(first, 0.0), path.knots[first])[0]
        if first < rest or rest == 0:
            self._check(agreeing, path.in_piece(first, 0.0).q, q, float(path.knots[first]))
        for p in range(first):
            knots.append(float(path.knots[p + 1]))
            pieces.append(path.coefficients[p])
        for p in range(first, rest):
            T = float(path.knots[p + 1] - path.knots[p])
            parts = self._parts(path, p, T)
            if len(pieces) + parts > MOST_POLYNOMIALS:
                raise TrajectoryError(
                    f"it takes more than {MOST_POLYNOMIALS} polynomials to lead the joints that depend on others along "
                    "the loops; send it in parts"
                )
            x = np.linspace(0.0, T, parts + 1)
            rows = np.array([self._closed(path.in_piece(p, t), path.knots[p] + t) for t in x.tolist()])
            self._check(agreeing, path.in_piece(p, T).q, rows[-1, 0], float(path.knots[p + 1]))
            pieces.extend(polynomials(x, *rows.swapaxes(0, 1))[:-1])
            knots.extend((path.knots[p] + x[1:]).tolist())
            q = rows[-1, 0]
        last = np.zeros_like(path.coefficients[0])
        last[0] = q
        return Path(np.array(knots), np.array([*pieces, last]))

    def _parts(self, path: Path, piece: int, T: float) -> int:
        looks = np.array([path.in_piece(piece, t).q for t in np.linspace(0.0, T, _LOOKS + 1).tolist()])
        way = np.abs(np.diff(looks[:, self._leading], axis=0)).sum(axis=0)
        scales = self._packed.column_scale[self._mechanism.actuated[self._leading]]
        return int(np.clip(np.ceil((way / scales).max() / WAY), 1, MOST_POLYNOMIALS + 1))

    def _closed(self, wanted: tuple[Array, Array, Array], t: float) -> Array:
        """Position, velocity and acceleration of the actuated joints at time t where the leading ones are; (3, n)."""
        q, qd, qdd = (row[self._leading] for row in wanted)
        follower, mechanism = self._follower, self._mechanism
        _follow(follower, q, qd, t)
        evaluated(self._packed, self._work, follower.posture, follower.velocity)
        acceleration = np.zeros(mechanism.robot.n)
        acceleration[mechanism.actuated[self._leading]] = qdd
        others = np.setdiff1d(np.arange(mechanism.robot.n), mechanism.actuated[self._leading])
        scale = self._packed.row_scale[:, None]
        K = scale * self._work.K * self._packed.column_scale
        right = -self._packed.row_scale * (self._work.drift + self._work.K @ acceleration)
        acceleration[others] = self._packed.column_scale[others] * np.linalg.lstsq(K[:, others], right, rcond=1e-9)[0]
        rows = np.array([follower.posture, follower.velocity, acceleration])[:, mechanism.actuated]
        rows[:, self._leading] = q, qd, qdd
        return rows

    def _check(self, joints: list[int], wanted: Array, q: Array, t: float) -> None:
        scales, names = self._packed.column_scale[self._mechanism.actuated], self._mechanism.joint_names
        for j in joints:
            if not abs(wanted[j] - q[j]) <= DISAGREEMENT * scales[j]:
                raise TrajectoryError(
                    f"joint {names[j]!r} is to be at {wanted[j]:.6g} at {t:.3f} s, but the loops put it at {q[j]:.6g} "
                    f"where {', '.join(names[k] for k in self._leading)} are then; leave it out, and it follows them"
                )


def check_loops(trajectory: Trajectory, mechanism: Mechanism, posture: Array, begin: float = 0.0) -> Array:
    """Follow a trajectory with the loops; the posture at its end, (tree n,). `TrajectoryError` where that cannot be."""
    tree, passive = mechanism.robot, mechanism.passive
    lower = np.minimum(tree.lower, posture) - ROUNDING
    upper = np.maximum(tree.upper, posture) + ROUNDING
    follower, allowed = Follower(mechanism, posture), NEAR_SINGULAR
    checks = int(np.clip((trajectory.duration - begin) / CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS))
    for t in np.linspace(begin, trajectory.duration, checks + 1).tolist():
        now = trajectory.sample(t)
        _follow(follower, now.q, now.qd, t)
        if t == begin:
            allowed = min(allowed, follower.smallest * (1.0 - 1e-6))
        if follower.smallest < allowed:
            raise TrajectoryError(
                f"it leads at {t:.3f} s to {follower.smallest:.3g} from a singular posture, in which the actuated "
                f"joints do not hold the mechanism; allowed is {allowed:.3g} (`MotionMap.smallest`). Keep away from it"
            )
        outside = (follower.posture[passive] < lower[passive]) | (follower.posture[passive] > upper[passive])
        if outside.any():
            j = int(passive[np.argmax(outside)])
            raise TrajectoryError(
                f"passive joint {tree.joint_names[j]!r} would be at {follower.posture[j]:.6g} at {t:.3f} s; allowed is "
                f"[{tree.lower[j]:.6g}, {tree.upper[j]:.6g}]"
            )
    return np.array(follower.posture)


def _follow(follower: Follower, q: Array, qd: Array, t: float) -> None:
    """`TrajectoryError` where the loops cannot be followed to the path time `t`, s."""
    try:
        follower.follow(q, qd)
    except ModelError as error:
        raise TrajectoryError(f"it cannot be followed beyond {t:.3f} s: {error}") from error
