"""Parameters declared at the fields of laws and settings: default, meaning, unit, bounds.

Node parameters, launch arguments, docs/parameters.md and the checks of settings follow from the declaration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rne_dynamics.errors import ControlError

#: Values of parameters.
Value = bool | float | str | tuple[float, ...]
#: Key of a field's metadata: its `Declared`, or those of a set of gains by name.
DECLARED = "parameter"


@dataclass(frozen=True)
class Declared:
    """One parameter; bounds are both allowed."""

    default: Value
    #: Its meaning, one sentence.
    text: str
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    #: The strings allowed, any if empty.
    choices: tuple[str, ...] = ()
    #: Whether each joint has its own value.
    per_joint: bool = False
    #: Whether it stays what it is while a node is configured.
    at_configure: bool = False

    def parse(self, name: str, text: str) -> Value:
        """The value of a text, of a list with commas; ControlError: it is not allowed."""
        if isinstance(self.default, tuple):
            parts = text.split(",")
            if len(parts) != len(self.default):
                raise ControlError(f"{name} is {text!r}; it must be {len(self.default)} numbers, with commas between")
            number = replace(self, default=0.0)
            return tuple(number.parse(f"{name}[{k}]", part) for k, part in enumerate(parts))  # type: ignore[misc]
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise ControlError(f"{name} is {text!r}; it must be one of {', '.join(self.choices)}")
            return text
        if isinstance(self.default, bool):
            if text not in ("true", "false"):
                raise ControlError(f"{name} is {text!r}; it must be true or false")
            return text == "true"
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self.lower <= value <= self.upper or math.isinf(value):
            raise ControlError(
                f"{name} is {text!r}; it must be a number from {self.lower:g} to {self.upper:g} {self.unit}".rstrip()
            )
        return value


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
    declared = Declared(default, text, unit, lower, upper, choices, at_configure=at_configure)
    return field(default=default, metadata={DECLARED: declared})


#: The name of `parameter` in the public API.
law_parameter = parameter


def joint_parameter(default: float, text: str, unit: str = "", *, lower: float = 0.0, upper: float = math.inf) -> Any:
    """A field of a law that is a parameter with a number for each joint, shape (n,); otherwise as `parameter`."""
    return field(default=default, metadata={DECLARED: joint_number(default, text, unit, lower, upper)})


def joint_number(default: float, text: str, unit: str, lower: float, upper: float) -> Declared:
    """A parameter with a number for each joint, for `gain_parameters`."""
    return Declared(default, text, unit, lower, upper, per_joint=True)


def gain_parameters(**gains: Declared) -> dict[str, Any]:
    """Metadata of a law's field that is a `Gains`: each of them is a parameter, in the unit of the law."""
    return {DECLARED: gains}


def declared(kind: Any) -> dict[str, Declared]:
    """The parameters of a dataclass of settings, by field."""
    return {f.name: f.metadata[DECLARED] for f in fields(kind) if DECLARED in f.metadata}


def check_parameters(settings: Any, prefix: str) -> None:
    """`ControlError` for a field that is outside its bounds or not among its choices; its name begins with `prefix`."""
    for name, known in declared(settings).items():
        value = getattr(settings, name)
        if known.choices and value not in known.choices:
            raise ControlError(f"{prefix}{name} is {value!r}; it must be one of {', '.join(known.choices)}")
        numbers = value if isinstance(known.default, tuple) else (value,)
        if math.isfinite(known.upper) and not all(known.lower <= x <= known.upper for x in numbers):
            raise ControlError(
                f"{prefix}{name} is {value}; it must be from {known.lower:g} to {known.upper:g} {known.unit}".rstrip()
            )
