"""Reader of recordings: CSV and NPZ of `rne simulate`; MCAP files and ROS 2 bags, by type and name of their topics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.motion.limits import turns_off
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import RecordingError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.recording.bag import Messages, bag_messages, mcap_messages, topics_of
from rne_dynamics.recording.mcap_file import CONTROLLER_STATE, FLOATS, JOINT_STATE
from rne_dynamics.recording.recording import GAP, Recording, Series, read_csv, read_npz

#: Topics of joint states that are no measured states.
OTHER_STATES = re.compile(r"/(torque/\w+|reference|setpoint|deflections|joint_commands)$")
#: Largest motion of a joint between two states at which a jump by whole turns is recognised, rad.
STEP = 1.0
#: By how much a message may be older than one before it, ns: it came late. Else time began again.
LATEST = NANOSECONDS
TERM = re.compile(r"/torque/\w+$")


class _Known(NamedTuple):
    """A message with joints of the recording."""

    message: Any
    #: Of the joints in it, -1 for none.
    places: list[int]
    #: ns since the epoch.
    sent: int


class _Assembly:
    """A recording of messages in the making; parameters and errors as `read_recording`."""

    def __init__(self, messages: Messages, source: str, topic: str | None, joints: Sequence[str] | None) -> None:
        self._messages, self._source = messages, source
        self._notes = list(messages.notes)
        self._states = state_topic(messages, source, topic)
        self._topics = {"q": self._states}
        decoded = messages.decoded(self._states, source)
        self._names = self._joints(decoded, joints)
        self._kept = self._known(decoded, self._states, whole=True)
        if not self._kept:
            raise RecordingError(f"{source}: no message on {self._states} has all joints {', '.join(self._names)}")
        self._stamped = any(stamp_of(one.message) for one in self._kept)
        if not self._stamped:
            self._notes.append(f"messages on {self._states} have no stamps; times are those of their recording")
        self._stamps = self._times(self._kept)
        self._start = int(self._stamps.min())

    def _joints(self, decoded: list[Any], joints: Sequence[str] | None) -> tuple[str, ...]:
        """The joints wanted, or those of the most frequent kind of message."""
        every = dict.fromkeys(name for message in decoded for name in message.name)
        if joints is not None:
            for joint in joints:
                if joint not in every:
                    raise RecordingError(f"{self._source}: " + unknown("joint", joint, every, f"topic {self._states}"))
            return tuple(joints)
        counted = Counter(frozenset(message.name) for message in decoded)
        usual = max(counted, key=lambda names: (counted[names], len(names)))
        return next(tuple(message.name) for message in decoded if frozenset(message.name) == usual)

    def _known(self, decoded: list[Any], topic: str, *, whole: bool = False) -> list[_Known]:
        """The messages with any of the joints, if `whole` with all."""
        kept, known = [], dict[tuple[str, ...], list[int]]()
        for message, stored in zip(decoded, self._messages.by_topic[topic], strict=True):
            names = tuple(message.name if hasattr(message, "name") else message.joint_names)
            if names not in known:
                found = [joint in names for joint in self._names]
                usable = all(found) if whole else any(found)
                known[names] = [names.index(j) if j in names else -1 for j in self._names] if usable else []
            if known[names]:
                kept.append(_Known(message, known[names], stored.sent))
        if len(kept) < len(decoded):
            self._notes.append(f"{topic}: {len(decoded) - len(kept)} messages without the joints are left out")
        return kept

    def recording(self) -> Recording:
        """The whole."""
        newest = np.maximum.accumulate(self._stamps)
        k = int((newest - self._stamps).argmax())
        if newest[k] - self._stamps[k] > LATEST:
            begin, end = self._seconds(newest[k]), self._seconds(self._stamps[k])
            raise RecordingError(f"{self._source}: stamps on {self._states} fall from {begin:.6g} to {end:.6g} s, as "
                                 "where simulated time begins again; record one run in each file")  # fmt: skip
        order = np.argsort(self._stamps, kind="stable")
        if (np.diff(order) < 0).any():
            self._notes.append(f"{self._states}: messages are sorted by their stamps")
        position, *others = self._series(self._kept, "position", "velocity", "effort")
        if position is None:
            raise RecordingError(f"{self._source}: messages on {self._states} have no positions")
        t, reported = position
        q = unwrapped(t, reported)
        turned = np.array((np.abs(q - reported) > np.pi).any(axis=0))
        if turned.any():
            names = ", ".join(name for name, turns in zip(self._names, turned, strict=True) if turns)
            self._notes.append(f"{self._states}: positions that are reported within a turn are unwrapped ({names})")
        parts = {name: part.values for name, part in zip(("qd", "effort"), others, strict=True) if part is not None}
        self._topics |= dict.fromkeys(parts, self._states)
        reference_q, reference_qd = self._reference()
        if reference_q is not None and turned.any():
            reference_q = in_turns_of(reference_q, Series(t, q), turned)
        torque = self._torque()
        command = self._command(self._stamps[order], np.array([self._kept[k].sent for k in order]))
        return Recording(
            source=self._source, joint_names=self._names, t=t, q=q, qd=parts.get("qd"), effort=parts.get("effort"),
            reference_q=reference_q, reference_qd=reference_qd, torque=torque, command=command,
            topics=self._topics, notes=tuple(self._notes), start=self._start,
        )

    def _seconds(self, stamps: NDArray[np.int64]) -> Array:
        return np.asarray((stamps - self._start) / NANOSECONDS)

    def _times(self, known: Sequence[_Known]) -> NDArray[np.int64]:
        return np.array([stamp_of(one.message) if self._stamped else one.sent for one in known])

    def _series(self, known: Sequence[_Known], *fields: str) -> list[Series | None]:
        """Numbers of messages in the order of their times, each list as a path of attributes; None for no numbers."""
        if not known:
            return [None] * len(fields)
        stamps, places = self._times(known), [one.places for one in known]
        order = np.argsort(stamps, kind="stable")
        t = self._seconds(stamps[order])
        found = [lists([value(one.message) for one in known], places) for value in map(attrgetter, fields)]
        return [None if numbers is None else Series(t, numbers[order]) for numbers in found]

    def _near(self, topics: Sequence[str]) -> list[str]:
        """Topics in the namespace of the joint states, if any are; those with most messages first."""
        namespace = self._states.rpartition("/")[0] + "/"
        near = [topic for topic in topics if topic.startswith(namespace)]
        return sorted(near or topics, key=lambda topic: -len(self._messages.by_topic[topic]))

    def _series_on(self, topic: str, *fields: str) -> list[Series | None]:
        """As `_series`, of a topic's messages."""
        return self._series(self._known(self._messages.decoded(topic, self._source), topic), *fields)

    def _reference(self) -> tuple[Series | None, Series | None]:
        """Of a controller's topic ``reference`` or ``controller_state``."""
        states = [t for t in topics_of(self._messages, [JOINT_STATE]) if t.endswith("/reference")]
        for topic in [*self._near(states), *self._near(topics_of(self._messages, [CONTROLLER_STATE]))]:
            position, velocity = ("position", "velocity") if topic in states else (
                "reference.positions", "reference.velocities"
            )
            q, qd = self._series_on(topic, position, velocity)
            if q is not None:
                self._topics["reference_q"] = topic
                return q, qd
        return None, None

    def _torque(self) -> dict[str, Series]:
        """The terms of the controller with most messages."""
        found: dict[str, Series] = {}
        chosen = ""
        for topic in self._near([t for t in topics_of(self._messages, [JOINT_STATE]) if TERM.search(t)]):
            controller, _, term = topic.rpartition("/torque/")
            if chosen in ("", controller):
                (series,) = self._series_on(topic, "effort")
                if series is not None:
                    chosen, found[term] = controller, series
                    self._topics[f"torque_{term}"] = topic
        return found

    def _command(self, stamps: NDArray[np.int64], sent: NDArray[np.int64]) -> Series | None:
        """Efforts without stamps: each has the time of the newest state that was sent before it."""
        topics = [t for t in topics_of(self._messages, [FLOATS]) if t.endswith("/commands")]
        for topic in sorted(self._near(topics), key=lambda topic: "effort_gate/" in topic):
            decoded = self._messages.decoded(topic, self._source)
            labels = [dim.label for dim in decoded[0].layout.dim]
            names = tuple(labels[0].split(",")) if len(labels) == 1 and labels[0] else self._names
            kept = [k for k, message in enumerate(decoded) if len(message.data) == len(names)]
            if not kept or not set(self._names) & set(names):
                continue
            times = [self._messages.by_topic[topic][k].sent for k in kept]
            newest = np.searchsorted(np.maximum.accumulate(sent), times, side="right") - 1
            after = np.flatnonzero(newest >= 0)
            if not len(after):
                continue
            places = [names.index(joint) if joint in names else -1 for joint in self._names]
            values = lists([decoded[kept[k]].data for k in after], [places] * len(after))
            if values is None:
                continue
            self._topics["command"] = topic
            return Series(self._seconds(stamps[newest[after]]), values)
        return None


