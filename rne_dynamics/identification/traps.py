"""Faults of a log that would make any comparison with a model wrong: units, signs, order, gravity, gears.

Evidence is structural, since masses of a model are often wrong by half: velocities against slopes of positions, spans
against limits, and how much of each torque is explained by inertia, gravity, rotor and friction of its joint with
coefficients of at least 0: masses and friction may be wrong, signs may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, nnls

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.figures.tracking import REVOLUTE, joint_units
from rne_dynamics.identification.motion import LowPass, motions_of
from rne_dynamics.identification.triangles import USUAL
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.recording import Recording

#: What brings times, positions and velocities to SI units.
_Factors = tuple[float, float, float]
_Found = Iterator[tuple["Trap", _Factors]]
_Joints = NDArray[np.bool_]
#: Numbers of the columns of torques and of positions that each joint gets.
_Order = tuple[tuple[int, ...], tuple[int, ...]]

DEGREE = np.pi / 180.0
#: Slopes of positions over velocities that name a fault: kind, what it is, options that fix it, and factors that do.
_SLOPES = (
    (-1.0, "velocity", "velocities have the sign opposite to the slope of the positions",
     "find out which one is wrong: the residual needs positions only", (1.0, 1.0, -1.0)),
    (1.0 / DEGREE, "degrees", "positions are in degrees, velocities in rad/s", "--units q=deg", (1.0, DEGREE, 1.0)),
    (DEGREE, "degrees", "velocities are in degrees/s, positions in rad", "--units qd=deg", (1.0, 1.0, DEGREE)),
    *((k, "time", f"times are in {unit}", f"--units t={unit}", (k, 1.0, 1.0)) for unit, k in
      (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))),
    *((k, "time", f"times are {k:g} times too short", "another --units t", (k, 1.0, 1.0)) for k in (1e3, 1e6, 1e9)),
    (1e-3 * DEGREE, "time", "times are in ms and velocities in degrees/s", "--units t=ms,qd=deg", (1e-3, 1.0, DEGREE)),
)  # fmt: skip
#: Longest period of joint states, s, and times that unit is then, by how many times longer it is at most.
_PERIOD, _LONGER = 0.2, (("ms", 1e-3, 500.0), ("us", 1e-6, 5e5), ("ns", 1e-9, np.inf))
#: Span of positions over that between the limits from which they are in degrees, and least such span, rad; for arms
#: without limits the least span.
_BEYOND, _BEYOND_LEAST, _TURNS = 1.2, 2.0 * np.pi, 4.0 * np.pi
#: Step between rows, rad or m, that is a jump where it takes this many times the velocity limit.
_JUMP, _TOO_FAST = 0.05, 5.0
#: Part of a torque's variance that counts as explained; that may be explained while its sign is named wrong; part of
#: the largest torque below which it is weak, and part that the other sign must explain of a weak one.
_EXPLAINED, _LITTLE, _WEAK, _SURE = 0.75, 0.35, 0.05, 0.9
#: Torque over the model's from which, and below which, it has another unit; the same between one joint and the others.
_LARGE, _SMALL, _APART = 2.8, 0.35, 8.0
#: Span of a joint that hardly moves, rad and m.
_STILL, _STILL_LENGTH = 0.03, 0.003
#: Gravity's coefficient over inertia's below which gravity was removed.
_WEIGHTLESS = 0.35
#: Part of the largest gravity torque below which its sign is that of small masses, which a model may have wrong.
_LIGHT = 0.05
#: Least number of rows; part of a column's length below which its variation is none.
_LEAST, _ROUND_OFF = 12, 1e-9
#: Most joints whose order is checked. What another order must gain at least, and for each joint that it moves: sums of
#: explained parts of the joints' torques.
_MOST_ARRANGED, _STEP, _GAIN_EACH = 10, 0.4, 0.15


class Trap(NamedTuple):
    """A fault of a log."""

    #: ``time``, ``velocity``, ``degrees``, ``jump``, ``sign``, ``order``, ``gravity``, ``torque``, ``scale``,
    #: or ``still``, which only says that a joint's figures mean little.
    kind: str
    text: str
    fix: str
    #: Numbers of the joints that it is about; empty for all.
    joints: tuple[int, ...] = ()

    @property
    def fatal(self) -> bool:
        """Whether no figure of the log can be believed."""
        return self.kind != "still"


def traps(robot: RobotModel, recording: Recording) -> list[Trap]:
    """The faults of a log, the most basic ones first; `RecordingError` as `motion_of`."""
    found: list[Trap] = []
    turning = np.array([units is REVOLUTE for units in joint_units(robot)])
    still: _Joints = np.ptp(recording.q, axis=0) < np.where(turning, _STILL, _STILL_LENGTH)
    for search in (_rate_traps, _span_traps):
        for trap, (t, q, qd) in search(robot, recording, turning, ~still):
            found.append(trap)
            rates = None if recording.qd is None else recording.qd * np.where(turning | (qd < 0.0), qd, 1.0)
            recording = replace(recording, t=t * recording.t, q=recording.q * np.where(turning, q, 1.0), qd=rates)
    motion = motions_of(recording)[0]
    low = LowPass(motion, _LEAST)
    states = [low(values) for values in (motion.q, motion.qd, motion.qdd, motion.effort, motion.q, motion.q)]
    found += _jumps(robot, recording) or _torque_traps(
        _Evidence(robot, *states).modelled(), np.flatnonzero(~still).tolist()
    )
    found += [
        Trap("still", f"joint {robot.joint_names[j]!r} hardly moves, by {np.ptp(recording.q[:, j]):.2g}",
             "its figures say little; record a motion of it", (j,)) for j in np.flatnonzero(still).tolist()
    ]  # fmt: skip
    return found


def _rate_traps(robot: RobotModel, log: Recording, turning: _Joints, moving: _Joints) -> _Found:
    """Velocities that are not the slopes of positions; times in another unit."""
    slope, period = 1.0, float(np.median(np.diff(log.t))) if len(log.t) > 1 else 0.0
    if log.qd is not None and len(log.t) > 2:
        rate = np.gradient(log.q, log.t, axis=0)
        both, size, qd2 = (rate * log.qd).sum(axis=0), (rate**2).sum(axis=0), (log.qd**2).sum(axis=0)
        sure = moving & (np.abs(both) > 0.5 * np.sqrt(size * qd2))
        sure = sure & turning if (sure & turning).any() else sure
        slope = float(np.median(both[sure] / qd2[sure])) if sure.any() else 1.0
    for value, kind, text, fix, factors in _SLOPES:
        if abs(slope / value - 1.0) < 0.1:
            yield Trap(kind, f"{text}: slopes of positions are {slope:.3g} times the velocities", fix), factors
            return
    if abs(slope - 1.0) > 0.3:
        text = f"velocities are not the slopes of positions, which are {slope:.3g} times as large"
        yield Trap("velocity", text, "check times, and which columns these are"), (1.0, 1.0, 1.0)
    if period > _PERIOD:
        unit, factor = next((unit, k) for unit, k, most in _LONGER if period <= most * _PERIOD)
        yield Trap("time", f"times are in {unit}: {period:.4g} s between rows", f"--units t={unit}"), (factor, 1.0, 1.0)


def _span_traps(robot: RobotModel, log: Recording, turning: _Joints, moving: _Joints) -> _Found:
    """Positions in degrees."""
    span, room = np.ptp(log.q, axis=0), robot.upper - robot.lower
    limited = turning & np.isfinite(room) & (room > 0.0)
    least = np.maximum(_BEYOND * room, _BEYOND_LEAST) if limited.any() else np.full(robot.n, _TURNS)
    share = np.where(limited if limited.any() else turning, span / least, 0.0)
    if (share > 1.0).any():
        j = int(share.argmax())
        text = f"positions are in degrees: joint {robot.joint_names[j]!r} moves by {span[j]:.4g}"
        text += f", between limits {room[j]:.4g} rad apart" if limited[j] else ""
        yield Trap("degrees", text, f"--units q=deg{',qd=deg' * (log.qd is not None)}"), (1.0, DEGREE, DEGREE)


def _jumps(robot: RobotModel, log: Recording) -> list[Trap]:
    """Positions from row to row that no joint can follow."""
    steps, limit = np.abs(np.diff(log.q, axis=0)), np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)
    share = np.where(steps > _JUMP, steps, 0.0) / (limit * np.diff(log.t)[:, None])
    k, j = np.unravel_index(int(share.argmax()), share.shape)
    if share[k, j] < _TOO_FAST:
        return []
    text = (f"joint {robot.joint_names[j]!r} jumps by {steps[k, j]:.3g} at {log.t[k]:.6g} s, {share[k, j]:.3g} times "
            "its velocity limit")  # fmt: skip
    return [Trap("jump", text, "log one publisher of the topic, and a motion in which no driver freezes", (int(j),))]


class _Evidence(NamedTuple):
    """Filtered states and torques, shape (rows, n) each."""

    robot: RobotModel
    q: Array
    qd: Array
    qdd: Array
    measured: Array
    #: Of the model along them; inertia without rotors, which sensors behind the gears do not feel.
    gravity: Array
    inertia: Array

    def modelled(self) -> _Evidence:
        """With the torques of the model."""
        gravity = gravity_torque(self.robot, self.q)
        whole = inverse_dynamics(self.robot, self.q, self.qd, self.qdd) - rotor_inertia(self.robot) * self.qdd
        return self._replace(gravity=gravity, inertia=whole - gravity)

    def ordered(self, order: _Order) -> _Evidence:
        """With the columns of another order."""
        torques, states = map(list, order)
        found = self._replace(measured=self.measured[:, torques])
        if states == sorted(states):
            return found
        return found._replace(q=self.q[:, states], qd=self.qd[:, states], qdd=self.qdd[:, states]).modelled()

    def explained(self, i: int, k: int, sign: float = 1.0, *more: Array) -> tuple[float, Array]:
        """Part of the variance of torque i that joint k of the model explains, and the coefficients: of inertia,
        gravity, rotor, viscous, Coulomb and more columns."""
        speed = self.qd[:, k]
        return _fit((self.inertia[:, k], self.gravity[:, k], self.qdd[:, k], speed, np.tanh(speed / USUAL.threshold),
                     *more), sign * self.measured[:, i])  # fmt: skip

    def own(self, sign: float = 1.0) -> Array:
        """Part of each torque's variance that its own joint explains, shape (n,)."""
        return np.array([self.explained(j, j, sign)[0] for j in range(self.robot.n)])

    def either_side(self, j: int) -> float:
        """Part of torque j that is explained, where gravity is that of small masses with these on whichever side."""
        weight = self.gravity.std(axis=0)
        return self.explained(j, j, 1.0, *[-self.gravity[:, j]] * bool(weight[j] < _LIGHT * weight.max()))[0]


