"""Logs of a robot's motion from any program: CSV, NPZ, MCAP, ROS 2 bags; columns by name or as they are named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from rne_dynamics.control.motion.limits import sliding_joints
from rne_dynamics.errors import ArgumentError, RecordingError, refuse, unknown
from rne_dynamics.input_file import read_arrays
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording, unwrapped
from rne_dynamics.recording.recording import GAP, Recording, read_text_table

#: Quantities of a log, and what they are for messages.
QUANTITIES = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}
#: Words of names, in the order in which they decide: a name with "q" and "dot" has velocities. "current" are torques of
#: a lower rank.
_WORDS = {
    "": "qdd ddq acc accel acceleration accelerations qddot ddot temperature temp voltage wrench ft tcp pose",
    "qd": "qd dq dqm qdm vel velocity velocities speed speeds qdot dot omega rate dtheta qp",
    "tau": "tau taum torque torques effort efforts eff moment moments trq tq",
    "current": "current currents curr cur i iq amp amps ampere amperes",
    "t": "t time times timestamp timestamps stamp sec secs second seconds clock",
    "q": "q qm qact qmeas pos position positions angle angles ang theta qpos",
}
#: Words of what was not measured, and of what was.
_OTHER = (
    "ref reference desired des target targets cmd command commands commanded d setpoint goal error err gravity "
    "friction inertia coriolis feedforward ext external model std limit cartesian predicted"
)
_MEASURED = "meas measured actual act joint joints link state states"
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: Score of a name without a fitting word.
_NONE = -100
#: A rate above 0 in place of times.
_RATE = re.compile(r"(?=[\d.]*[1-9])(\d+\.?\d*|\.\d+)\s*Hz")
#: Words for units in names.
_UNITS = {
    "deg": "deg", "degs": "deg", "degree": "deg", "degrees": "deg", "ms": "ms", "msec": "ms", "us": "us", "ns": "ns",
    "nsec": "ns", "nsecs": "ns", "nanosec": "ns", "mnm": "mNm", "nmm": "mNm",
}  # fmt: skip


#: Columns, by joint or number, whose names differ in these only.
Group = Mapping[str | int, Array]


def unit_of(name: str) -> str:
    """The unit that a name says, of `_UNITS`; empty for none."""
    words = _TOKEN.findall(name) + re.findall(r"[A-Za-z]+", name)
    return next((_UNITS[word] for word in map(str.lower, words) if word in _UNITS), "")


def groups(columns: Mapping[str, Array], joints: Sequence[str]) -> Mapping[str, Group]:
    """Groups by name, with * for joint or number; arrays of more than one column, (rows, k), are groups already."""
    found: dict[str, dict[str | int, Array]] = {}
    longest = sorted(joints, key=len, reverse=True)
    for name, values in columns.items():
        if values.ndim == 2:
            found[name] = {k: values[:, k] for k in range(values.shape[1])}
            continue
        found.setdefault(name, {})[name] = values
        joint = next((j for j in longest if re.search(rf"(?<![a-zA-Z0-9]){re.escape(j)}(?![a-zA-Z0-9])", name)), None)
        if joint is not None:
            found.setdefault(stem := name.replace(joint, "*", 1), {})[joint] = values
            if _TOKEN.search(stem):
                continue  # its number says no more than its name
        for number in re.finditer(r"\d+", name):
            stem = f"{name[: number.start()]}*{name[number.end() :]}"
            found.setdefault(stem, {})[int(number[0])] = values
    return found


def chosen(found: Mapping[str, Group], what: str, joints: Sequence[str]) -> str:
    """Name of the group that holds a quantity; empty for none, `RecordingError` for several or not measured ones."""
    scores = {name: _score(name, what) for name, group in found.items()
              if (len(group) == 1 if what == "t" else ordered(group, joints) is not None)}  # fmt: skip
    best = max(scores.values(), default=(0, 0, 0))
    names = [name for name, score in scores.items() if score == best and score[0] > 0]
    if len(names) > 1:
        which = " or ".join(names[:4])
        raise RecordingError(f"{QUANTITIES[what]} may be {which}; choose with --columns {what}={names[0]}")
    if names:
        return names[0]
    near = [name for name, score in scores.items() if score[0] > _NONE]
    if near and what in ("q", "tau"):
        raise RecordingError(f"{QUANTITIES[what]} were not measured, by the names; {near[0]} may be commands: to take "
                             f"it for measured, give --columns {what}={near[0]}")  # fmt: skip
    return ""


def _score(name: str, what: str) -> tuple[int, int, int]:
    """How well a name says that a group holds a quantity, positive if it does; then fewer and more usual words."""
    words = [word.lower() for word in _TOKEN.findall(name)]
    kind = next((kind for kind, own in _WORDS.items() if set(own.split()) & set(words)), "")
    if kind != what and not (kind == "current" and what == "tau"):
        return _NONE, 0, 0
    other, measured = (bool(set(own.split()) & set(words)) for own in (_OTHER, _MEASURED))
    usual = next(k for k, word in enumerate(_WORDS[kind].split()) if word in words)
    rank = 10 - 5 * (kind == "current") - 20 * other + measured - ("motor" in words)
    return rank, -len(words), -usual


def ordered(group: Group, joints: Sequence[str]) -> list[Array] | None:
    """Its columns in the order of the joints, by name or number; None if it has others."""
    if all(joint in group for joint in joints):
        return [group[joint] for joint in joints]
    numbers = sorted(key for key in group if isinstance(key, int))
    if len(numbers) == len(group) == len(joints) and numbers[-1] - numbers[0] == len(numbers) - 1:
        return [group[k] for k in numbers]
    return list(group.values()) if len(group) == len(joints) == 1 else None


def parsed(text: str | None) -> dict[str, str]:
    """The parts of ``t=NAME,q=NAME,…``; `ArgumentError` for others."""
    if not text:
        return {}
    parts = [part.partition("=") for part in re.split(r",(?=\s*\w+=)", text)]
    for key, given, value in parts:
        if key.strip() not in QUANTITIES or not given or not value.strip():
            raise ArgumentError(
                f"--columns is {text!r}; write {', '.join(QUANTITIES)} with names of columns, as in "
                "q=positions,tau=torques,t=times, or numbers of columns, as in t=1,q=2-7,tau=14-19"
            )
    return {key.strip(): value.strip() for key, _, value in parts}


def named(
    columns: Mapping[str, Array], found: Mapping[str, Group], text: str, joints: Sequence[str]
) -> Iterator[Array]:
    """The columns that a text names: names, numbers from 1, ranges, * for numbers, NAME[2,1,3] for some of an array."""
    every = [own for values in columns.values() for own in (values.T if values.ndim == 2 else [values])]
    stems = {re.sub(r"\W*\*\W*|_?\*_?", "*", stem).strip("*"): stem for stem in found if "*" in stem}
    for item in map(str.strip, re.split(r",(?![^\[]*\])", text)):
        picked = None if item in columns else re.fullmatch(r"(.+)\[([\d,:\s-]+)\]", item)
        name = picked[1] if picked else item
        group = found.get(name) or found.get(stems.get(name, ""))
        own = every if group is None else ordered(group, joints) or list(group.values())
        numbers = _numbers(picked[2] if picked else name) if picked or group is None else range(1, len(own) + 1)
        if not numbers or max(numbers) > len(own) or (picked and group is None):
            raise RecordingError(unknown("column", item, columns, "the log"))
        yield from (own[k - 1] for k in numbers)


def _numbers(text: str) -> Sequence[int]:
    """Those of ``2-7`` and ``2,1,3``; none for another text."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:[-:]\s*(\d+)\s*)?", part)
        if match is None or int(match[1]) < 1:
            return []
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


