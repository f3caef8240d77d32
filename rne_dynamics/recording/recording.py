"""A recording of an arm: its states, and series on times of their own; readers of tables, CSV and NPZ."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.errors import RecordingError, refuse, unknown
from rne_dynamics.input_file import MOST_ARRAYS, check_regular, limited_lines, read_arrays
from rne_dynamics.model.inertia import Array

#: Positions are not interpolated over more than this many periods of the states.
GAP = 5.0


class Series(NamedTuple):
    """Values of all joints on times of their own."""

    #: s, on the same clock as `Recording.t`, not decreasing; shape (rows,).
    t: Array
    #: Shape (rows, n); NaN where a message had none for a joint.
    values: Array

    def at(self, t: Array) -> Array:
        """Linear interpolation at times t, shape (k,); NaN outside the series; shape (k, n)."""
        columns = [np.interp(t, self.t, column, left=np.nan, right=np.nan) for column in self.values.T]
        return np.stack(columns, axis=1)

    def between(self, begin: float, end: float) -> Series:
        """The part from one time to another, s."""
        part = (self.t >= begin) & (self.t <= end)
        return Series(self.t[part], self.values[part])


@dataclass(frozen=True, eq=False)
class Recording:
    """Recording of one arm; missing parts are None or empty."""

    #: The file or folder.
    source: str
    #: Length n.
    joint_names: tuple[str, ...]
    #: Times of the states from the first one, s, not decreasing; shape (rows,).
    t: Array
    #: Positions, rad or m; shape (rows, n), of a simulated floating base (rows, n + 1).
    q: Array
    #: Velocities and efforts in the joint states; shape (rows, n).
    qd: Array | None = None
    effort: Array | None = None
    #: Desired motion.
    reference_q: Series | None = None
    reference_qd: Series | None = None
    #: The control law's torque by term: ``inertia``, ``coriolis``, ``gravity``, ``friction``, ``feedback``, and
    #: ``command`` after the limits.
    torque: Mapping[str, Series] = field(default_factory=lambda: MappingProxyType({}))
    #: The efforts that were sent to the arm.
    command: Series | None = None
    #: What a simulation records of the robot's shape besides q: ``tree_q`` (all joints of a mechanism's tree),
    #: ``delta`` (amplitudes of flexible links), ``base_position``, ``base_rotation``; rows first.
    shape: Mapping[str, Array] = field(default_factory=lambda: MappingProxyType({}))
    #: The topic, or the column or array, of each part that was found.
    topics: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    #: What was left out or is incomplete, a sentence each.
    notes: tuple[str, ...] = ()
    #: Time of the first state, ns since the epoch, or since the start of the simulation.
    start: int = 0

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    def between(self, begin: float, end: float) -> Recording:
        """The part from one time to another, s, on the same clock; itself, without a copy, if that is all."""
        if begin == -np.inf and end == np.inf:
            return self
        part, cut = (self.t >= begin) & (self.t <= end), dict[str, Any]()
        for name, values in vars(self).items():
            if isinstance(values, Series):
                cut[name] = values.between(begin, end)
            elif isinstance(values, np.ndarray):
                cut[name] = values[part]
        torque = {name: series.between(begin, end) for name, series in self.torque.items()}
        return replace(self, **cut, torque=torque, shape={name: rows[part] for name, rows in self.shape.items()})

    @property
    def error(self) -> Series | None:
        """Desired less measured position at the times of the reference, rad or m; None without a reference.

        Exact where a state has the time of the reference, else with the position interpolated. Times at which states
        are missing, at an end or because messages were lost, are left out.
        """
        if self.reference_q is None or self.q.shape[1] != self.n:
            return None
        t, desired = self.reference_q
        measured = Series(self.t, self.q).at(t)
        last = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1)
        following = np.clip(np.searchsorted(self.t, t), 0, len(self.t) - 1)
        period = np.median(np.diff(self.t)) if len(self.t) > 1 else 0.0
        there = (self.t[0] <= t) & (t <= self.t[-1]) & (self.t[following] - self.t[last] <= GAP * period)
        return Series(t[there], (desired - measured)[there])


TORQUE = "torque_"
#: Most columns of a table, and joints of an archive.
MOST_COLUMNS = 20_000
#: Parts whose columns are not those of the joints, and the shape of a row.
SHAPES = {"tree_q": (-1,), "delta": (-1,), "base_position": (3,), "base_rotation": (3, 3)}
_READ = ("time", "q", "qd", "effort", "reference_q", "reference_qd", *SHAPES)


def read_csv(path: Path, joints: Sequence[str] | None) -> Recording:
    """Read columns ``time``, ``q/<joint>``, ``qd/<joint>``, …; raises as `read_recording`."""
    header, table, notes = read_text_table(path)
    columns = dict(zip(header, table.T, strict=True))
    if "time" not in columns or not any(name.startswith("q/") for name in header) or len(columns) < len(header):
        raise RecordingError(
            f"{path} has the columns {', '.join(header[:8])}; a recording has time and q/<joint>, each once, as "
            f"`{rne('simulate --out')}` writes them"
        )
    own: dict[str, list[str]] = {}
    for name in header:
        what, _, joint = name.partition("/")
        own.setdefault(what, []).append(joint)
    names, arrays = tuple(own.get("qd", own["q"])), {"time": columns["time"]}
    for what, found in own.items():
        as_they_are = what in SHAPES or (what == "q" and len(found) != len(names))
        wanted = found if as_they_are else names
        if what != "time" and set(wanted) <= set(found):
            arrays[what] = np.stack([columns[f"{what}/{joint}"] for joint in wanted], axis=1)
    return replace(_recording(path, names, arrays, joints), notes=notes)


def read_npz(path: Path, joints: Sequence[str] | None) -> Recording:
    """Read the arrays ``joint_names``, ``time``, ``q``, ``qd``, …; raises as `read_recording`."""
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    missing = [name for name in ("joint_names", "time", "q") if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path} lacks {', '.join(missing)} (it has {', '.join(arrays) or 'nothing'}); a recording is what "
            f"`{rne('simulate --out')}` writes of one run"
        )
    names = arrays.pop("joint_names")
    if names.ndim != 1 or len(names) > MOST_COLUMNS:
        raise RecordingError(f"{path}: joint_names has the shape {names.shape}; it must be a row of names")
    for name in (name for name in arrays if name in _READ or name.startswith(TORQUE)):
        given = arrays[name]
        if given.dtype.kind not in "biuf" or not given.ndim:
            what = f"is of type {given.dtype} and shape {given.shape}"
            raise RecordingError(f"{path}: {name} {what}; it must have rows of numbers")
    return _recording(path, tuple(map(str, names.tolist())), arrays, joints)


def _recording(
    path: Path, names: tuple[str, ...], arrays: Mapping[str, Array], joints: Sequence[str] | None
) -> Recording:
    t, q, rows, n = arrays["time"], arrays["q"], len(arrays["time"]), len(names)
    refuse(
        RecordingError,
        (t.ndim != 1 or not rows or not np.isfinite(t).all() or (np.diff(t) < 0.0).any(),
         f"{path}: time must be a row of finite numbers that do not decrease"),
        (q.ndim != 2 or len(q) != rows or not np.isfinite(q).any(axis=0).all(),
         f"{path}: q has the shape {q.shape}; it must be ({rows}, {n}), with finite numbers"),
    )
    if joints is None:
        order = list(range(n))
    elif missing := [joint for joint in joints if joint not in names]:
        raise RecordingError(unknown("joint", missing[0], names, f"recording {path}"))
    else:
        order = [names.index(joint) for joint in joints]
    in_order = order == list(range(n))  # large arrays are not copied
    t = t - t[0]

    def part(name: str) -> Array | None:
        if name not in arrays:
            return None
        if arrays[name].shape != (rows, n):
            raise RecordingError(f"{path}: {name} has the shape {arrays[name].shape}; it must be ({rows}, {n})")
        return arrays[name] if in_order else arrays[name][:, order]

    def series(name: str) -> Series | None:
        values = part(name)
        return None if values is None else Series(t, values)

    try:
        shape = {name: arrays[name].reshape(rows, *row) for name, row in SHAPES.items() if name in arrays}
    except ValueError as error:
        raise RecordingError(f"{path}: {error}; {', '.join(SHAPES)} have a row for each of the {rows} times") from None
    parts = {name: series(name) for name in arrays if name.startswith(TORQUE)}
    return Recording(
        source=str(path), joint_names=tuple(names[j] for j in order), t=t,
        q=q[:, order] if q.shape[1] == n and not in_order else q, qd=part("qd"), effort=part("effort"),
        reference_q=series("reference_q"), reference_qd=series("reference_qd"),
        torque={name.removeprefix(TORQUE): values for name, values in parts.items() if values is not None},
        shape=shape, topics={name: name for name in (*_READ[1:6], *parts) if name in arrays},
        start=round(1e9 * float(arrays["time"][0])),
    )


#: Separators that are tried; None is any blanks.
_SEPARATORS = (",", ";", "\t", None)
#: Lines from which the separator is found.
_FIRST = 200
_COMMENT = re.compile(r"^\s*(#|%|//)+\s*")
_NOTHING = ("", "null", "none", "na", "n/a", "-")


#: Names of the columns, without a header their numbers from 1; numbers (rows, columns), NaN for an empty cell and in
#: columns of text; what was left out, a sentence each.
TextTable = tuple[tuple[str, ...], Array, tuple[str, ...]]


def read_text_table(path: Path) -> TextTable:
    """Read a text file with a row of numbers a line.

    Lines without numbers before the first row are titles; the last one with as many words as columns is the header.
    A last line that is cut off is left out. `RecordingError`: no numbers, or a line that does not fit the others.
    """
    try:
        check_regular(path)
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            lines = (line for line in limited_lines(file) if line.strip())
            first = list(islice(lines, _FIRST))
            separator = max(_SEPARATORS, key=lambda s: sum(map(_count, (_cells(line, s) for line in first))))
            head = next((k for k, line in enumerate(first) if _count(_cells(line, separator))), len(first))
            return _table(path, first[:head], chain(first[head:], lines), separator)
    except (OSError, csv.Error) as error:
        raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _table(path: Path, head: Sequence[str], lines: chain[str], separator: str | None) -> TextTable:
    numbers, texts, notes, width, rows = array("d"), dict[int, tuple[int, str]](), list[str](), 0, 0
    line = ""
    for line in lines:
        cells = _cells(line, separator)
        width = width or len(cells)
        if len(cells) != width:
            broken = f"row {rows + 1} has {len(cells)} cells; the rows before have {width}"
            if next(lines, None) is not None:
                raise RecordingError(f"{path}: {broken}; delete the line, or write as many cells in each")
            notes.append(f"the last line is cut off and left out: {broken}")
            break
        for k, cell in enumerate(cells):
            value = _number(cell)
            if value is None:
                texts.setdefault(k, (rows, cell))
            numbers.append(np.nan if value is None else value)
        rows += 1
        if 8 * len(numbers) > MOST_ARRAYS or width > MOST_COLUMNS:
            raise RecordingError(f"{path} holds more than {MOST_ARRAYS // 8_000_000} million numbers or {MOST_COLUMNS} "
                                 "columns; record a shorter time")  # fmt: skip
    else:
        if rows > 1 and not line.endswith("\n"):
            notes.append("the last line has no end, so that it may be cut off; it is left out")
            rows -= 1
    if any(row == rows - 1 > 0 for row, _ in texts.values()):
        notes.append("the last line ends with text and is left out")
        rows -= 1
    if not rows:
        raise RecordingError(f"{path} has no rows of numbers; a log has a row for each time, cells separated alike")
    table = np.array(numbers).reshape(-1, width)[:rows]
    for k, (row, cell) in texts.items():
        if row < rows and (row or np.isfinite(table[:, k]).any()):
            raise RecordingError(f"{path}: row {row + 1}, column {k + 1} is {cell[:40]!r} among numbers; give a number")
    return _names(head, separator, width), table, tuple(notes)


def _names(head: Sequence[str], separator: str | None, width: int) -> tuple[str, ...]:
    """Of the header, whose separator may be another one than that of the numbers."""
    for line in reversed(head):
        plain = _COMMENT.sub("", line)
        for used in (separator, *_SEPARATORS):
            names = _cells(plain, used)
            names += [""] * (len(names) == width - 1)  # rows that end with a separator
            if len(names) == width and any(names):
                return tuple(name or str(k) for k, name in enumerate(names, 1))
    return tuple(map(str, range(1, width + 1)))


def _cells(line: str, separator: str | None) -> list[str]:
    whole = line.rstrip("\r\n")
    found = whole.split() if separator is None else next(csv.reader([whole], delimiter=separator), [])
    cells = [cell.strip(" \t\"'") for cell in found]
    return [cell.replace(",", ".") for cell in cells] if separator in (";", "\t") else cells


def _number(cell: str) -> float | None:
    """Its value, NaN for an empty one, None for text."""
    try:
        return float(cell)
    except ValueError:
        return np.nan if cell.lower() in _NOTHING else None


def _count(cells: Sequence[str]) -> int:
    """Number of numbers in a line of data, 0 in another line."""
    count = sum(_number(cell) is not None and cell != "" for cell in cells)
    return count if count > 1 and 2 * count >= sum(map(bool, cells)) else 0
