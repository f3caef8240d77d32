"""Faults of a log that would make any comparison with a model wrong: units, signs, order, gravity, gears, delay.

Evidence is structural, since masses of a model are often wrong by half: velocities against slopes of positions, spans
against limits, and how much of each torque its joint explains (`Evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from rne_dynamics.figures.tracking import REVOLUTE, joint_units
from rne_dynamics.identification.arrangement import Arrangement, arranged
from rne_dynamics.identification.evidence import EXPLAINED, Evidence, fit
from rne_dynamics.identification.motion import motion_of
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.recording import Recording

DEGREE = np.pi / 180.0
#: Slopes of positions over velocities that name a fault: what it is, options that fix it, and the factors of time,
#: positions and velocities that do.
_SLOPES = (
    (-1.0, "velocities have the sign opposite to the slope of the positions",
     "find out which one is wrong: the residual needs positions only", (1.0, 1.0, -1.0)),
    (1.0 / DEGREE, "positions are in degrees, velocities in rad/s", "--units q=deg", (1.0, DEGREE, 1.0)),
    (DEGREE, "velocities are in degrees/s, positions in rad", "--units qd=deg", (1.0, 1.0, DEGREE)),
    *((k, f"times are in {unit}", f"--units t={unit}", (k, 1.0, 1.0)) for unit, k in
      (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))),
    *((k, f"times are {k:g} times too short", "another --units t", (k, 1.0, 1.0)) for k in (1e3, 1e6, 1e9)),
    (1e-3 * DEGREE, "times are in ms and velocities in degrees/s", "--units t=ms,qd=deg", (1e-3, 1.0, DEGREE)),
)  # fmt: skip
#: Longest period of joint states in s; a longer one up to 500 times this is in ms, up to 500,000 times in us.
_PERIOD = 0.2
#: Span of positions over that between the limits, or in turns of an endless joint, from which they are in degrees.
_BEYOND, _TURNS = 1.2, 2.0
#: Part of a torque's variance that may be explained while its sign is named wrong.
_LITTLE = 0.35
#: Torque over the model's from which, and below which, it has another unit.
_LARGE, _SMALL = 2.8, 0.35
#: The same between one joint and the others.
_APART = 8.0
#: Span of a joint that hardly moves, rad and m.
_STILL, _STILL_LENGTH = 0.03, 0.003
#: Gravity's coefficient over inertia's below which gravity was removed.
_WEIGHTLESS = 0.35
#: Delays of torques that are tried, and the least that is reported, s; by which part it must lower the
#: squared errors, and of how many rows at least.
_LATEST, _LATE, _LATE_BETTER, _LATE_ROWS = 0.1, 0.015, 0.5, 60


class Trap(NamedTuple):
    """A fault of a log."""

    #: ``time``, ``velocity``, ``degrees``, ``sign``, ``order``, ``direction``, ``gravity``, ``torque``,
    #: ``scale``, ``delay``, or ``still``, which only says that a joint's figures mean little.
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
    for trap, (time, position, velocity) in _units(robot, recording, turning, still):
        found.append(trap)
        qd = None if recording.qd is None else recording.qd * np.where(turning | (velocity < 0.0), velocity, 1.0)
        recording = replace(
            recording, t=recording.t * time, q=recording.q * np.where(turning, position, 1.0), qd=qd
        )
    evidence = Evidence.along(robot, motion_of(recording))
    moving = [j for j in range(robot.n) if not still[j]]
    found += _torque_traps(evidence, moving)
    found += [
        Trap("still", f"joint {robot.joint_names[j]!r} hardly moves, by {np.ptp(recording.q[:, j]):.2g}",
             "its figures say little; record a motion of it", (j,)) for j in np.flatnonzero(still).tolist()
    ]  # fmt: skip
    return found


def _units(
    robot: RobotModel, recording: Recording, turning: NDArray[np.bool_], still: NDArray[np.bool_]
) -> Iterator[tuple[Trap, tuple[float, float, float]]]:
    """Faults of times, positions and velocities, with the factors that fix them."""
    t, q, qd = recording.t, recording.q, recording.qd
    slope = np.nan
    if qd is not None and len(t) > 2:
        rate = np.gradient(q, t, axis=0)
        both = (rate * qd).sum(axis=0)
        sizes = np.sqrt((rate**2).sum(axis=0) * (qd**2).sum(axis=0))
        sure = ~still & (np.abs(both) > 0.5 * sizes)
        sure = sure & turning if (sure & turning).any() else sure
        if sure.any():
            slope = float(np.median(both[sure] / (qd[:, sure] ** 2).sum(axis=0)))
    period = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    for value, text, fix, factors in _SLOPES:
        if np.isfinite(slope) and abs(slope / value - 1.0) < 0.1:
            kind = "time" if factors[0] != 1.0 else "degrees" if DEGREE in factors else "velocity"
            yield Trap(kind, f"{text}: slopes of positions are {slope:.3g} times the velocities", fix), factors
            q = q * factors[1]
            break
    else:
        if np.isfinite(slope) and abs(slope - 1.0) > 0.3:
            text = f"velocities are not the slopes of positions, which are {slope:.3g} times as large"
            yield Trap("velocity", text, "check times, and which columns these are"), (1.0, 1.0, 1.0)
        if period > _PERIOD:
            limits = (("ms", 1e-3, 500.0), ("us", 1e-6, 5e5), ("ns", 1e-9, np.inf))
            unit, factor = next((unit, k) for unit, k, most in limits if period <= most * _PERIOD)
            text = f"times are in {unit}: {period:.4g} s between rows"
            yield Trap("time", text, f"--units t={unit}"), (factor, 1.0, 1.0)
    span, room = np.ptp(q, axis=0), robot.upper - robot.lower
    limited = turning & np.isfinite(room) & (room > 0.0)
    beyond = (span > _BEYOND * room)[limited].any() if limited.any() else bool(
        (span > 2.0 * np.pi * _TURNS)[turning].any()
    )  # fmt: skip
    if beyond:
        j = int((np.where(limited, span / np.where(room > 0.0, room, np.inf), 0.0) if limited.any() else span).argmax())
        text = f"positions are in degrees: joint {robot.joint_names[j]!r} moves by {span[j]:.4g}"
        if limited.any():
            text += f", between limits {room[j]:.4g} rad apart"
        yield Trap("degrees", text, "--units q=deg" + (",qd=deg" if qd is not None else "")), (1.0, DEGREE, DEGREE)


def _torque_traps(evidence: Evidence, moving: Sequence[int]) -> Iterator[Trap]:
    """Faults of torques."""
    n, names = evidence.robot.n, evidence.robot.joint_names
    right, wrong = (evidence.own(np.full(n, sign)) for sign in (1.0, -1.0))
    flipped = [j for j in moving if wrong[j] > EXPLAINED and right[j] < _LITTLE]
    known = [j for j in moving if max(right[j], wrong[j]) > EXPLAINED]
    every = bool(flipped) and all(wrong[j] > right[j] for j in known) and (len(known) > 1 or n == 1)
    signs = np.where([every or j in flipped for j in range(n)], -1.0, 1.0)
    if every:
        evidence, signs = evidence._replace(measured=-evidence.measured), np.ones(n)
        yield Trap("sign", "all torques have the opposite sign", "--gains=-1")
    order = arranged(evidence, float(evidence.own(signs).sum()), 0.3 if flipped and not every else 0.5)
    weightless = _weightless(order.of(evidence) if order else evidence, moving)
    if weightless:
        yield Trap("gravity", f"gravity is missing in the torques of {_list(names, weightless)}",
                   "log the whole torque: drivers that compensate gravity often publish the rest", tuple(weightless))
    elif order:
        yield _arrangement(evidence, order)
        evidence, signs = order.of(evidence), np.ones(n)
    elif flipped and not every:
        gains = ",".join(f"{sign:g}" for sign in signs)
        yield Trap("sign", f"the torque of {_list(names, flipped)} has the opposite sign", f"--gains={gains}",
                   tuple(flipped))  # fmt: skip
    elif moving and np.median(np.maximum(right, wrong)[moving]) < _LITTLE:
        text = f"the model explains less than {_LITTLE:.0%} of the variation of most torques"
        yield Trap("torque", text, "check --columns and ROBOT")
    if not weightless:
        yield from _size_traps(evidence._replace(measured=evidence.measured * signs), moving)


def _arrangement(evidence: Evidence, found: Arrangement) -> Trap:
    """The trap of another arrangement."""
    names, inorder = evidence.robot.joint_names, tuple(range(evidence.robot.n))
    parts = [(what, key, places) for what, key, places in
             (("torques", "tau", found.torques), ("positions", "q", found.states)) if places != inorder]  # fmt: skip
    texts, fixes = [], []
    if parts:
        texts.append(f"{' and '.join(what for what, _, _ in parts)} are in another order than the model's joints")
        numbers = [f"{key}=NAME[{','.join(str(k + 1) for k in places)}]" for _, key, places in parts]
        fixes.append(f"--columns {','.join(numbers)}")
    if turned := [j for j in inorder if found.turned[j] < 0.0]:
        texts.append(f"{_list(names, turned)} turns the other way than in the model")
        fixes.append("turn the <axis> around in the description")
    return Trap("order" if parts else "direction", " and ".join(texts), "; ".join(fixes), found.moved)


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
    """Torques of another unit or on the other side of the gears, or late."""
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
        yield Trap("scale", text, f"--gains of the data sheet, N m for each of these; by the model {gains}")
    apart = [j for j in strong if not 1.0 / _APART < scale[j] / usual < _APART]
    if apart:
        text = (
            f"against the model the torque of {_list(names, apart)} is {scale[apart[0]] / usual:.3g} times as large as "
            "those of other joints: another unit, or the other side of the gears"
        )
        yield Trap("scale", text, "--gains with a number for each joint", tuple(apart))
    enough = bool(moving) and len(evidence.q) >= _LATE_ROWS
    late, better = _delay(evidence, moving) if enough else (0.0, 0.0)
    if better > _LATE_BETTER and _LATE < abs(late) < 0.99 * _LATEST:
        when = "later" if late > 0.0 else "earlier"
        text = f"torques come {abs(late) * 1e3:.0f} ms {when} than positions"
        yield Trap("delay", text, "log both with stamps of one clock, and without filters")


def _delay(evidence: Evidence, moving: Sequence[int]) -> tuple[float, float]:
    """Delay of the torques that explains them best, s, and by which part it lowers the sum of the squared errors."""
    t = evidence.period * np.arange(len(evidence.qd))
    columns = [CubicSpline(t, evidence.columns(j)) for j in moving]

    def error(delay: float) -> float:
        y = evidence.measured[2:-2, moving].T
        return sum(fit(late(t - delay)[2:-2], own)[0] for late, own in zip(columns, y, strict=True))

    errors = {delay: error(delay) for delay in np.linspace(-_LATEST, _LATEST, 11).tolist()}
    best = min(errors, key=errors.__getitem__)
    return best, 1.0 - errors[best] / max(error(0.0), 1e-12)


def _list(names: Sequence[str], joints: Sequence[int]) -> str:
    return "joints " * (len(joints) > 1) + "joint " * (len(joints) == 1) + ", ".join(repr(names[j]) for j in joints)
