"""Joint states read by name, never by position in the message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array


class JointStateLike(Protocol):
    """What is read of a sensor_msgs/JointState."""

    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float]


class JointMap:
    """Where the controlled joints stand in the messages of one sender.

    The places are looked up once and kept for as long as the sender repeats its list of names.

    Parameters
    ----------
    joints
        Names of the controlled joints; the order of everything `read` fills.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self._names: list[str] | None = None
        self._places: np.ndarray[tuple[int], np.dtype[np.intp]] = np.empty(0, dtype=np.intp)

    def read(self, message: JointStateLike, q: Array, qd: Array) -> None:
        """Fill `q` and `qd`, shape (n,), from a message; joints that are not ours are ignored.

        Raises
        ------
        StateError
            A joint is missing or named twice, the position or velocity list has another length than the names, or
            a value of ours is not finite. `q` and `qd` must not be used then.
        """
        if message.name != self._names:
            self._look_up(list(message.name))
        count = len(message.name)
        for label, values, out in (("position", message.position, q), ("velocity", message.velocity, qd)):
            if len(values) != count:
                raise StateError(
                    f"joint state: {len(values)} values of {label} for {count} names; every joint needs one"
                )
            # np.asarray reads rclpy's array.array in place
            np.take(np.asarray(values, dtype=np.float64), self._places, out=out)
            if not np.isfinite(out).all():
                j = int(np.argmin(np.isfinite(out)))
                raise StateError(f"joint state: {label} of joint {self.joints[j]!r} is {out[j]}; it must be finite")

    def _look_up(self, names: list[str]) -> None:
        self._names = None
        missing = [j for j in self.joints if j not in names]
        if missing:
            there = ", ".join(names[:20]) or "none"
            raise StateError(f"joint state: no joint named {', '.join(map(repr, missing))}; the message has {there}")
        twice = [j for j in self.joints if names.count(j) > 1]
        if twice:
            raise StateError(f"joint state: {', '.join(map(repr, twice))} is named twice; names must be unique")
        self._places = np.array([names.index(j) for j in self.joints], dtype=np.intp)
        self._names = names
