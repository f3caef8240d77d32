"""The root of all exceptions, and the subclasses that callers may handle separately.

Every message names what is wrong (file, element, joint or parameter), the value found, what is allowed, and the fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import Enum
from os import PathLike
from typing import Generic, TypeVar


class RneDynamicsError(Exception):
    """Root of every error this package raises on purpose."""


class DescriptionError(RneDynamicsError):
    """A robot description (URDF, xacro, model file) that cannot be read or does not make a robot."""


class ModelError(RneDynamicsError):
    """An inconsistent model, or a request that it cannot serve (an unknown joint or link)."""


class AssemblyError(ModelError):
    """A mechanism whose loops do not close at the given joint positions."""


class SingularPostureError(ModelError):
    """A posture of a mechanism in which its actuated joints do not determine the motion of the others."""


class ArgumentError(RneDynamicsError, ValueError):
    """An argument of a wrong shape, unit range or value (NaN, infinity)."""


class SingularInertiaError(RneDynamicsError):
    """Forward dynamics of a model in which a motion has no inertia."""


class ControlError(RneDynamicsError):
    """Gains, references or limits that are invalid for a control law."""


class TrajectoryError(ControlError):
    """A trajectory that must not be executed."""


class StateProblem(Enum):
    """Why a joint state is refused; the values are used in messages and as keys of diagnostics."""

    NOT_FINITE = "not finite"
    OUT_OF_RANGE = "out of range"
    JOINT_MISSING = "joint missing"
    NAMED_TWICE = "named twice"
    UNEVEN_LISTS = "uneven lists"
    NO_STAMP = "no stamp"
    DUPLICATE_STAMP = "duplicate stamp"
    OUT_OF_ORDER = "out of order"
    DELAYED = "delayed"
    CLOCK_TOO_FAST = "clock too fast"
    POSITION_JUMP = "position jump"
    FROZEN = "frozen"
    TOO_FAST = "too fast"
    TWO_SENDERS = "two senders"
    UNREADABLE = "unreadable"


Problem = TypeVar("Problem", bound=Enum)


class CountedError(ControlError, Generic[Problem]):
    """An error that is counted by what is wrong, its `problem`."""

    def __init__(self, message: str, problem: Problem) -> None:
        super().__init__(message, problem)  # both, so that it can be pickled
        self.problem = problem

    def __str__(self) -> str:
        return str(self.args[0])


class StateError(CountedError[StateProblem]):
    """A joint state that no effort may be computed from; refusals are counted by its `problem`."""


class SimulationError(RneDynamicsError):
    """A simulation that cannot be set up, or whose state is no longer finite."""


class RecordingError(RneDynamicsError):
    """A recording that cannot be written, read, or lacks what is needed of it."""


class ParameterError(RneDynamicsError):
    """A node parameter outside what its schema allows."""


class MissingDependencyError(RneDynamicsError):
    """An optional package that a request needs is not installed."""


def refuse(kind: type[RneDynamicsError], *checks: tuple[object, str]) -> None:
    """Raise the first error, of that kind, whose condition holds; each with its message."""
    for wrong, message in checks:
        if wrong:
            raise kind(message)


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str) -> ModelError:
    """Error for a `name` of a `kind` (joint) that its `owner` (robot 'puma560') lacks, with the nearest `known`."""
    return ModelError(unknown(kind, name, known, owner))


def index_of(name: str, known: Sequence[str], kind: str, owner: str) -> int:
    """Place of a name among those that exist; the `ModelError` of `unknown_name` if it is none of them."""
    try:
        return known.index(name)
    except ValueError:
        raise unknown_name(kind, name, known, owner) from None


def unknown(kind: str, name: object, known: Iterable[str], owner: str) -> str:
    """The message of `unknown_name`, for errors of another class; also for what is no name at all."""
    names = list(known)
    text = getattr(name, "__name__", name)  # of a function that is given instead of its name
    near = get_close_matches(text, names, n=3, cutoff=0.5) if isinstance(text, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"{owner} has no {kind} named {name!r}; {hint}known: {shown or 'none'}"


def no_inertia(joint: str, robot: str) -> SingularInertiaError:
    """Error for a joint whose motion has no inertia, so that its acceleration is undefined."""
    return SingularInertiaError(
        f"joint {joint!r} of robot {robot!r} moves no inertia of its own, so its acceleration is undefined; "
        "give the links behind it mass and inertia, give the joint a rotor inertia, or lock it"
    )


def shortened(text: str, most: int) -> str:
    """The text, without its middle where it is longer than `most` characters: a file may give names of any length."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def not_a_robot(value: object) -> ArgumentError:
    """The error for an argument `robot` that is something else, such as a path."""
    path = str(value) if isinstance(value, str | PathLike) else ""
    given = f"the {type(value).__name__} {path[:80]!r}" if path else f"a {type(value).__name__}"
    source = repr(path[:80]) if path else '"arm.urdf"'
    return ArgumentError(
        f"robot is {given}, not a loaded model; load it first: rne.load_urdf({source}), of a model file rne.load_model"
    )


def check_loaded(robot: object) -> None:
    """Refuse with `ArgumentError` what is not a robot, such as a path."""
    if not hasattr(robot, "joint_names"):
        raise not_a_robot(robot)