def _fit(columns: Sequence[Array], y: Array) -> tuple[float, Array]:
    """The part of the variance of y that a sum of columns explains, with coefficients of at least 0; coefficients."""
    rows = np.column_stack((*columns, y))
    R = np.linalg.qr(rows - rows.mean(axis=0), mode="r")
    length = np.linalg.norm(R, axis=0)
    length[length <= _ROUND_OFF * np.linalg.norm(rows, axis=0)] = np.inf
    if not np.isfinite(length[-1]):
        return 0.0, np.zeros(len(columns))
    x, rest = nnls((R / length)[:, :-1], (R / length)[:, -1])
    return 1.0 - float(rest**2), length[-1] * x / length[:-1]


def _arranged(evidence: _Evidence, value: float, gain: float) -> tuple[_Order | None, tuple[int, ...]]:
    """Another order that explains more than `value` by `gain`, and the joints that it moves.

    Torques in any order; positions, or both, with two joints swapped or all reversed.
    """
    n, own = evidence.robot.n, evidence.own()
    if n == 1 or n > _MOST_ARRANGED or own.min() > _EXPLAINED:
        return None, ()
    straight = tuple(range(n))
    swaps = [(*range(a), b, *range(a + 1, b), a, *range(b + 1, n)) for a, b in combinations(straight, 2)]
    part = np.array([[evidence.explained(i, k)[0] for i in straight] for k in straight])
    orders: list[_Order] = [(tuple(linear_sum_assignment(-part)[1].tolist()), straight)]
    orders += [(torques, places) for places in (*swaps, straight[::-1]) for torques in (straight, places)]
    values = [float(evidence.ordered(order).own().sum()) for order in orders]
    best, reached = orders[int(np.argmax(values))], max(values)
    moved = tuple(j for j, place in enumerate(zip(*best, strict=True)) if place != (j, j))
    enough = reached >= max(float(own.sum()) + _STEP, value + max(gain, _GAIN_EACH * len(moved)))
    clear = moved and enough and np.median(evidence.ordered(best).own()[list(moved)]) > _EXPLAINED
    return (best, moved) if clear else (None, ())


