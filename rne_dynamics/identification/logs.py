"""Logs of a robot's motion from any program: CSV, NPZ, MCAP, ROS 2 bags; columns by name or as they are named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from rne_dynamics.errors import ArgumentError, RecordingError
from rne_dynamics.identification.log_columns import QUANTITIES, Group, chosen, groups, named, ordered, parsed
from rne_dynamics.input_file import read_arrays
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import GAP, Recording
from rne_dynamics.recording.text_table import read_text_table

#: Units that a log may have, and what they are in SI units, by quantity.
UNITS = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}, "q": {"rad": 1.0, "deg": np.pi / 180.0},
    "qd": {"rad": 1.0, "deg": np.pi / 180.0},
}  # fmt: skip
#: A gap that is bridged, s: a light filter then hides it. Longer ones split a log.
_BRIDGED = 0.05
#: Numbers that no sensor reports; part of the usual span by which one position or time is off, and the least such.
_ABSURD, _SPIKE, _LEAST_SPIKE = 1e15, 0.5, 0.05
#: Part of the rows that may be out of order, or lack numbers.
_FEW = 0.02
#: Most rows by which arrays of one log differ in length.
_CUT = 10


def read_log(
    path: str | Path, robot: Robot, columns: str | None = None, *, topic: str | None = None,
    units: Mapping[str, str] | None = None, gains: Array | None = None,
) -> Recording:
    """Read what was logged of a robot's joints: times, positions, torques, and velocities where there are any.

    Parameters
    ----------
    path
        An .npz, .mcap or .db3, the folder of a bag, or a text file with a row for each time (CSV, any separator).
    robot
        Its joints are taken by name where the log names them, else in the order of their numbers.
    columns
        ``t=NAME,q=NAME,qd=NAME,tau=NAME``: names of arrays or columns (with ``*`` for joints), numbers of columns from
        1 (``q=2-7``), or some columns of an array (``tau=torques[1,3,2]``); ``t=200Hz`` where no times were logged.
        What is not named is found by usual names.
    topic
        Of the joint states of a bag, if there are several.
    units
        ``deg`` for q and qd, ``ms``, ``us``, ``ns`` for t; by default as the names say, else rad and s.
    gains
        Torque over what was logged, of every joint, as N·m/A of motor currents; shape (n,).

    Returns
    -------
    Recording
        On the robot's joints, with efforts; times begin at 0 and rise. `notes` say what was found and left out.

    Raises
    ------
    RecordingError
        No such file; no positions, torques or times; several that could be; other numbers of joints; times that fall.
    ArgumentError
        `columns` or `units` that are none.
    """
    path, chosen_units = Path(path), dict(units or {})
    for key, unit in chosen_units.items():
        if unit not in UNITS.get(key, {}):
            known = "; ".join(f"{name}={' or '.join(own)}" for name, own in UNITS.items())
            raise ArgumentError(f"units are {key}={unit}; allowed are {known}")
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        if columns:
            raise ArgumentError(f"{path} has topics, no columns; leave --columns out, and name a --topic if needed")
        found = read_recording(path, topic=topic, joints=robot.joint_names)
        if found.effort is None:
            raise RecordingError(f"{path}: joint states have no efforts; record a driver that reports them")
        t, notes = found.t, list(found.notes)
        parts: dict[str, Array] = {"q": found.q, "tau": found.effort}
        if found.qd is not None:
            parts["qd"] = found.qd
    elif topic is not None:
        raise RecordingError(f"{path} has no topics; leave topic {topic!r} out")
    else:
        t, parts, notes = _from_table(path, robot, columns, chosen_units)
    for key in ("q", "qd"):
        if key in parts:
            parts[key] = parts[key] * UNITS[key][chosen_units.get(key, "rad")]
    t = t * UNITS["t"][chosen_units.get("t", "s")]
    if gains is not None:
        parts["tau"] = parts["tau"] * gains
    return _tidy(path, robot.joint_names, t, parts, notes)


def _from_table(
    path: Path, robot: Robot, text: str | None, units: dict[str, str]
) -> tuple[Array, dict[str, Array], list[str]]:
    """Times from the first, the other quantities, notes; units that names say are added."""
    wanted, joints = parsed(text), robot.joint_names
    columns, notes = _columns(path, joints)
    found, parts, places = groups(columns, joints), dict[str, NDArray[Any]](), []
    for what in QUANTITIES:
        if what == "t" and (rate := re.fullmatch(r"([\d.]+)\s*Hz", wanted.get("t", ""))):
            parts["t"] = np.arange(float(max(map(len, columns.values())))) / float(rate[1])
            continue
        try:
            group = None if what in wanted else chosen(found, what, joints)
            own = named(columns, found, wanted[what], joints) if group is None and what in wanted else (
                [] if group is None else [*group.columns.values()] if what == "t" else ordered(group, joints)
            )  # fmt: skip
        except RecordingError as error:
            raise RecordingError(f"{path}: {error}") from None
        if not own:
            if what != "qd":
                raise RecordingError(_missing(path, what, columns, found, len(joints)))
            continue
        if len(own) != (1 if what == "t" else len(joints)):
            raise RecordingError(f"{path}: --columns {what}={wanted.get(what)} names {len(own)} columns; robot "
                                 f"{robot.name!r} has {len(joints)} joints: {', '.join(joints)}")  # fmt: skip
        name = wanted.get(what) or (group.name if group else "")
        unit = group.unit if group else Group(name, {}).unit
        said = ""
        if unit in UNITS.get(what, {}) and what not in units:
            units[what], said = unit, f" in {unit}"
        places.append(f"{what} {name}{said}")
        parts[what] = own[0] if what == "t" else np.stack(own, axis=1)
    notes.insert(0, f"columns: {', '.join(places)}")
    rows = min(map(len, parts.values()))
    if max(map(len, parts.values())) - rows > _CUT:
        lengths = ", ".join(f"{what} {len(values)}" for what, values in parts.items())
        raise RecordingError(f"{path}: columns have other lengths ({lengths} rows); give those of one log")
    if any(len(values) > rows for values in parts.values()):
        notes.append("columns do not end with the same row: the last ones are left out")
    t = parts.pop("t")[:rows]
    finite = np.flatnonzero(np.isfinite(t))
    usual = t[finite[len(finite) // 2]] if len(finite) else 0  # of integers, too, and no number cut off
    return np.asarray(t - usual, np.float64), {k: np.asarray(v[:rows], np.float64) for k, v in parts.items()}, notes


def _columns(path: Path, joints: Sequence[str]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The columns of a file by name, and notes."""
    if not path.exists():
        raise RecordingError(f"{path} does not exist")
    if path.suffix != ".npz":
        table = read_text_table(path)
        return _whole_stamps(dict(zip(table.names, table.numbers.T, strict=True))), list(table.notes)
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    named_joints = next((list(map(str, a.ravel())) for a in arrays.values() if a.dtype.kind in "US" and a.ndim), [])
    columns: dict[str, NDArray[Any]] = {}
    for name, given in arrays.items():
        values = np.squeeze(given)
        if values.dtype.kind not in "iuf" or values.ndim not in (1, 2):
            continue
        if values.ndim == 2 and values.shape[0] < values.shape[1]:
            values = values.T  # joints first
        if values.ndim == 2 and set(joints) <= set(named_joints) and len(named_joints) == values.shape[1]:
            values = values[:, [named_joints.index(joint) for joint in joints]]
        columns[name] = values
    return _whole_stamps(columns), []