_ANGLES = {"rad": 1.0, "deg": np.pi / 180.0}
#: Units that a log may have, and what they are in SI units, by quantity.
UNITS = {"t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}, "q": _ANGLES, "qd": _ANGLES,
         "tau": {"Nm": 1.0, "mNm": 1e-3}}  # fmt: skip
#: A gap that is bridged, s: a light filter then hides it. Longer ones split a log.
_BRIDGED = 0.05
#: Numbers that no sensor reports; part of the usual span by which one position or time is off, and the least such.
_ABSURD, _SPIKE, _LEAST_SPIKE = 1e15, 0.5, 0.05
#: Largest span of positions that are reported within a turn, rounded, rad: degrees have more.
_TURN = 6.3
#: Parts of the rows: those that may be out of order, must have times of their own, and must have torques.
_FEW, _NEW, _KNOWN = 0.02, 0.4, 0.2
#: Endings of files of other programs.
_OTHERS = (".npy", ".mat", ".bag", ".pkl", ".h5", ".hdf5", ".xlsx", ".parquet")
#: Most rows by which arrays of one log differ in length.
_CUT = 10


def read_log(
    path: str | Path, robot: Robot, columns: str | None = None, *, topic: str | None = None,
    units: Mapping[str, str] | None = None, gains: Array | None = None,
) -> Recording:
    """Read what was logged of a robot's joints: times from 0 on that rise, positions, torques, and velocities if any.

    `path`: an .npz, .mcap or .db3, the folder of a bag, or a text file with a row for each time. Joints are taken by
    name where the log has names, else by number. `columns`: as --columns of `rne residual`, else by usual names.
    `topic`: of a bag's joint states. `units`: of `UNITS`, else as names say, else SI; degrees are of joints that turn,
    positions of prismatic joints are in m. `gains`: torque over what was logged, (n,), N·m/A. `RecordingError`;
    `ArgumentError` for `columns` or `units` that are none.
    """
    path, found_units = Path(path), dict(units or {})
    for key, unit in found_units.items():
        if unit not in UNITS.get(key, {}):
            known = "; ".join(f"{name}={' or '.join(own)}" for name, own in UNITS.items())
            raise ArgumentError(f"units are {key}={unit}; allowed are {known}")
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        if columns:
            raise ArgumentError(f"{path} has topics, no columns; leave --columns out, and name a --topic if needed")
        try:
            found = read_recording(path, topic=topic, joints=robot.joint_names)
        except RecordingError as error:
            hint = "; --lock holds joints that were not logged" if "has no joint" in str(error) else ""
            raise RecordingError(f"{error}{hint}") from None
        if found.effort is None:
            raise RecordingError(f"{path}: joint states have no efforts; record a driver that reports them")
        notes, parts = list(found.notes), {"t": found.t[:, None], "q": found.q, "tau": found.effort}
        parts |= {} if found.qd is None else {"qd": found.qd}
    elif topic is not None:
        raise RecordingError(f"{path} has no topics; leave topic {topic!r} out")
    else:
        parts, notes = _from_table(path, robot, parsed(columns), found_units)
    for key, unit in found_units.items():
        if key in parts:
            lengths = [name in sliding_joints(robot.rigid) for name in robot.joint_names] if unit == "deg" else False
            parts[key] = parts[key] * np.where(lengths, 1.0, UNITS[key][unit])
    parts["tau"] = parts["tau"] * (1.0 if gains is None else gains)
    rows = np.hstack([parts[key] for key in ("t", "q", "tau", "qd") if key in parts])
    return _tidy(path, robot.joint_names, rows, notes)


