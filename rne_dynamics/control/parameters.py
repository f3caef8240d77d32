"""Parameters declared at the fields of laws and settings: default, meaning, unit, bounds; checks of vectors of joints.

Node parameters, launch arguments, docs/parameters.md and the checks of settings follow from the declaration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ControlError, ParameterError, RneDynamicsError, refuse
from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.mechanism import RigidRobot


def joint_name(index: int, names: Sequence[str] | None) -> str:
    """Name of a joint in messages: its name where names are known, its number otherwise."""
    return f"joint {names[index]!r}" if names is not None else f"joint number {index}"


def frozen_vector(
    value: ArrayLike, n: int, what: str, *, lowest: float = -np.inf, highest: float = np.inf, finite: bool = True,
    names: Sequence[str] | None = None, error: type[ControlError] = ControlError,
) -> Array:
    """A read-only vector (n,) of one number or n of them; `error` names joint, value and what is allowed."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"{what} is {value!r}; it must be numbers, one or {n}") from None
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise error(f"{what} has shape {array.shape}; it must be one number or {n} of them, one a joint")
    # comparisons with NaN are false, so NaN is caught here as well
    good = (array >= lowest) & (array <= highest)
    if finite:
        good &= np.isfinite(array)
    if not good.all():
        j = int(np.argmin(good))
        bounds = (
            (finite, "finite"), (lowest > -np.inf, f"at least {lowest:g}"), (highest < np.inf, f"at most {highest:g}"),
        )  # fmt: skip
        allowed = [text for counts, text in bounds if counts]
        raise error(f"{what} of {joint_name(j, names)} is {array[j]}; it must be {', '.join(allowed) or 'a number'}")
    return read_only(array)


def check_number(
    value: float, what: str, *, zero: bool = False, unit: str = "", error: type[ControlError] = ControlError
) -> None:
    """`error` for a number that is not finite and above 0, or with `zero` not negative; `what` and `unit` name it."""
    if not (np.isfinite(value) and (value > 0.0 or (zero and value == 0.0))):
        raise error(f"{what} is {value}{unit}; it must be finite and {'not negative' if zero else 'above 0'}")


def measured(value: ArrayLike, n: int, what: str) -> Array:
    """A vector (n,) of one control cycle, as kernels need it; only its shape is checked: the limiter refuses NaN."""
    # always a copy: kernels compile anew for read-only or strided arrays, which would stall a running loop
    array = np.array(value, dtype=np.float64)
    if array.shape != (n,):
        raise ControlError(f"{what} has shape {array.shape}; the robot needs ({n},)")
    return array


def every_joint_driven(robot: RigidRobot, law: str) -> None:
    """`ControlError` where the robot has a floating joint, which no motor drives."""
    if robot.nq != robot.n:
        raise ControlError(
            f"{law} drives every joint, but robot {robot.name!r} has a floating joint; load it with base='fixed'"
        )