def _whole_stamps(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """With seconds and nanoseconds of a stamp as one column."""
    for name in list(columns):
        rest = next((name[: -len(sec)] + more for sec in ("sec", "secs") for more in ("nanosec", "nsec", "nsecs")
                     if name.endswith(sec) and name[: -len(sec)] + more in columns), None)  # fmt: skip
        if rest is not None and not name.endswith(("nsec", "nanosec", "nsecs")):
            seconds = columns.pop(name)
            columns[re.sub(r"\W*_?secs?$", "", name) or "time"] = seconds - seconds[0] + 1e-9 * columns.pop(rest)
    return columns


def _missing(path: Path, what: str, columns: Mapping[str, NDArray[Any]], found: Mapping[str, Group], n: int) -> str:
    """The message for a quantity that no column holds."""
    if all(name.isdigit() for name in columns):
        example = f"t=1,q=2-{n + 1},tau={n + 2}-{2 * n + 1}"
        return f"{path} has {len(columns)} columns without names; say what they are by number, as --columns {example}"
    shapes = [f"{name} {values.shape}" if values.ndim == 2 else name for name, values in columns.items()]
    listed = ", ".join(shapes[:16]) + (", ..." if len(shapes) > 16 else "")
    example = "t=NAME or, for even times, t=200Hz" if what == "t" else f"{what}=NAME or numbers, as {what}=2-{n + 1}"
    sizes = sorted({len(group.columns) for group in found.values() if len(group.columns) > 1} - {n})
    other = f"; groups of columns have {', '.join(map(str, sizes))} columns, the robot {n} joints" if sizes else ""
    other += "; --lock holds joints that were not logged" if sizes and sizes[0] < n else ""
    return f"{path}: no column is known to hold {QUANTITIES[what]}; give --columns {example}; it has {listed}{other}"


def _tidy(path: Path, joints: tuple[str, ...], t: Array, parts: dict[str, Array], notes: list[str]) -> Recording:
    """Rows that are finite, on rising times, without long gaps; notes say what was left out."""
    parts = {key: np.where(np.abs(values) < _ABSURD, values, np.nan) for key, values in parts.items()}
    whole = np.isfinite(t) & np.isfinite(parts["q"]).all(axis=1)
    whole[whole] = ~_spikes(np.c_[t, parts["q"]][whole])
    if (lost := int((~whole).sum())) > 0:
        notes.append(f"{lost} of {len(t)} rows without time and all positions, or far from the others, are left out")
    if not whole.any():
        raise RecordingError(f"{path}: no row has a time and the positions of all joints")
    t, parts = t[whole], {key: values[whole] for key, values in parts.items()}
    order = _rising(path, t, notes)
    t, parts = t[order], {key: values[order] for key, values in parts.items()}
    rising = np.r_[True, np.diff(t) > 0.0]
    if (doubled := int((~rising).sum())) > 0:
        notes.append(f"{doubled} of {len(t)} rows have the time of the row before: left out")
        t, parts = t[rising], {key: values[rising] for key, values in parts.items()}
    first, last = _without_gaps(t, notes)
    t, parts = t[first:last], {key: values[first:last] for key, values in parts.items()}
    filled = _filled(t, parts["tau"])
    if filled is None:
        raise RecordingError(f"{path}: torques of some joint are missing in most rows; log them with the positions")
    if (gone := int((~np.isfinite(parts["tau"])).any(axis=1).sum())) > 0:
        notes.append(f"{gone} of {len(t)} rows lack torques, which are interpolated")
    velocities = _filled(t, parts["qd"]) if "qd" in parts else None
    return Recording(
        source=str(path), joint_names=joints, t=t - t[0], q=parts["q"], qd=velocities, effort=filled,
        notes=tuple(notes),
    )


def _rising(path: Path, t: Array, notes: list[str]) -> NDArray[np.int64]:
    """Rows in the order of their times; without those before or after nearly all others, which rise."""
    steps = np.diff(t)
    falls = np.flatnonzero(steps < 0.0)
    if not len(falls):
        return np.arange(len(t))
    k = int(steps.argmin())
    if len(falls) <= max(_FEW * len(t), 1) and -steps[k] <= GAP * np.median(np.abs(steps)):
        notes.append(f"{len(falls)} rows are out of order: sorted by time")
        return np.argsort(t, kind="stable")
    first, last = max(pairwise([0, *(falls + 1).tolist(), len(t)]), key=lambda part: part[1] - part[0])
    if last - first < (1.0 - 5.0 * _FEW) * len(t):
        raise RecordingError(f"{path}: times fall from {t[k]:.6g} to {t[k + 1]:.6g} s after row {k + 1}; give a log of "
                             "one motion, with times that rise")  # fmt: skip
    notes.append(f"times fall: {len(t) - last + first} rows before or after are left out")
    return np.arange(first, last)


def _spikes(rows: Array) -> NDArray[np.bool_]:
    """Rows with a number that is far from those before and after, as after an error of transmission."""
    if len(rows) < 5:
        return np.zeros(len(rows), np.bool_)
    low, high = np.percentile(rows, (10.0, 90.0), axis=0)
    apart = np.abs(rows - median_filter(rows, (5, 1), mode="nearest"))
    return np.asarray((apart > np.maximum(_SPIKE * (high - low), _LEAST_SPIKE)).any(axis=1))


def _without_gaps(t: Array, notes: list[str]) -> tuple[int, int]:
    """First and last row of the longest part without long gaps."""
    steps = np.diff(t)
    long = np.flatnonzero(steps > max(GAP * np.median(steps), _BRIDGED)) if len(steps) else np.zeros(0, int)
    if len(long):
        edges = np.r_[0, long + 1, len(t)]
        spans = t[edges[1:] - 1] - t[edges[:-1]]
        k = int(spans.argmax())
        notes.append(f"{len(long)} gaps of up to {steps.max():.3g} s: only the longest part without any is used, "
                     f"{spans[k]:.3g} of {t[-1] - t[0]:.3g} s")  # fmt: skip
        return int(edges[k]), int(edges[k + 1])
    return 0, len(t)


def _filled(t: Array, values: Array) -> Array | None:
    """Values with those that are not finite interpolated; None where most are missing."""
    known = np.isfinite(values)
    if (known.sum(axis=0) < 0.2 * len(t)).any():
        return None
    if known.all():
        return values
    return np.stack([np.interp(t, t[k], column[k]) for column, k in zip(values.T, known.T, strict=True)], axis=1)
