"""Random trajectory requests, from valid to hostile, and the invariants of each."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import Accepted
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.errors import TrajectoryError

JOINTS = ("shoulder", "elbow", "wrist")
N = len(JOINTS)
#: The last joint turns without end, and has no speed limit.
LIMITS = MotionLimits(
    JOINTS, np.array([-1.0, -2.0, -np.inf]), np.array([1.5, 2.0, np.inf]), np.array([2.0, 1.0, np.inf]), 0.05
)
TOLERANCES = Tolerances(JOINTS)
STAMP = 1_700_000_000_123_456_789
BLEND = 0.2
INT32 = 2**31
#: Numbers that may break something.
NUMBERS = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 5e-324, 1e16, -1e9, 1e5, 3.0, -0.0, 1.0 + 1e-9, 2.0**63,
)


@dataclass
class Row:
    """One point, in the names of its message."""

    positions: list[float]
    velocities: list[float]
    accelerations: list[float]
    time: tuple[int, int]
    effort: list[float] = field(default_factory=list)


@dataclass
class Request:
    """One request: joints, points, the header's stamp, and the arm's current command."""

    names: list[str]
    rows: list[Row]
    header: tuple[int, int]
    now: Reference


def split(ns: int) -> tuple[int, int]:
    return ns // 10**9, ns % 10**9


def sane(rng: np.random.Generator) -> Request:
    """A request near the limits that may well be followed."""
    moving = rng.random() < 0.4
    now = Reference(
        rng.uniform(-0.9, 0.9, N), rng.uniform(-0.5, 0.5, N) * moving, rng.uniform(-1.0, 1.0, N) * moving
    )
    m = N if rng.random() < 0.7 else int(rng.integers(1, N))
    columns = rng.permutation(N)[:m]
    points, order = int(rng.integers(1, 7)), int(rng.integers(0, 3))
    gaps = rng.integers(50_000_000, 2_000_000_000, points)
    times = np.cumsum(gaps) - (gaps[0] if points > 1 and rng.random() < 0.5 else 0)
    reach = rng.choice([0.02, 0.3, 1.2])
    q = now.q[columns] + reach * rng.uniform(-1.0, 1.0, (points, m))
    if times[0] == 0:
        q[0] = now.q[columns] + rng.choice([0.0, 1e-9, 0.02]) * rng.uniform(-1.0, 1.0, m)
    qd = reach * rng.uniform(-1.0, 1.0, (points, m))
    qdd = reach * rng.uniform(-2.0, 2.0, (points, m))
    if times[0] == 0 and rng.random() < 0.5:
        q[0], qd[0], qdd[0] = now.q[columns], now.qd[columns], now.qdd[columns]
    qd[-1] = 0.0
    rows = [
        Row(q[k].tolist(), qd[k].tolist() if order else [], qdd[k].tolist() if order > 1 else [], split(int(times[k])))
        for k in range(points)
    ]
    late = int(rng.choice([0, 0, 0, 1, -1]) * rng.integers(0, 1_500_000_000))
    return Request([JOINTS[j] for j in columns], rows, split(STAMP + late) if late else (0, 0), now)


def _number(rng: np.random.Generator, request: Request) -> None:
    row = request.rows[rng.integers(len(request.rows))]
    values = [row.positions, row.velocities, row.accelerations][rng.integers(3)] or row.positions
    if values:
        values[rng.integers(len(values))] = NUMBERS[rng.integers(len(NUMBERS))]


def _scale(rng: np.random.Generator, request: Request) -> None:
    factor = float(rng.choice([3.0, 10.0, 1e3, -1.0, 0.0, 1e150]))
    what = ("positions", "velocities", "accelerations")[rng.integers(3)]
    for row in request.rows:
        setattr(row, what, [factor * x for x in getattr(row, what)])


def _names(rng: np.random.Generator, request: Request) -> None:
    others = ("", "finger", "shoulder", "elbow ", "\t", "ellbow", "j" * 1000)
    choice = int(rng.integers(4))
    if choice == 0 and request.names:
        request.names[rng.integers(len(request.names))] = others[rng.integers(len(others))]
    elif choice == 1:
        request.names.append(others[rng.integers(len(others))])
    elif choice == 2:
        request.names = request.names[:-1]
    else:
        request.names = request.names * 2


def _lengths(rng: np.random.Generator, request: Request) -> None:
    row = request.rows[rng.integers(len(request.rows))]
    what = ("positions", "velocities", "accelerations", "effort")[rng.integers(4)]
    values = getattr(row, what)
    setattr(row, what, ([*values, 0.1], values[:-1], [], [0.0] * 1000)[rng.integers(4)])


def _time(rng: np.random.Generator, request: Request) -> None:
    k = int(rng.integers(len(request.rows)))
    before = request.rows[k - 1].time
    request.rows[k].time = (
        before, (before[0], before[1] + 1), (-1, 999_999_999), (-INT32, 0), (INT32 - 1, 999_999_999),
        (INT32 - 1, 2**32 - 1), (0, 2**32 - 1), (0, 0), (0, 1), (86_400, 0), (86_400, 1), (80_000, 0),
    )[rng.integers(12)]


def _header(rng: np.random.Generator, request: Request) -> None:
    sec, ns = split(STAMP)
    request.header = (
        (-INT32, 0), (INT32 - 1, 2**32 - 1), (-1, 5), (0, 1), (1, 0), (sec, 2**32 - 1), (sec - 601, ns), (sec + 601, 0),
        (sec + 599, ns), (sec - 3, ns), (sec + 5, ns), (sec, ns),
    )[rng.integers(12)]


def _more(rng: np.random.Generator, request: Request) -> None:
    request.rows = [r for r in request.rows for _ in range(int(rng.integers(0, 3)))]


HOSTILITIES: tuple[Callable[[np.random.Generator, Request], None], ...] = (
    _number, _number, _scale, _names, _lengths, _time, _time, _header, _more,
)


def requests(seed: int, count: int) -> list[Request]:
    """As many requests: a third sane, the others with one to three hostilities."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        request = sane(rng)
        for _ in range(int(rng.integers(0, 3))):
            if request.rows:
                HOSTILITIES[rng.integers(len(HOSTILITIES))](rng, request)
        made.append(request)
    return made