def _torque_traps(evidence: _Evidence, moving: Sequence[int]) -> Iterator[Trap]:
    """Faults of torques."""
    n, names = evidence.robot.n, evidence.robot.joint_names
    right, wrong = evidence.own(), evidence.own(-1.0)
    total = evidence.measured.std(axis=0)
    sure = np.where(total > _WEAK * total.max(), _EXPLAINED, _SURE)
    flipped = [j for j in moving if wrong[j] > sure[j] and evidence.either_side(j) < _LITTLE]
    known = [j for j in moving if max(right[j], wrong[j]) > _EXPLAINED]
    signs = np.where([j in flipped for j in range(n)], -1.0, 1.0)
    value = float(np.where(signs < 0.0, wrong, right).sum())
    if flipped and all(wrong[j] > right[j] for j in known) and (len(known) > 1 or n == 1):
        evidence, signs, flipped, value = evidence._replace(measured=-evidence.measured), np.ones(n), [], wrong.sum()
        yield Trap("sign", "all torques have the opposite sign", "--gains=-1")
    order, moved = _arranged(evidence, value, 0.3 if flipped else 0.5)
    if weightless := _weightless(evidence.ordered(order) if order else evidence, moving):
        yield Trap("gravity", f"gravity is missing in the torques of {_list(names, weightless)}",
                   "log the whole torque: drivers that compensate gravity often publish the rest", tuple(weightless))
        return
    if order:
        parts = [(what, key, places) for (what, key), places in
                 zip((("torques", "tau"), ("positions", "q")), order, strict=True) if places != tuple(range(n))]
        texts = [f"{what} are in another order than the model's joints" for what, *_ in parts]
        fixes = [f"{key}=NAME[{','.join(str(k + 1) for k in places)}]" for _, key, places in parts]
        yield Trap("order", " and ".join(texts), f"--columns {','.join(fixes)}", moved)
        evidence, signs = evidence.ordered(order), np.ones(n)
    elif flipped:
        gains = ",".join(f"{sign:g}" for sign in signs)
        text = f"the torque of {_list(names, flipped)} has the opposite sign"
        yield Trap("sign", text, f"--gains={gains}", tuple(flipped))
    elif moving and np.median(np.maximum(right, wrong)[moving]) < _LITTLE:
        text = f"the model explains less than {_LITTLE:.0%} of the variation of most torques"
        yield Trap("torque", text, "check --columns and ROBOT")
    yield from _size_traps(evidence._replace(measured=evidence.measured * signs), moving)