#: Values of parameters.
Value = bool | int | float | str | tuple[str, ...] | tuple[float, ...]
#: Key of a field's metadata: its `Parameter`, or those of a set of gains by name.
DECLARED = "parameter"

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a law, of settings, or of a node, where ``{joint}`` in the name stands for every joint."""

    #: As in YAML, with dots; empty at a field whose name it is, after a prefix.
    name: str
    #: Its type is the parameter's type: bool, int, float, str, or a tuple with elements of type `kind`.
    default: Value
    #: Its meaning, one sentence.
    description: str
    #: SI unit, empty for pure numbers.
    unit: str = ""
    #: Bounds of numbers (of each number in a list), both allowed.
    lower: float = -math.inf
    upper: float = math.inf
    #: The strings allowed (in a list: each), any if empty.
    choices: tuple[str, ...] = ()
    #: The lengths allowed for a list, any if empty.
    length: tuple[int, ...] = ()
    #: Type of the elements of a list; read from `default` otherwise.
    kind: type[bool] | type[int] | type[float] | type[str] | None = None
    #: Set only when the node starts.
    read_only: bool = False
    #: Read when the node is configured; until it is cleaned up another value is refused.
    at_configure: bool = False
    #: Whether each joint has its own value.
    per_joint: bool = False

    @property
    def element(self) -> type[bool] | type[int] | type[float] | type[str]:
        """Type of the value, or of each element of a list."""
        return self.kind or type(self.default[0] if isinstance(self.default, tuple) else self.default)

    def default_text(self) -> str:
        """The default as in YAML."""
        if isinstance(self.default, tuple):
            return f"[{', '.join(map(str, self.default))}]"
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default) or '""'

    def parse(self, name: str, value: object) -> Value:
        """`value` in the type of this parameter, an integer also as a float; `ParameterError` where not allowed."""
        if not isinstance(self.default, tuple):
            return self._parse_one(f"parameter {name}", value)
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ParameterError(f"parameter {name} is {value!r}; it must be a list, each {_KINDS[self.element]}")
        items = tuple(self._parse_one(f"parameter {name}[{i}]", item) for i, item in enumerate(value))
        if self.length and len(items) not in self.length:
            allowed = " or ".join(map(str, self.length))
            raise ParameterError(f"parameter {name} has {len(items)} elements; it must have {allowed}{self._in_unit}")
        return items  # type: ignore[return-value]  # all elements are of one type, which the checker cannot see

    def read(self, name: str, text: str) -> Value:
        """As `parse`, from a text as it is typed, of a list with commas."""
        kind = self.element
        values = [_typed(kind, part) for part in text.split(",")] if isinstance(self.default, tuple) else []
        return self.parse(name, values or _typed(kind, text))

    def _parse_one(self, name: str, value: object) -> bool | int | float | str:
        kind = self.element
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ParameterError(f"{name} is {value!r}; it must be {_KINDS[kind]}{self._in_unit}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"{name} is {value}; it must be a finite number{self._in_unit}")
        self.check(name, value, ParameterError)
        return value

    def check(self, name: str, value: Any, error: type[RneDynamicsError]) -> None:
        """`error` for a value, or an element of a list, outside the bounds or not among the choices."""
        refuse(
            error,
            (self.element in (int, float) and not self.lower <= value <= self.upper,
             f"{name} is {value}; it must be {self._bounds}{self._in_unit}"),
            (self.choices and value not in self.choices,
             f"{name} is {value!r}; it must be one of {', '.join(self.choices)}"),
        )  # fmt: skip

    def typed(self, value: object) -> object:
        """`value` with integers converted to floats if this parameter has floats; unchanged otherwise."""
        if self.element is not float:
            return value
        if isinstance(value, tuple):
            return tuple(map(self.typed, value))
        return float(value) if type(value) is int else value

    @property
    def _in_unit(self) -> str:
        return f" ({self.unit})" if self.unit else ""

    @property
    def _bounds(self) -> str:
        if math.isinf(self.upper):
            return f"at least {self.lower:g}"
        if math.isinf(self.lower):
            return f"at most {self.upper:g}"
        return f"between {self.lower:g} and {self.upper:g}"


def _typed(kind: type, text: str) -> object:
    """A text as bool or number; itself where it is none, or none is wanted."""
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    try:
        return text if kind is str else kind(text)
    except ValueError:
        return text


def parameter(
    default: Value, text: str, unit: str = "", *, lower: float = -math.inf, upper: float = math.inf,
    choices: tuple[str, ...] = (), at_configure: bool = False,
) -> Any:
    """A field of a law, or of settings, that is a parameter: one value for the whole arm.

    Parameters
    ----------
    default
        Its type is the parameter's: bool, float, str, or a tuple of as many floats.
    text
        Its meaning, one sentence.
    unit
        SI unit, empty for pure numbers.
    lower, upper
        Bounds of a number, both allowed.
    choices
        The strings allowed, any if empty.
    at_configure
        Whether it stays what it is while a node is configured.
    """
    length = (len(default),) if isinstance(default, tuple) else ()
    made = Parameter("", default, text, unit, lower, upper, choices, length, at_configure=at_configure)
    return field(default=default, metadata={DECLARED: made})


#: The name of `parameter` in the public API.
law_parameter = parameter


def joint_parameter(default: float, text: str, unit: str = "", *, lower: float = 0.0, upper: float = math.inf) -> Any:
    """A field of a law that is a parameter with a number for each joint, shape (n,); otherwise as `parameter`."""
    return field(default=default, metadata={DECLARED: joint_number(default, text, unit, lower, upper)})


def joint_number(default: float, text: str, unit: str, lower: float, upper: float) -> Parameter:
    """A parameter with a number for each joint, for `gain_parameters`."""
    return Parameter("", default, text, unit, lower, upper, per_joint=True)


def gain_parameters(**gains: Parameter) -> dict[str, Any]:
    """Metadata of a law's field that is a `Gains`: each of them is a parameter, in the unit of the law."""
    return {DECLARED: gains}


def of_node(name: str, default: Value, text: str, unit: str, lower: float, upper: float) -> dict[str, Any]:
    """Metadata of a field that is the parameter `name` of a node, whose default may differ from the field's."""
    return {DECLARED: Parameter(name, default, text, unit, lower, upper)}


def declared(kind: Any) -> dict[str, Parameter]:
    """The parameters of a dataclass of settings, by field."""
    return {f.name: f.metadata[DECLARED] for f in fields(kind) if DECLARED in f.metadata}


def check_parameters(settings: Any, prefix: str) -> None:
    """`ControlError` for a field outside its bounds or not among its choices; its name begins with `prefix`."""
    for name, known in declared(settings).items():
        value = getattr(settings, name)
        for one in value if isinstance(known.default, tuple) else () if known.name else (value,):
            known.check(f"{prefix}{name}", one, ControlError)
