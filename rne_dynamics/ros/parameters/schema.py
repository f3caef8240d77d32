"""The schema of node parameters: type, bounds, unit and description of each; and reading of their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rne_dynamics.control.parameters import Declared, declared
from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.parameters.aliases import JOINT

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor


__all__ = [
    "JOINT", "Parameter", "Value", "Values", "declared_parameters", "filled", "per_joint",
]

Value = bool | int | float | str | tuple[str, ...] | tuple[float, ...]
#: Values of all parameters of a node by name, each of its parameter's type.
Values = Mapping[str, Any]
T = TypeVar("T")

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node; in the name ``{joint}`` stands for every controlled joint."""

    #: As in YAML, with dots.
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

    @classmethod
    def of(cls, name: str, known: Declared) -> Parameter:
        """The parameter that a field declares."""
        length = (len(known.default),) if isinstance(known.default, tuple) else ()
        return cls(
            name, known.default, known.text, known.unit, known.lower, known.upper, known.choices, length,
            at_configure=known.at_configure,
        )

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
            return self._parse_one(name, value)
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ParameterError(f"parameter {name} is {value!r}; it must be a list, each {_KINDS[self.element]}")
        items = tuple(self._parse_one(f"{name}[{i}]", item) for i, item in enumerate(value))
        if self.length and len(items) not in self.length:
            allowed = " or ".join(map(str, self.length))
            raise ParameterError(f"parameter {name} has {len(items)} elements; it must have {allowed}{self._in_unit}")
        return items  # type: ignore[return-value]  # all elements are of one type, which the checker cannot see

    def _parse_one(self, name: str, value: object) -> bool | int | float | str:
        kind = self.element
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ParameterError(f"parameter {name} is {value!r}; it must be {_KINDS[kind]}{self._in_unit}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"parameter {name} is {value}; it must be a finite number{self._in_unit}")
        if isinstance(value, (int, float)) and kind is not bool and not self.lower <= value <= self.upper:
            raise ParameterError(f"parameter {name} is {value}; it must be {self._bounds}{self._in_unit}")
        if self.choices and value not in self.choices:
            raise ParameterError(f"parameter {name} is {value!r}; it must be one of {', '.join(self.choices)}")
        return value

    def typed(self, value: object) -> object:
        """`value` with integers converted to floats if this parameter has floats; unchanged otherwise."""
        if self.element is not float:
            return value
        items = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items):
            return value
        floats = tuple(map(float, items))
        return floats if isinstance(value, tuple) else floats[0]

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

    def descriptor(self) -> ParameterDescriptor:
        """The ROS descriptor. Dynamic typing allows `25` for `25.0`; `ParameterTable` keeps the type."""
        from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

        descriptor = ParameterDescriptor(
            description=self.description + (f" Unit: {self.unit}." if self.unit else ""),
            additional_constraints=f"one of {', '.join(self.choices)}" if self.choices else "",
            read_only=self.read_only,
            dynamic_typing=True,
        )
        bounded = math.isfinite(self.lower) or math.isfinite(self.upper)
        if bounded and self.element is float and not isinstance(self.default, tuple):
            descriptor.floating_point_range = [FloatingPointRange(from_value=self.lower, to_value=self.upper)]
        elif bounded and self.element is int and not isinstance(self.default, tuple):
            low = int(self.lower) if math.isfinite(self.lower) else -(2**63)
            high = int(self.upper) if math.isfinite(self.upper) else 2**63 - 1
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        return descriptor


def declared_parameters(kind: type, prefix: str) -> tuple[Parameter, ...]:
    """The parameters that the fields of a dataclass declare: `prefix` and the field's name."""
    return tuple(Parameter.of(prefix + name, known) for name, known in declared(kind).items())


def per_joint(values: Values, pattern: str, joints: Sequence[str]) -> Array:
    """The values of a per-joint parameter, such as ``gains.{joint}.p``, in the order of `joints`; shape (n,)."""
    return np.array([values[pattern.replace(JOINT, joint)] for joint in joints], np.float64)


def filled(kind: type[T], values: Values, prefix: str, **others: Any) -> T:
    """A dataclass of settings: each field is the parameter `prefix` + its name, if there is one; or as in `others`."""
    given = {f.name: values[prefix + f.name] for f in fields(kind) if prefix + f.name in values}  # type: ignore[arg-type]
    return kind(**given | others)
