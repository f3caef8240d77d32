"""A recorded motion as arrays, and the files of `rne simulate` read as one."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

#: Endings that `read_recording` reads.
ENDINGS = (".csv", ".npz")


@dataclass(frozen=True, eq=False)
class Recording:
    """A motion, one row a time.

    Parameters
    ----------
    joint_names
        Names of the n joints of the rows.
    time
        Ascending, s; (rows,).
    q
        Positions, rad or m; (rows, n).
    effort, reference_q
        Efforts, N·m or N, and desired positions; (rows, n), `None` where they were not recorded.
    terms
        Parts of the effort by name; (rows, n).
    tree_q, delta
        Of a mechanism, positions of all joints of its tree; of flexible links, amplitudes of their modes.
    base_position, base_rotation
        Of a moving base; (rows, 3), (rows, 3, 3).

    Raises
    ------
    ArgumentError
        No rows, times that do not ascend, arrays of other lengths, positions that are not finite.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    effort: Array | None = None
    reference_q: Array | None = None
    terms: Mapping[str, Array] = field(default_factory=dict)
    tree_q: Array | None = None
    delta: Array | None = None
    base_position: Array | None = None
    base_rotation: Array | None = None

    def __post_init__(self) -> None:
        rows, n = len(self.time), len(self.joint_names)
        if not rows or not (np.diff(self.time) >= 0.0).all():
            raise ArgumentError("the recording has no rows, or times that do not ascend; record it again")
        for name, value in {**vars(self), **self.terms}.items():
            if isinstance(value, np.ndarray) and len(value) != rows:
                raise ArgumentError(f"the recording has {len(value)} rows of {name} for {rows} times; record it again")
        if self.q.shape != (rows, n) or not np.isfinite(self.q).all():
            raise ArgumentError(f"the recording's positions must be {n} finite numbers in each of its {rows} rows")

    def of(self, robot: Robot) -> Recording:
        """The same with the joints in the order of the robot; `ArgumentError` where one is missing."""
        for name in robot.joint_names:
            if name not in self.joint_names:
                raise ArgumentError(
                    unknown("joint", name, self.joint_names, "the recording") + "; give the robot that was recorded"
                )
        order = [self.joint_names.index(name) for name in robot.joint_names]

        def sorted_columns(rows: Array | None) -> Array | None:
            return None if rows is None else rows[:, order]

        tree = self.tree_q if self.tree_q is not None and self.tree_q.shape[1] == robot.open_tree.nq else None
        delta = self.delta if self.delta is not None and self.delta.shape[1] == robot.modes > 0 else None
        return Recording(
            robot.joint_names, self.time, self.q[:, order], sorted_columns(self.effort),
            sorted_columns(self.reference_q), {k: v[:, order] for k, v in self.terms.items()}, tree, delta,
            self.base_position, self.base_rotation,
        )  # fmt: skip

    def row(self, t: float) -> int:
        """Number of the last row at time `t` or before, s."""
        return int(np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self.time) - 1))


def read_recording(path: str | Path) -> Recording:
    """Read what `rne simulate --out` wrote.

    Raises
    ------
    ArgumentError
        No such file, another format, columns that are missing, text instead of numbers.
    """
    file = Path(path)
    if file.suffix not in ENDINGS:
        raise ArgumentError(f"{file}: the ending of a recording must be {' or '.join(ENDINGS)}")
    try:
        return _of_csv(file) if file.suffix == ".csv" else _of_npz(file)
    except OSError as error:
        raise ArgumentError(f"{file} cannot be read: {error.strerror or error}; check the name") from None
    except (KeyError, ValueError, StopIteration, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{file} is no recording of `rne simulate`: {error}; record with --out") from None


def _of_csv(file: Path) -> Recording:
    with file.open(newline="", encoding="utf-8") as stream:
        reader = csv.reader(stream)
        header = next(reader)
        rows = np.array([[float(x) for x in row] for row in reader], dtype=np.float64).reshape(-1, len(header))
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(header):
        groups.setdefault(name.partition("/")[0], []).append(k)
    arrays = {name: rows[:, places] for name, places in groups.items()}
    names = [header[k].partition("/")[2] for k in groups["q"]]
    rotation = arrays.get("base_rotation")
    arrays |= {} if rotation is None else {"base_rotation": rotation.reshape(-1, 3, 3)}
    return _made(tuple(names), arrays | {"time": rows[:, header.index("time")]})


def _of_npz(file: Path) -> Recording:
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return _made(tuple(map(str, arrays["joint_names"])), arrays)


def _made(names: tuple[str, ...], arrays: Mapping[str, Array]) -> Recording:
    terms = {name.removeprefix("torque_"): rows for name, rows in arrays.items() if name.startswith("torque_")}
    optional = ("effort", "reference_q", "tree_q", "delta", "base_position", "base_rotation")
    return Recording(
        names, arrays["time"], arrays["q"], terms=terms, **{k: arrays[k] for k in optional if k in arrays}
    )
