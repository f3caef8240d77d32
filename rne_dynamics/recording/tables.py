"""Recordings in the tables that `rne simulate` writes: CSV and NPZ."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.errors import RecordingError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.recording.recording import Recording, Series

TORQUE = "torque_"
#: Parts whose columns are not those of the joints, and the shape of a row.
SHAPES = {"tree_q": (-1,), "delta": (-1,), "base_position": (3,), "base_rotation": (3, 3)}


def read_csv(path: Path, joints: Sequence[str] | None) -> Recording:
    """Read columns ``time``, ``q/<joint>``, ``qd/<joint>``, …; raises as `read_recording`."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from None
    header = rows[0] if rows else []
    if "time" not in header or not any(name.startswith("q/") for name in header):
        raise RecordingError(
            f"{path} has the columns {', '.join(header[:8]) or 'none'}; a recording has time and q/<joint>, as "
            f"`{rne('simulate --out')}` writes them"
        )
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise RecordingError(f"{path}, line {number} has {len(row)} values; the header has {len(header)} columns")
    try:
        table = np.array(rows[1:], dtype=np.float64).reshape(len(rows) - 1, len(header))
    except ValueError as error:
        raise RecordingError(f"{path}: {error}; every line below the header has numbers only") from None
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
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from None
    missing = [name for name in ("joint_names", "time", "q") if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path} lacks {', '.join(missing)} (it has {', '.join(arrays) or 'nothing'}); a recording is what "
            f"`{rne('simulate --out')}` writes of one run"
        )
    return _recording(path, tuple(map(str, arrays.pop("joint_names").tolist())), arrays, joints)


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
    t = t - t[0]

    def part(name: str) -> Array | None:
        if name not in arrays:
            return None
        if arrays[name].shape != (rows, n):
            raise RecordingError(f"{path}: {name} has the shape {arrays[name].shape}; it must be ({rows}, {n})")
        return arrays[name][:, order]

    def series(name: str) -> Series | None:
        values = part(name)
        return None if values is None else Series(t, values)

    shape = {name: arrays[name].reshape(rows, *row) for name, row in SHAPES.items() if name in arrays}
    parts = {name: series(name) for name in arrays if name.startswith(TORQUE)}
    kept = ["q", "qd", "effort", "reference_q", "reference_qd", *parts]
    return Recording(
        source=str(path), joint_names=tuple(names[j] for j in order), t=t,
        q=q[:, order] if q.shape[1] == n else q, qd=part("qd"), effort=part("effort"),
        reference_q=series("reference_q"), reference_qd=series("reference_qd"),
        torque={name.removeprefix(TORQUE): values for name, values in parts.items() if values is not None},
        shape=shape, topics={name: name for name in kept if name in arrays},
        start=round(1e9 * float(arrays["time"][0])),
    )