def plain_time(time: tuple[int, int]) -> Any:
    return SimpleNamespace(sec=time[0], nanosec=time[1])


def plain_points(request: Request, typed: bool) -> list[Any]:
    """The points without message classes: lists, or the arrays that messages have."""

    def values(row: list[float]) -> Any:
        return array("d", row) if typed else list(row)

    return [
        SimpleNamespace(
            positions=values(r.positions), velocities=values(r.velocities), accelerations=values(r.accelerations),
            effort=values(r.effort), time_from_start=plain_time(r.time),
        )
        for r in request.rows
    ]


def follow_and_look(accepted: Accepted, now: Reference, rng: np.random.Generator, looks: int = 40) -> None:
    """Follow an accepted trajectory at changing speeds: it must start with `now` and never leave the limits."""
    motion = Motion(accepted.path.base, accepted.start, TOLERANCES, blend_time=accepted.blend_time)
    at = accepted.start + round(accepted.begin * 1e9)
    motion.begin(at, now)
    started, asked = np.stack(motion.reference), np.stack(now)
    assert (np.abs(started - asked) <= 1e-9 * (1.0 + np.abs(asked).max())).all()
    end = accepted.path.duration - accepted.begin
    braked, slow = rng.random() < 0.1, rng.random() < 0.3
    times = np.sort(np.concatenate([rng.uniform(0.0, 1.1 * end, looks), accepted.path.knots - accepted.begin]))
    speeds = rng.random(len(times)) if slow else np.ones(len(times))
    seen = []
    for k, (t, speed) in enumerate(zip(times.tolist(), speeds.tolist(), strict=True)):
        seen.append(motion.advance(at + round(t * 1e9), speed))
        if braked and k == looks // 3:
            motion.brake(0.3)
    q, qd, qdd = (np.array(part) for part in zip(*seen, strict=True))
    assert (q >= np.minimum(LIMITS.lower, now.q) - 2e-9).all()  # NaN fails too
    assert (q <= np.maximum(LIMITS.upper, now.q) + 2e-9).all()
    assert (np.abs(qd) <= np.maximum(1.001 * LIMITS.velocity, np.abs(now.qd)) + 2e-9).all()
    assert np.isfinite(qdd).all()
    if not (braked or slow):
        rest = motion.advance(at + 10**15)
        assert (rest.q == accepted.trajectory.positions[-1]).all()
        assert not rest.qd.any()


def look_at_all(made: list[Request], accept: Callable[[Request], Accepted], seed: int) -> tuple[int, set[str]]:
    """Offer each request to `accept`; returns how many were accepted, and the kinds of refusal."""
    rng = np.random.default_rng(seed)
    count, refusals = 0, set()
    for request in made:
        try:
            accepted = accept(request)
        except TrajectoryError as error:
            text = str(error)
            assert 10 < len(text) < 2000
            refusals.add(" ".join(w for w in text.split() if w.isalpha())[:40])
            continue
        count += 1
        follow_and_look(accepted, request.now, rng)
    return count, refusals