def state_topic(messages: Messages, source: str, topic: str | None) -> str:
    """The topic of the joint states; raises `RecordingError` where there is none, or more than one."""
    every = topics_of(messages, [JOINT_STATE])
    if topic is not None:
        if topic not in every:
            raise RecordingError(f"{source}: " + unknown(f"topic of {JOINT_STATE}", topic, every, "the recording"))
        return topic
    states = [name for name in every if not OTHER_STATES.search(name)]
    found = [name for name in states if name.endswith("/joint_states") or name == "joint_states"] or states
    if not found:
        has = ", ".join(f"{name} ({kind})" for name, kind in sorted(messages.kinds.items())) or "no topics"
        raise RecordingError(f"{source} has no messages of {JOINT_STATE}; it has {has}")
    if len(found) > 1:
        raise RecordingError(
            f"{source} has joint states on {', '.join(found)}; name one of them (on the command line with --topic)"
        )
    return found[0]


def unwrapped(t: Array, q: Array) -> Array:
    """Positions, (rows, n), less jumps by whole turns, up to `STEP`, between states at most `GAP` periods apart."""
    q = q.copy()
    for column in q.T:
        known = np.flatnonzero(np.isfinite(column))
        step, dt = np.diff(column[known]), np.diff(t[known])
        near = dt <= GAP * np.median(dt) if len(dt) else np.zeros(0, dtype=np.bool_)
        turns = np.round(step / (2.0 * np.pi))
        turns[~near | (np.abs(step - 2.0 * np.pi * turns) > STEP)] = 0.0
        column[known[1:]] -= 2.0 * np.pi * np.cumsum(turns)
    return q


