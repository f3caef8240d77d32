"""A recording of an arm: its states, and series on times of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

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