def _weightless(evidence: _Evidence, moving: Sequence[int]) -> list[int]:
    """The joints that gravity loads most, if their torques lack it; else none."""
    inertia, gravity, measured = evidence.inertia, evidence.gravity, evidence.measured
    weight, total = gravity.std(axis=0), measured.std(axis=0)
    heavy = [j for j in moving if weight[j] > 0.3 * weight.max(initial=0.0) > 1e-9]
    fits = [evidence.explained(j, j) for j in range(evidence.robot.n)]
    c_inertia, c_gravity = np.array([x[:2] for _, x in fits]).T
    known = [j for j in heavy if c_inertia[j] * min(inertia[:, j].std(), weight[j]) > 0.15 * total[j]
             and fits[j][0] > _EXPLAINED]  # fmt: skip
    if known and c_gravity[known].sum() < _WEIGHTLESS * c_inertia[known].sum():
        return heavy
    little = [1e-6 * weight[j] < total[j] < 0.4 * weight[j] for j in heavy]  # a torque that never changes is none
    if heavy and all(little) and all(c_gravity[j] * weight[j] < 0.1 * total[j] for j in heavy):
        return heavy
    mean, load = measured.mean(axis=0), gravity.mean(axis=0)
    steady = [j for j in moving if weight[j] < 0.02 * abs(load[j]) and abs(load[j]) > 2.0 * inertia[:, j].std()]
    usual = np.median(c_inertia[c_inertia > 0.0]) if c_inertia.any() else 1.0
    missing = not heavy and bool(steady) and all(abs(mean[j]) < _WEIGHTLESS * usual * abs(load[j]) for j in steady)
    return steady if missing else []


def _size_traps(evidence: _Evidence, moving: Sequence[int]) -> Iterator[Trap]:
    """Torques of another unit or on the other side of the gears."""
    n, names, total = evidence.robot.n, evidence.robot.joint_names, evidence.measured.std(axis=0)
    model = evidence.inertia + evidence.gravity
    whole, rigid = evidence._replace(inertia=model, gravity=0.0 * model), model.std(axis=0)
    fits = [whole.explained(j, j) for j in range(n)]
    scale = np.array([x[0] for _, x in fits])
    strong = [j for j in moving if fits[j][0] > _EXPLAINED and scale[j] * rigid[j] > 0.3 * total[j] > 0.0
              and rigid[j] > 0.05 * rigid.max()]  # fmt: skip
    usual = float(np.median(scale[strong])) if strong else 1.0
    if not _SMALL < usual < _LARGE:
        gains = ",".join(f"{1.0 / scale[j]:.3g}" if j in strong else "?" for j in range(n))
        text = f"torques are {usual:.3g} times the model's: currents, torques before the gears, or another unit"
        milli = " (--units tau=mNm of mN m)" * (300.0 < usual < 3000.0)
        yield Trap("scale", text, f"--gains of the data sheet, N m for each of these{milli}; by the model {gains}")
    if apart := [j for j in strong if not 1.0 / _APART < scale[j] / usual < _APART]:
        text = (f"against the model the torque of {_list(names, apart)} is {scale[apart[0]] / usual:.3g} times as "
                "large as those of other joints: another unit, or the other side of the gears")  # fmt: skip
        yield Trap("scale", text, "--gains with a number for each joint", tuple(apart))


def _list(names: Sequence[str], joints: Sequence[int]) -> str:
    return f"joint{'s' * (len(joints) > 1)} {', '.join(repr(names[j]) for j in joints)}"
