"""Faults of a log that would make any comparison with a model wrong: units, signs, order, gravity, gears.

Evidence is structural, since masses of a model are often wrong by half: velocities against slopes of positions, spans
against limits, and how much of each torque its joint explains (`Evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.figures.tracking import REVOLUTE, joint_units
from rne_dynamics.identification.evidence import EXPLAINED, Evidence, arranged
from rne_dynamics.identification.motion import motion_of
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.recording import Recording

DEGREE = np.pi / 180.0


class _Factors(NamedTuple):
    """What brings times, positions and velocities to SI units."""

    t: float = 1.0
    q: float = 1.0
    qd: float = 1.0


#: Slopes of positions over velocities that name a fault: kind, what it is, options that fix it, and factors that do.
_SLOPES = (
    (-1.0, "velocity", "velocities have the sign opposite to the slope of the positions",
     "find out which one is wrong: the residual needs positions only", _Factors(qd=-1.0)),
    (1.0 / DEGREE, "degrees", "positions are in degrees, velocities in rad/s", "--units q=deg", _Factors(q=DEGREE)),
    (DEGREE, "degrees", "velocities are in degrees/s, positions in rad", "--units qd=deg", _Factors(qd=DEGREE)),
    *((k, "time", f"times are in {unit}", f"--units t={unit}", _Factors(k)) for unit, k in
      (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))),
    *((k, "time", f"times are {k:g} times too short", "another --units t", _Factors(k)) for k in (1e3, 1e6, 1e9)),
    (1e-3 * DEGREE, "time", "times are in ms and velocities in degrees/s", "--units t=ms,qd=deg",
     _Factors(1e-3, 1.0, DEGREE)),
)  # fmt: skip
#: Longest period of joint states, s, and times that unit is then, by how many times longer it is at most.
_PERIOD, _LONGER = 0.2, (("ms", 1e-3, 500.0), ("us", 1e-6, 5e5), ("ns", 1e-9, np.inf))
#: Span of positions over that between the limits from which they are in degrees, and least such span, rad; for arms
#: without limits the least span.
_BEYOND, _BEYOND_LEAST, _TURNS = 1.2, 2.0 * np.pi, 4.0 * np.pi
#: Part of a torque's variance that may be explained while its sign is named wrong; part of the largest torque below
#: which it is weak, and part that the other sign must explain of a weak one.
_LITTLE, _WEAK, _SURE = 0.35, 0.05, 0.9
#: Torque over the model's from which, and below which, it has another unit.
_LARGE, _SMALL = 2.8, 0.35
#: The same between one joint and the others.
_APART = 8.0
#: Span of a joint that hardly moves, rad and m.
_STILL, _STILL_LENGTH = 0.03, 0.003
#: Gravity's coefficient over inertia's below which gravity was removed.
_WEIGHTLESS = 0.35


class Trap(NamedTuple):
    """A fault of a log."""

    #: ``time``, ``velocity``, ``degrees``, ``sign``, ``order``, ``gravity``, ``torque``, ``scale``,
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
    still: NDArray[np.bool_] = np.ptp(recording.q, axis=0) < np.where(turning, _STILL, _STILL_LENGTH)
    for search in (_rate_traps, _span_traps):
        for trap, (t, q, qd) in search(robot, recording, turning, ~still):
            found.append(trap)
            rates = None if recording.qd is None else recording.qd * np.where(turning | (qd < 0.0), qd, 1.0)
            recording = replace(recording, t=t * recording.t, q=recording.q * np.where(turning, q, 1.0), qd=rates)
    moving = np.flatnonzero(~still).tolist()
    found += _torque_traps(Evidence.along(robot, motion_of(recording)), moving)
    found += [
        Trap("still", f"joint {robot.joint_names[j]!r} hardly moves, by {np.ptp(recording.q[:, j]):.2g}",
             "its figures say little; record a motion of it", (j,)) for j in np.flatnonzero(still).tolist()
    ]  # fmt: skip
    return found


_Found = Iterator[tuple[Trap, _Factors]]
_Joints = NDArray[np.bool_]


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
        yield Trap("velocity", text, "check times, and which columns these are"), _Factors()

    if period > _PERIOD:
        unit, factor = next((unit, k) for unit, k, most in _LONGER if period <= most * _PERIOD)
        yield Trap("time", f"times are in {unit}: {period:.4g} s between rows", f"--units t={unit}"), _Factors(factor)


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
        fix = "--units q=deg" + (",qd=deg" if log.qd is not None else "")
        yield Trap("degrees", text, fix), _Factors(1.0, DEGREE, DEGREE)


def _torque_traps(evidence: Evidence, moving: Sequence[int]) -> Iterator[Trap]:
    """Faults of torques."""
    n, names = evidence.robot.n, evidence.robot.joint_names
    right, wrong = evidence.own(), evidence.own(-1.0)
    total = evidence.measured.std(axis=0)
    sure = np.where(total > _WEAK * total.max(), EXPLAINED, _SURE)
    flipped = [j for j in moving if wrong[j] > sure[j] and evidence.either_side(j) < _LITTLE]
    known = [j for j in moving if max(right[j], wrong[j]) > EXPLAINED]
    every = bool(flipped) and all(wrong[j] > right[j] for j in known) and (len(known) > 1 or n == 1)
    signs = np.where([j in flipped for j in range(n)], -1.0, 1.0)
    value = float(np.where(signs < 0.0, wrong, right).sum())
    if every:
        evidence, signs, flipped, value = evidence._replace(measured=-evidence.measured), np.ones(n), [], wrong.sum()
        yield Trap("sign", "all torques have the opposite sign", "--gains=-1")
    order = arranged(evidence, value, 0.3 if flipped else 0.5)
    weightless = _weightless(order.of(evidence) if order else evidence, moving)
    if weightless:
        yield Trap("gravity", f"gravity is missing in the torques of {_list(names, weightless)}",
                   "log the whole torque: drivers that compensate gravity often publish the rest", tuple(weightless))
        return
    if order:
        both = (("torques", "tau", order.torques), ("positions", "q", order.states))
        parts = [(what, key, places) for what, key, places in both if places != tuple(range(n))]
        texts = [f"{what} are in another order than the model's joints" for what, *_ in parts]
        fixes = [f"{key}=NAME[{','.join(str(k + 1) for k in places)}]" for _, key, places in parts]
        yield Trap("order", " and ".join(texts), f"--columns {','.join(fixes)}", order.moved)
        evidence, signs = order.of(evidence), np.ones(n)
    elif flipped:
        gains = ",".join(f"{sign:g}" for sign in signs)
        text = f"the torque of {_list(names, flipped)} has the opposite sign"
        yield Trap("sign", text, f"--gains={gains}", tuple(flipped))
    elif moving and np.median(np.maximum(right, wrong)[moving]) < _LITTLE:
        text = f"the model explains less than {_LITTLE:.0%} of the variation of most torques"
        yield Trap("torque", text, "check --columns and ROBOT")
    yield from _size_traps(evidence._replace(measured=evidence.measured * signs), moving)


def _weightless(evidence: Evidence, moving: Sequence[int]) -> list[int]:
    """The joints that gravity loads most, if their torques lack it; else none."""
    inertia, gravity, measured = evidence.inertia, evidence.gravity, evidence.measured
    weight, total, joints = gravity.std(axis=0), measured.std(axis=0), range(evidence.robot.n)
    heavy = [j for j in moving if weight[j] > 0.3 * weight.max(initial=0.0) > 1e-9]
    fits = [evidence.explained(j, j) for j in joints]
    c_inertia, c_gravity = (np.array([x[k] for _, x in fits]) for k in (0, 1))
    known = [j for j in heavy if c_inertia[j] * min(inertia[:, j].std(), weight[j]) > 0.15 * total[j]
             and fits[j][0] > EXPLAINED]  # fmt: skip
    if known and c_gravity[known].sum() < _WEIGHTLESS * c_inertia[known].sum():
        return heavy
    little = [1e-6 * weight[j] < total[j] < 0.4 * weight[j] for j in heavy]  # a torque that never changes is none
    if heavy and all(little) and all(c_gravity[j] * weight[j] < 0.1 * total[j] for j in heavy):
        return heavy
    mean, load = measured.mean(axis=0), gravity.mean(axis=0)
    steady = [j for j in moving if weight[j] < 0.02 * abs(load[j]) and abs(load[j]) > 2.0 * inertia[:, j].std()]
    usual = np.median([scale for scale in c_inertia if scale > 0.0] or [1.0])
    missing = not heavy and bool(steady) and all(abs(mean[j]) < _WEIGHTLESS * usual * abs(load[j]) for j in steady)
    return steady if missing else []


def _size_traps(evidence: Evidence, moving: Sequence[int]) -> Iterator[Trap]:
    """Torques of another unit or on the other side of the gears."""
    n, names, total = evidence.robot.n, evidence.robot.joint_names, evidence.measured.std(axis=0)
    whole = [evidence.explained(j, j, whole=True) for j in range(n)]
    rigid = (evidence.inertia + evidence.gravity).std(axis=0)
    scale = np.array([x[0] for _, x in whole])
    strong = [j for j in moving if whole[j][0] > EXPLAINED and scale[j] * rigid[j] > 0.3 * total[j] > 0.0
              and rigid[j] > 0.05 * rigid.max()]  # fmt: skip
    usual = float(np.median(scale[strong])) if strong else 1.0
    if not _SMALL < usual < _LARGE:
        gains = ",".join(f"{1.0 / scale[j]:.3g}" if j in strong else "?" for j in range(n))
        text = f"torques are {usual:.3g} times the model's: currents, torques before the gears, or another unit"
        milli = " (--units tau=mNm of mN m)" * (300.0 < usual < 3000.0)
        yield Trap("scale", text, f"--gains of the data sheet, N m for each of these{milli}; by the model {gains}")
    apart = [j for j in strong if not 1.0 / _APART < scale[j] / usual < _APART]
    if apart:
        text = (
            f"against the model the torque of {_list(names, apart)} is {scale[apart[0]] / usual:.3g} times as large as "
            "those of other joints: another unit, or the other side of the gears"
        )
        yield Trap("scale", text, "--gains with a number for each joint", tuple(apart))


def _list(names: Sequence[str], joints: Sequence[int]) -> str:
    return f"joint{'s' * (len(joints) > 1)} {', '.join(repr(names[j]) for j in joints)}"
