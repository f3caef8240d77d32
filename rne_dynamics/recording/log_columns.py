"""Columns of a table by what they hold: times, positions, velocities, torques of a robot's joints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rne_dynamics.errors import ArgumentError, RecordingError, unknown
from rne_dynamics.model.inertia import Array

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
#: Words for units in names.
_UNITS = {
    "deg": "deg", "degs": "deg", "degree": "deg", "degrees": "deg", "ms": "ms", "msec": "ms", "us": "us", "ns": "ns",
    "nsec": "ns", "nsecs": "ns", "nanosec": "ns", "mnm": "mNm", "nmm": "mNm",
}  # fmt: skip


class Group(NamedTuple):
    """Columns that differ in a joint's name or number only."""

    #: With * for the name or the number.
    name: str
    #: By joint or number.
    columns: Mapping[str | int, Array]

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return [word.lower() for word in _TOKEN.findall(self.name)]


def unit_of(name: str) -> str:
    """The unit that a name says, of `_UNITS`; empty for none."""
    words = _TOKEN.findall(name) + re.findall(r"[A-Za-z]+", name)
    return next((_UNITS[word] for word in map(str.lower, words) if word in _UNITS), "")


def groups(columns: Mapping[str, Array], joints: Sequence[str]) -> dict[str, Group]:
    """Groups of columns by name; arrays of more than one column, (rows, k), are groups already."""
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
    return {name: Group(name, own) for name, own in found.items()}


def chosen(found: Mapping[str, Group], what: str, joints: Sequence[str]) -> Group | None:
    """The group that holds a quantity by its name; None for none, `RecordingError` for several or not measured ones."""
    fitting = [group for group in found.values() if what == "t" or ordered(group, joints) is not None]
    scores = {group.name: _score(group, what) for group in fitting if len(group.columns) == 1 or what != "t"}
    best = max(scores.values(), default=(0, 0, 0))
    names = [name for name, score in scores.items() if score == best and score[0] > 0]
    if len(names) > 1:
        which = " or ".join(names[:4])
        raise RecordingError(f"{QUANTITIES[what]} may be {which}; choose with --columns {what}={names[0]}")
    if names:
        return found[names[0]]
    near = [name for name, score in scores.items() if score[0] > _NONE]
    if near and what in ("q", "tau"):
        raise RecordingError(f"{QUANTITIES[what]} were not measured, by the names; {near[0]} may be commands: to take "
                             f"it for measured, give --columns {what}={near[0]}")  # fmt: skip
    return None


def _score(group: Group, what: str) -> tuple[int, int, int]:
    """How well a name says that a group holds a quantity, positive if it does; then fewer and more usual words."""
    words = group.words
    kind = next((kind for kind, own in _WORDS.items() if set(own.split()) & set(words)), "")
    if kind != what and not (kind == "current" and what == "tau"):
        return _NONE, 0, 0
    other, measured = (bool(set(own.split()) & set(words)) for own in (_OTHER, _MEASURED))
    usual = next(k for k, word in enumerate(_WORDS[kind].split()) if word in words)
    rank = 10 - 5 * (kind == "current") - 20 * other + measured - ("motor" in words)
    return rank, -len(words), -usual


def ordered(group: Group, joints: Sequence[str]) -> list[Array] | None:
    """Its columns in the order of the joints, by name or number; None if it has others."""
    columns = group.columns
    if all(joint in columns for joint in joints):
        return [columns[joint] for joint in joints]
    numbers = sorted(key for key in columns if isinstance(key, int))
    if len(numbers) == len(columns) == len(joints) and numbers[-1] - numbers[0] == len(numbers) - 1:
        return [columns[k] for k in numbers]
    return list(columns.values()) if len(columns) == len(joints) == 1 else None


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


def named(columns: Mapping[str, Array], found: Mapping[str, Group], text: str, joints: Sequence[str]) -> list[Array]:
    """The columns that a text names: names, numbers from 1, ranges, * for numbers, NAME[2,1,3] for some of an array."""
    every = [own for values in columns.values() for own in (values.T if values.ndim == 2 else [values])]
    stems = {re.sub(r"\W*\*\W*|_?\*_?", "*", stem).strip("*"): stem for stem in found if "*" in stem}
    result: list[Array] = []
    for item in map(str.strip, re.split(r",(?![^\[]*\])", text)):
        picked = None if item in columns else re.fullmatch(r"(.+)\[([\d,:\s-]+)\]", item)
        name = picked[1] if picked else item
        group = found.get(name) or found.get(stems.get(name, ""))
        own = every if group is None else ordered(group, joints) or list(group.columns.values())
        numbers = _numbers(picked[2] if picked else name) if picked or group is None else range(1, len(own) + 1)
        if not numbers or max(numbers) > len(own) or (picked and group is None):
            raise RecordingError(unknown("column", item, columns, "the log"))
        result += [own[k - 1] for k in numbers]
    return result


def _numbers(text: str) -> Sequence[int]:
    """Those of ``2-7`` and ``2,1,3``; none for another text."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:[-:]\s*(\d+)\s*)?", part)
        if match is None or int(match[1]) < 1:
            return []
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found