def _from_table(
    path: Path, robot: Robot, wanted: Mapping[str, str], units: dict[str, str]
) -> tuple[dict[str, Array], list[str]]:
    """The quantities, (rows, k) each, and notes; units that names say are added."""
    joints = robot.joint_names
    columns, notes = _columns(path, joints)
    found, parts, places = groups(columns, joints), dict[str, NDArray[Any]](), []
    for what, quantity in QUANTITIES.items():
        count, name = 1 if what == "t" else len(joints), wanted.get(what, "")
        if what == "t" and (rate := _RATE.fullmatch(name)):
            parts[what] = np.arange(float(max(map(len, columns.values()), default=0)))[:, None] / float(rate[1])
            continue
        try:
            if name:
                own: Sequence[NDArray[Any]] = list(named(columns, found, name, joints))
            elif name := chosen(found, what, joints):
                own = [*found[name].values()] if what == "t" else ordered(found[name], joints) or []
            elif what == "qd":
                continue
            else:
                raise RecordingError(_missing(what, columns, found, len(joints)))
            sizes = [len(values) for values in own]
            refuse(
                RecordingError,
                (len(own) != count, f"--columns {what}={name} names {len(own)} columns; robot {robot.name!r} has "
                 f"{len(joints)} joints: {', '.join(joints)}"),
                (len(set(sizes)) > 1, f"--columns {what}={name} names columns of {', '.join(map(str, sizes))} rows; "
                 "give those of one log"),
            )
        except RecordingError as error:
            raise RecordingError(f"{path}: {error}") from None
        parts[what] = np.stack(own, axis=1)
        said = units.setdefault(what, unit) if (unit := unit_of(name)) in UNITS[what] and what not in units else ""
        places.append(f"{what} {name}{' in ' * bool(said)}{said}")
        if not np.isfinite(parts[what]).any():
            raise RecordingError(f"{path}: column {name!r} of {quantity} has no numbers but text or gaps; give "
                                 f"another one as --columns {what}=NAME{', or t=200Hz' * (what == 't')}")  # fmt: skip
    notes.insert(0, f"columns: {', '.join(places)}")
    rows = min(map(len, parts.values()))
    if max(map(len, parts.values())) - rows > _CUT:
        lengths = ", ".join(f"{what} {len(values)}" for what, values in parts.items())
        raise RecordingError(f"{path}: columns have other lengths ({lengths} rows); give those of one log")
    if any(len(values) > rows for values in parts.values()):
        notes.append("columns do not end with the same row: the last ones are left out")
    finite = np.flatnonzero(np.isfinite(parts["t"]))
    if len(finite):  # of integers, too, and no number cut off
        parts["t"] = parts["t"] - parts["t"][finite[len(finite) // 2]]
    return {what: np.asarray(values[:rows], np.float64) for what, values in parts.items()}, notes


def _columns(path: Path, joints: Sequence[str]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The columns of a file by name, and notes; seconds and nanoseconds of a stamp are one column."""
    refuse(
        RecordingError,
        (not path.exists(), f"{path} does not exist"),
        (path.suffix in _OTHERS,
         f"{path} is no log that is read; write it as an .npz with names, or as a table of text"),
    )
    columns, notes = dict[str, NDArray[Any]](), tuple[str, ...]()
    if path.suffix == ".npz":
        try:
            arrays = read_arrays(path)
        except (OSError, ValueError) as error:
            raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        texts = next((list(map(str, a.ravel())) for a in arrays.values() if a.dtype.kind in "US" and a.ndim), [])
        for name, values in ((name, np.squeeze(given)) for name, given in arrays.items()):
            if values.dtype.kind in "iuf" and values.ndim in (1, 2):
                tall = values.T if values.ndim == 2 and values.shape[0] < values.shape[1] else values
                ours = tall.ndim == 2 and set(joints) <= set(texts) and len(texts) == tall.shape[1]
                columns[name] = tall[:, [texts.index(joint) for joint in joints]] if ours else tall
    else:
        names, numbers, notes = read_text_table(path)
        columns = dict(zip(names, numbers.T, strict=True))
    for name in list(columns):
        stem = re.sub(r"(?<!nano)(?<!n)secs?$", "", name)
        rest = next((stem + more for more in ("nanosec", "nsec", "nsecs") if stem + more in columns), "")
        if rest and name != stem:
            seconds = columns.pop(name)
            columns[re.sub(r"\W*_?$", "", stem) or "time"] = seconds - seconds[0] + 1e-9 * columns.pop(rest)
    return columns, list(notes)


def _missing(what: str, columns: Mapping[str, NDArray[Any]], found: Mapping[str, Group], n: int) -> str:
    """The message for a quantity that no column holds."""
    if columns and all(name.isdigit() for name in columns):
        example = f"t=1,q=2-{n + 1},tau={n + 2}-{2 * n + 1}"
        return f"the file has {len(columns)} columns without names; say what they are by number, as --columns {example}"
    shapes = [f"{name} {values.shape}" if values.ndim == 2 else name for name, values in columns.items()]
    listed = ", ".join(shapes[:16]) + ", ..." * (len(shapes) > 16) or "no numbers"
    example = "t=NAME or number; even: t=200Hz" if what == "t" else f"{what}=NAME or numbers ({what}=2-{n + 1})"
    sizes = sorted({len(group) for group in found.values() if len(group) > 1} - {n})
    other = f"; groups of columns have {', '.join(map(str, sizes))} columns, the robot {n} joints" * bool(sizes)
    other += "; --lock holds joints that were not logged" * (min(sizes, default=n) < n)
    return f"no column is known to hold {QUANTITIES[what]}; give --columns {example}; it has {listed}{other}"


def _tidy(path: Path, joints: tuple[str, ...], rows: Array, notes: list[str]) -> Recording:
    """Rows [t, q, tau, qd] that are finite, on rising times, with positions unwrapped; notes say what was changed."""
    n = len(joints)
    rows = np.where(np.abs(rows) < _ABSURD, rows, np.nan)
    states = rows[:, : n + 1]
    whole: NDArray[np.bool_] = np.asarray(np.isfinite(states).all(axis=1))
    if not whole.any():
        raise RecordingError(f"{path}: no row has a time and the positions of all joints")
    whole[whole] = ~_spikes(states[whole])
    rows = _kept(rows, whole, "without time and all positions, or far from the others, are left out", notes)
    rows = _rising(path, rows, notes)
    new = np.r_[True, np.diff(rows[:, 0]) > 0.0]
    if new.mean() < _NEW:
        raise RecordingError(f"{path}: {(~new).sum()} of {len(new)} rows have the time of the row before: too few "
                             "digits; log times with more, or give --columns t=200Hz")  # fmt: skip
    rows = _kept(rows, new, "have the time of the row before: left out", notes)
    if len(gaps := gaps_of(rows[:, 0])):
        longest = np.diff(rows[:, 0]).max()
        notes.append(f"{len(gaps)} gaps of up to {longest:.3g} s: parts between them are used, but for short ones")
    known = np.isfinite(rows).mean(axis=0)
    if (known[n + 1 : 2 * n + 1] < _KNOWN).any():
        missing = [name for name, part in zip(joints, known[n + 1 : 2 * n + 1], strict=True) if part < _KNOWN]
        raise RecordingError(f"{path}: torques of some joint are missing in most rows ({', '.join(missing)}); log them "
                             "with the positions")  # fmt: skip
    if (gone := int((~np.isfinite(rows[:, n + 1 : 2 * n + 1])).any(axis=1).sum())) > 0:
        notes.append(f"{gone} of {len(rows)} rows lack torques, which are interpolated")
    t = rows[:, 0]
    for column, part in zip(rows.T, known, strict=True):
        if _KNOWN <= part < 1.0:
            column[:] = np.interp(t, t[np.isfinite(column)], column[np.isfinite(column)])
    _, reported, effort, qd = np.split(rows, [1, n + 1, 2 * n + 1], axis=1)
    q = np.where(np.ptp(reported, axis=0) < _TURN, unwrapped(t, reported), reported)
    if (q != reported).any():
        notes.append("positions that are reported within a turn are unwrapped")
    rates = qd if qd.size and (known[2 * n + 1 :] >= _KNOWN).all() else None
    return Recording(str(path), joints, t - t[0], q, rates, effort, notes=tuple(notes))


def _kept(rows: Array, mask: NDArray[np.bool_], text: str, notes: list[str]) -> Array:
    """Those of a mask, and a note of others."""
    if not mask.all():
        notes.append(f"{(~mask).sum()} of {len(rows)} rows {text}")
    return rows[mask]


def _rising(path: Path, rows: Array, notes: list[str]) -> Array:
    """Rows in the order of their times."""
    t, steps = rows[:, 0], np.diff(rows[:, 0])
    falls = np.flatnonzero(steps < 0.0)
    if not len(falls):
        return rows
    k = int(steps.argmin())
    if len(falls) > max(_FEW * len(t), 1) or -steps[k] > GAP * np.median(np.abs(steps)):
        raise RecordingError(f"{path}: times fall from {t[k] - t[0]:.6g} to {t[k + 1] - t[0]:.6g} s after row {k + 1}; "
                             "give a log of one motion, with times that rise")  # fmt: skip
    notes.append(f"{len(falls)} rows are out of order: sorted by time")
    return rows[np.argsort(t, kind="stable")]


def _spikes(rows: Array) -> NDArray[np.bool_]:
    """Rows with a number that is far from those before and after, as after an error of transmission."""
    if len(rows) < 5:
        return np.zeros(len(rows), np.bool_)
    low, high = np.percentile(rows, (10.0, 90.0), axis=0)
    apart = np.abs(rows - median_filter(rows, (5, 1), mode="nearest"))
    return np.asarray((apart > np.maximum(_SPIKE * (high - low), _LEAST_SPIKE)).any(axis=1))


def gaps_of(t: Array) -> NDArray[np.int64]:
    """Rows after a long gap of the times t, s."""
    steps = np.diff(t)
    return np.flatnonzero(steps > max(GAP * np.median(steps), _BRIDGED)) + 1 if len(steps) else np.zeros(0, np.int64)