def in_turns_of(reference: Series, measured: Series, turned: NDArray[np.bool_]) -> Series:
    """A reference in the turns in which the measured positions of the `turned` joints, (n,), are unwrapped."""
    near = measured.at(np.clip(reference.t, measured.t[0], measured.t[-1]))
    turns = np.where(turned & np.isfinite(near), turns_off(reference.values, near), 0.0)
    return reference._replace(values=reference.values - 2.0 * np.pi * turns)


def stamp_of(message: Any) -> int:
    """Time in the header, ns."""
    return int(message.header.stamp.sec) * NANOSECONDS + int(message.header.stamp.nanosec)


def lists(values: list[Any], places: list[list[int]]) -> Array | None:
    """Lists in the order of the joints, (rows, n), NaN where there is none; None if all are too short."""
    rows, some = np.full((len(values), len(places[0])), np.nan), False
    for k, (row, at) in enumerate(zip(values, places, strict=True)):
        if len(row) > max(at):
            rows[k] = np.append(row, np.nan)[at]  # the place -1 is this NaN
            some = True
    return rows if some else None


#: What `read_recording` reads besides folders of bags.
ENDINGS = (".csv", ".npz", ".mcap", ".db3")


def read_recording(path: str | Path, *, topic: str | None = None, joints: Sequence[str] | None = None) -> Recording:
    """Read one arm's .csv or .npz of `rne simulate`, .mcap, .db3 or bag; `RecordingError`, `MissingDependencyError`.

    `topic`: of the joint states, by default the only one (of those that end in ``joint_states``). `joints`: those
    wanted, in this order; by default all.
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"{path} does not exist")
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        messages = mcap_messages(path) if path.suffix == ".mcap" and not path.is_dir() else bag_messages(path)
        return _Assembly(messages, str(path), topic, joints).recording()
    if topic is not None:
        raise RecordingError(f"{path} has no topics; leave topic {topic!r} out")
    if path.suffix == ".csv":
        return read_csv(path, joints)
    if path.suffix == ".npz":
        return read_npz(path, joints)
    raise RecordingError(f"{path} is no recording; allowed are {', '.join(ENDINGS)} and folders of ROS 2 bags")
