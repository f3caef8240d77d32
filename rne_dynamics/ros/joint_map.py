"""Joint states read by name, never by position in the message."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.jit import kernel

#: How many senders' lists of names are kept.
_SENDERS = 8

_NOTHING = np.empty(0)


class JointStateLike(Protocol):
    """What is read of a sensor_msgs/JointState."""

    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float]
    effort: Sequence[float]


class Reading(Enum):
    """What a joint state had for us."""

    WHOLE = "positions and velocities"
    NO_VELOCITY = "positions alone"
    FOREIGN = "none of our joints"


class JointMap:
    """Where the controlled joints stand in the messages of each sender.

    The places are looked up once for each list of names: an arm and its gripper may share the topic.

    Parameters
    ----------
    joints
        Names of the controlled joints; the order of everything `read` fills.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self._names: list[str] = []
        self._places: NDArray[np.intp] | None = None  # None: none of our joints
        self._known: list[tuple[list[str], NDArray[np.intp] | None]] = []
        self._unread = np.empty(len(self.joints))
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile before the first message, which must not wait for it."""
        n = len(self.joints)
        _gather(np.arange(n), np.zeros(n), np.zeros(n), _NOTHING, np.zeros(n), np.zeros(n), self._unread)

    def read(self, message: JointStateLike, q: Array, qd: Array, effort: Array | None = None) -> Reading:
        """Fill `q`, `qd` and `effort`, shape (n,), from a message; joints that are not ours are ignored.

        What the message does not have is filled with NaN, which no law or filter takes for a number: `qd` where the
        message has no velocities, or where all of ours are NaN (joint_state_broadcaster's way of saying so), all
        three where none of the joints is ours (`Reading.FOREIGN`). An effort that is missing or not finite
        is NaN, and never a reason to refuse a state.

        Raises
        ------
        StateError
            Some of our joints are missing or named twice, the position or velocity list has another length than the
            names, or a value of ours is not finite. `q`, `qd` and `effort` must not be used then.
        """
        if message.name != self._names:
            self._look_up(list(message.name))
        reported = self._unread if effort is None else effort
        if self._places is None and (self._names or not len(message.position)):
            for out in (q, qd, reported):
                out.fill(np.nan)
            return Reading.FOREIGN
        count = len(self._names)
        position, velocity = np.asarray(message.position, np.float64), np.asarray(message.velocity, np.float64)
        if len(position) != count or len(velocity) not in (0, count):
            label, values = ("position", position) if len(position) != count else ("velocity", velocity)
            raise StateError(
                f"joint state: {len(values)} values of {label} for {count} names; every joint needs one",
                StateProblem.UNEVEN_LISTS,
            )
        given = _NOTHING if effort is None else np.asarray(message.effort, np.float64)
        assert self._places is not None  # a message without names has no positions either
        missing, bad = _gather(self._places, position, velocity, given, q, qd, reported)
        if bad >= 0:
            j = bad % len(q)
            label, value = ("position", q[j]) if bad < len(q) else ("velocity", qd[j])
            raise StateError(
                f"joint state: {label} of joint {self.joints[j]!r} is {value}; it must be finite",
                StateProblem.NOT_FINITE,
            )
        return Reading.NO_VELOCITY if missing else Reading.WHOLE

    def _look_up(self, names: list[str]) -> None:
        for known, places in self._known:
            if known == names:
                self._names, self._places = known, places
                return
        places = self._places_in(names)
        self._known = [(names, places), *self._known[: _SENDERS - 1]]
        self._names, self._places = names, places

    def _places_in(self, names: list[str]) -> NDArray[np.intp] | None:
        """Where our joints stand among `names`; None where none is there."""
        missing = [j for j in self.joints if j not in names]
        if len(missing) == len(self.joints):
            return None
        if missing:
            raise StateError(
                f"joint state: no joint named {', '.join(map(repr, missing))}; the message has "
                f"{', '.join(names[:20])}. One message must have all joints",
                StateProblem.JOINT_MISSING,
            )
        twice = [j for j in self.joints if names.count(j) > 1]
        if twice:
            raise StateError(
                f"joint state: {', '.join(map(repr, twice))} is named twice; names must be unique",
                StateProblem.NAMED_TWICE,
            )
        return np.array([names.index(j) for j in self.joints], dtype=np.intp)


@kernel
def _gather(
    places: NDArray[np.intp], position: Array, velocity: Array, effort: Array, q: Array, qd: Array, reported: Array
) -> tuple[bool, int]:
    """Fill q, qd and reported; whether there is no velocity, and which value is not finite.

    That is j for the position of joint j, n + j for its velocity, -1 for none. All three outputs are (n,).
    """
    n = places.shape[0]
    bad, unknown = -1, 0
    for j in range(n):
        place = places[j]
        q[j] = position[place]
        qd[j] = velocity[place] if velocity.shape[0] > 0 else np.nan
        value = effort[place] if effort.shape[0] == position.shape[0] else np.nan
        reported[j] = value if np.isfinite(value) else np.nan
        unknown += np.isnan(qd[j])
        if not np.isfinite(q[j]):
            bad = j
    missing = unknown == n
    for j in range(n):
        if bad < 0 and not missing and not np.isfinite(qd[j]):
            bad = n + j
    return missing, bad
