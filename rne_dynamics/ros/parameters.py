"""Node parameters from one declarative schema: declared, checked and swapped in as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rne_dynamics.errors import ParameterError, RneDynamicsError
from rne_dynamics.ros.parameter_aliases import JOINT, ParameterAlias, translate
from rne_dynamics.ros.unknown_parameters import given_to, plain, refusal, unclaimed

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
    from rclpy.node import Node
    from rclpy.parameter import Parameter as RosParameter

__all__ = [
    "JOINT", "Parameter", "ParameterTable", "Value", "Values", "number", "numbers", "per_joint",
]

Value = bool | int | float | str | tuple[str, ...] | tuple[float, ...]
Values = Mapping[str, Value]

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node; in the name ``{joint}`` stands for every controlled joint.

    Parameters
    ----------
    name
        As in YAML, with dots.
    default
        Its type is the parameter's type: bool, int, float, str, or a tuple whose `kind` tells str from float.
    description
        What it does, one sentence.
    unit
        SI unit, empty for pure numbers.
    lower, upper
        Bounds of numbers (of each number in a list), both allowed.
    choices
        The strings allowed (in a list: each), any if empty.
    length
        The lengths allowed for a list, any if empty.
    kind
        Type of the elements of a list; read from `default` otherwise.
    read_only
        Set only when the node starts.
    at_configure
        Read when the node is configured; until it is cleaned up another value is refused.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    length: tuple[int, ...] = ()
    kind: type[bool] | type[int] | type[float] | type[str] | None = None
    read_only: bool = False
    at_configure: bool = False

    @property
    def element(self) -> type[bool] | type[int] | type[float] | type[str]:
        """Type of the value, or of each element of a list."""
        if self.kind is not None:
            return self.kind
        sample = self.default[0] if isinstance(self.default, tuple) else self.default
        return type(sample)

    def parse(self, name: str, value: object) -> Value:
        """`value` in the type of this parameter; integers serve where floats are meant.

        Raises
        ------
        ParameterError
            Wrong type, NaN or infinity, outside the bounds or the choices. NaN is refused before bounds are looked
            at, because every comparison with it is false.
        """
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
        """`value` with its integers as floats where this parameter is of floats; as it is where it has others."""
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
        """The ROS descriptor. Dynamic typing lets `25` arrive for `25.0`; `ParameterTable` keeps the type."""
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


class ParameterTable:
    """The parameters of one node and their current values.

    Values are read through `values`, an immutable snapshot that is replaced as a whole, so that nothing ever sees
    half of a change. Every change is checked from the start on; what else it takes, `enable_changes` tells.

    Whatever the node was given and no parameter takes is refused: here, or by `declare_joints` where the name may be
    that of a joint's parameter.

    Parameters
    ----------
    node
        The node that declares them.
    schema
        Declared at once, except for entries with ``{joint}``: `declare_joints` declares those.
    aliases
        Names that another controller has for parameters.
    overrides
        Values that the node's maker gave it.

    Raises
    ------
    ParameterError
        A value that its parameter does not take, or a name that no parameter has.
    """

    def __init__(
        self, node: Node, schema: Sequence[Parameter], aliases: Sequence[ParameterAlias] = (),
        overrides: Sequence[RosParameter] = (),
    ) -> None:
        self._node = node
        self._schema = tuple(schema)
        self._aliases = tuple(aliases)
        self._given = given_to(node, overrides)
        self._declared: dict[str, Parameter] = {}
        self._known: dict[str, Parameter] = {}  # those whose value at the start was refused too
        self._translated: set[str] = set()
        self._apply: Callable[[Values], Callable[[], None]] = lambda values: lambda: None
        self._pending: tuple[Values, Callable[[], None]] | None = None
        self._configured = False
        self.values: Values = MappingProxyType({})
        self._declare({p.name: p for p in self._schema if JOINT not in p.name})
        node.add_pre_set_parameters_callback(self._typed)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._swap)

    def declare_joints(
        self, joints: Sequence[str], defaults: Mapping[str, Sequence[float]] = MappingProxyType({}),
        left_out: Iterable[str] = (),
    ) -> None:
        """Declare the per-joint parameters of `joints`; those already declared keep their values.

        `defaults` gives those whose default is not the same for every joint: by name with ``{joint}``, joint by joint.
        `left_out` are joints of the robot that the node does not control: their parameters are named in a warning.
        """
        self._declare({
            p.name.replace(JOINT, joint): replace(p, default=defaults[p.name][j]) if p.name in defaults else p
            for p in self._schema if JOINT in p.name for j, joint in enumerate(joints)
        }, joints, left_out)

    def _declare(
        self, parameters: Mapping[str, Parameter], joints: Sequence[str] = (), left_out: Iterable[str] = ()
    ) -> None:
        from rclpy.exceptions import InvalidParameterValueException

        translated = translate(self._given, self._aliases, joints)
        self._translated |= translated.names
        faults = list(translated.faults)
        values = dict(self.values)
        self._known.update(parameters)
        for name, parameter in parameters.items():
            if name in self._declared:
                continue
            try:
                agreed = translated.agreed(name, parameter.parse, self._given)
                initial = parameter.typed(self._given.get(name, parameter.default if agreed is None else agreed))
                declared = (
                    self._node.get_parameter(name) if self._node.has_parameter(name)  # refused, and set since then
                    else self._node.declare_parameter(
                        name, list(initial) if isinstance(initial, tuple) else initial, parameter.descriptor(),
                        ignore_override=True,
                    )
                )
                values[name] = parameter.parse(name, plain(declared.value))
                self._declared[name] = parameter
            except InvalidParameterValueException as error:  # rclpy has compared the override with the bounds
                faults.append(str(error))
            except ParameterError as error:
                faults.append(str(error))
        failed = [name for name in parameters if name not in self._declared]
        rest = [name for name in self._given if name not in self._translated and name not in failed]
        patterns = [*(p.name for p in self._schema), *(p.name for p in self._aliases)]
        if unknown := unclaimed(self._node, rest, patterns, joints, left_out):
            faults.append(refusal(unknown, {*self._declared, *failed}))
        self.values = MappingProxyType(values)
        if faults:
            raise ParameterError("; ".join(faults))
        if translated.without_effect:
            self._node.get_logger().info(f"settings without effect here: {', '.join(translated.without_effect)}")

    def enable_changes(self, apply: Callable[[Values], Callable[[], None]]) -> None:
        """Let changes take effect at run time from now on, instead of when the node is configured next.

        Parameters
        ----------
        apply
            Given all values as they would be, it builds what the node would use and returns the function that
            swaps it in; it raises `RneDynamicsError` to refuse. Nothing has changed until the swap runs.
        """
        self._apply, self._configured = apply, True

    def disable_changes(self) -> None:
        """The node is not configured any more: changes take effect when it is configured next."""
        self._apply, self._configured = lambda values: lambda: None, False

    def _typed(self, changes: Sequence[RosParameter]) -> list[RosParameter]:
        """The changes in the types of their parameters: `ros2 param set` sends `900` as an integer."""
        from rclpy.parameter import Parameter as RosParameter

        result = []
        for change in changes:
            given = plain(change.value)
            typed = self._known[change.name].typed(given) if change.name in self._known else given
            same = typed is given or typed == ()
            result.append(change if same else RosParameter(
                change.name, value=list(typed) if isinstance(typed, tuple) else typed
            ))
        return result

    def _check(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        """Whether the changes are taken."""
        result = self._checked(changes)
        if not result.successful:
            for change in changes:  # rclpy has put the type of what is refused into the description
                if self._node.has_parameter(change.name):
                    present = self._node.get_parameter(change.name)
                    self._node.describe_parameter(change.name).type = present.type_.value
        return result

    def _checked(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        from rcl_interfaces.msg import SetParametersResult

        self._pending = None
        if any(change.name == "use_sim_time" for change in changes):  # rclpy's own, after it has been declared
            return SetParametersResult(
                successful=False, reason="parameter use_sim_time is read when the node starts; start it anew"
            )
        ours = [change for change in changes if change.name in self._declared]  # rclpy has some of its own
        try:
            if ours:
                changed = {c.name: self._declared[c.name].parse(c.name, plain(c.value)) for c in ours}
                self._refuse_fixed(changed)
                candidate = MappingProxyType({**self.values, **changed})
                self._pending = (candidate, self._apply(candidate))
        except RneDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _refuse_fixed(self, changed: Values) -> None:
        fixed = [n for n, value in changed.items() if self._declared[n].at_configure and value != self.values[n]]
        if fixed and self._configured:
            raise ParameterError(
                f"parameter {', '.join(fixed)} stays {', '.join(str(self.values[n]) for n in fixed)} while the node is "
                "configured; deactivate it and clean it up, set the parameter, then configure and activate it again"
            )

    def _swap(self, _: Sequence[RosParameter]) -> None:
        if self._pending is None:
            return
        self.values, swap = self._pending
        self._pending = None
        swap()

    def number(self, name: str) -> float:
        """The value of a float parameter."""
        return number(self.values, name)

    def text(self, name: str) -> str:
        """The value of a string parameter."""
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        """The value of a boolean parameter."""
        return bool(self.values[name])

    def names(self, name: str) -> tuple[str, ...]:
        """The value of a list of strings."""
        value = self.values[name]
        return tuple(str(x) for x in value) if isinstance(value, tuple) else ()


def number(values: Values, name: str) -> float:
    """`values[name]` of a float or integer parameter."""
    value = values[name]
    assert isinstance(value, (int, float))  # the schema has seen to it
    return float(value)


def numbers(values: Values, name: str) -> tuple[float, ...]:
    """`values[name]` of a list of floats."""
    value = values[name]
    assert isinstance(value, tuple)  # the schema has seen to it
    return tuple(float(x) for x in value)


def per_joint(values: Values, pattern: str, joints: Sequence[str]) -> list[float]:
    """The values of a per-joint parameter, such as ``gains.{joint}.p``, in the order of `joints`."""
    return [number(values, pattern.replace(JOINT, joint)) for joint in joints]
