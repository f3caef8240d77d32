"""Recordings in the tables that `rne simulate` writes: CSV and NPZ."""

from __future__ import annotations

import csv
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.errors import RecordingError, unknown
from rne_dynamics.input_file import MOST_ARRAYS, check_regular, limited_lines, read_arrays
from rne_dynamics.model.inertia import Array
from rne_dynamics.recording.recording import Recording, Series

TORQUE = "torque_"
#: Most columns of a table, and joints of an archive.
MOST_COLUMNS = 20_000
#: Parts whose columns are not those of the joints, and the shape of a row.
SHAPES = {"tree_q": (-1,), "delta": (-1,), "base_position": (3,), "base_rotation": (3, 3)}
_READ = ("time", "q", "qd", "effort", "reference_q", "reference_qd", *SHAPES)


def read_csv(path: Path, joints: Sequence[str] | None) -> Recording:
    """Read columns ``time``, ``q/<joint>``, ``qd/<joint>``, …; raises as `read_recording`."""
    try:
        check_regular(path)
        with path.open(newline="", encoding="utf-8") as file:
            header, table = _numbers(path, csv.reader(limited_lines(file)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    columns = {name: table[:, k] for k, name in enumerate(header)}
    names = tuple(name.removeprefix("qd/") for name in header if name.startswith("qd/")) or tuple(
        name.removeprefix("q/") for name in header if name.startswith("q/")
    )
    arrays: dict[str, Array] = {"time": columns["time"]}
    for what in dict.fromkeys(name.partition("/")[0] for name in header if "/" in name):
        own = [name for name in header if name.partition("/")[0] == what]
        as_they_are = what in SHAPES or (what == "q" and len(own) != len(names))
        wanted = own if as_they_are else [f"{what}/{joint}" for joint in names]
        if all(name in columns for name in wanted):
            arrays[what] = np.stack([columns[name] for name in wanted], axis=1)
    return _recording(path, names, arrays, joints)


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


def _numbers(path: Path, rows: Iterator[list[str]]) -> tuple[list[str], Array]:
    """Header and numbers of the rows of a CSV file, row by row: as texts they would take 20 times the memory."""
    header = next(rows, [])
    if "time" not in header or not any(name.startswith("q/") for name in header):
        raise RecordingError(
            f"{path} has the columns {', '.join(header[:8]) or 'none'}; a recording has time and q/<joint>, as "
            f"`{rne('simulate --out')}` writes them"
        )
    if len(header) > MOST_COLUMNS:
        raise RecordingError(f"{path} has {len(header)} columns; at most {MOST_COLUMNS} are allowed")
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise RecordingError(f"{path} has the column {twice[0]} {header.count(twice[0])} times; give it once")
    table = array("d")
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise RecordingError(f"{path}, line {number} has {len(row)} values; the header has {len(header)} columns")
        try:
            table.extend(map(float, row))
        except ValueError as error:
            raise RecordingError(
                f"{path}, line {number}: {error}; every line below the header has numbers only"
            ) from None
        if 8 * len(table) > MOST_ARRAYS:
            raise RecordingError(
                f"{path} cannot be read: it holds more than {MOST_ARRAYS // 8_000_000} million numbers; record a "
                "shorter time"
            )
    return header, np.array(table).reshape(-1, len(header))


def _recording(
    path: Path, names: tuple[str, ...], arrays: Mapping[str, Array], joints: Sequence[str] | None
) -> Recording:
    t, rows, n = arrays["time"], len(arrays["time"]), len(names)
    if t.ndim != 1 or not rows or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
        raise RecordingError(f"{path}: time must be a row of finite numbers that do not decrease")
    q = arrays["q"]
    if q.ndim != 2 or len(q) != rows:
        raise RecordingError(f"{path}: q has the shape {q.shape}; it must be ({rows}, {n})")
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
    kept = [*_READ[1:6], *parts]
    return Recording(
        source=str(path), joint_names=tuple(names[j] for j in order), t=t,
        q=q[:, order] if q.shape[1] == n and not in_order else q, qd=part("qd"), effort=part("effort"),
        reference_q=series("reference_q"), reference_qd=series("reference_qd"),
        torque={name.removeprefix(TORQUE): values for name, values in parts.items() if values is not None},
        shape=shape, topics={name: name for name in kept if name in arrays},
        start=round(1e9 * float(arrays["time"][0])),
    )
