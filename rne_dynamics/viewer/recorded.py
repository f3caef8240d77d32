"""A recording of a robot as rows that a page can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rne_dynamics.errors import RecordingError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Series


@dataclass(frozen=True, eq=False)
class Replay:
    """A motion with the joints in the order of the robot, one row a time.

    Parameters
    ----------
    time
        Ascending, s; (rows,).
    q
        Positions, rad or m; (rows, n).
    effort, reference_q
        Efforts, N·m or N, and desired positions; (rows, n), `None` where they were not recorded. NaN where a row has
        none.
    terms
        Parts of the effort by name; (rows, n).
    tree_q, delta
        Of a mechanism, positions of all joints of its tree; of flexible links, amplitudes of their modes.
    base_position, base_rotation
        Of a moving base; (rows, 3), (rows, 3, 3).
    """

    time: Array
    q: Array
    effort: Array | None = None
    reference_q: Array | None = None
    terms: Mapping[str, Array] = field(default_factory=dict)
    tree_q: Array | None = None
    delta: Array | None = None
    base_position: Array | None = None
    base_rotation: Array | None = None

    def row(self, t: float) -> int:
        """Number of the last row at time `t` or before, s."""
        return int(np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self.time) - 1))


def read_replay(path: str | Path, robot: Robot) -> Replay:
    """Read a recording of the robot: of `rne simulate`, an MCAP file, or a ROS 2 bag.

    Raises
    ------
    RecordingError
        As `read_recording`; a joint that was not recorded, or positions that are not finite.
    """
    found = read_recording(path, joints=robot.joint_names)
    if found.q.shape[1] != robot.n or not np.isfinite(found.q).all():
        raise RecordingError(f"{path}: the positions must be {robot.n} finite numbers in each of {len(found.t)} rows")

    def at(series: Series | None) -> Array | None:
        return None if series is None else series.at(found.t)

    shape = dict(found.shape)
    columns = {"tree_q": robot.open_tree.nq, "delta": robot.modes}
    for name, expected in columns.items():
        if name in shape and (not expected or shape[name].shape[1] != expected):
            del shape[name]
    effort = found.effort if found.effort is not None else at(found.command)
    terms = {name: series.at(found.t) for name, series in found.torque.items() if name != "command"}
    return Replay(found.t, found.q, effort, at(found.reference_q), terms, **shape)
