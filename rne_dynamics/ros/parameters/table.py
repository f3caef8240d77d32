"""Parameters of nodes: those of all robot nodes, the table of a node's, declared, read and checked as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from rne_dynamics.errors import ParameterError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.node.process import SCHEDULING
from rne_dynamics.ros.parameters.files import (
    JOINT,
    Parameter,
    ParameterAlias,
    Values,
    agreed,
    given_to,
    listed,
    per_joint,
    refusal,
    refuse_undeclared,
    translate,
    unclaimed,
)

COMMON: tuple[Parameter, ...] = (
    Parameter("autostart", True, "Configure and activate when the process starts.", read_only=True),
    Parameter(
        "robot_description", "",
        "The robot: URDF text, a path, a URI or the name of a shipped robot; empty waits for the topic of this name.",
        read_only=True,
    ),
    Parameter(
        "model", "",
        "Instead of robot_description, a model file: a path, a URI, its text or the name of a shipped model.",
        read_only=True,
    ),
    Parameter(
        "joints", (), "Controlled joints in the order of the effort commands; empty takes all, in the order of the "
        "description (of a mechanism the actuated joints). Other joints are locked where joint_states has them.",
        kind=str, read_only=True,
    ),
    Parameter("gravity", (), "Gravity in the axes of the base link; empty takes the model file's, or 0 0 -9.81.",
              "m/s^2", -100.0, 100.0, length=(0, 3), kind=float, read_only=True),
    Parameter("payload.link", "", "Link to which the payload is attached; empty for none."),
    Parameter("payload.mass", 0.0, "Mass of the payload.", "kg", 0.0, 10000.0),
    Parameter("payload.com", (0.0, 0.0, 0.0), "Its mass centre in the link's frame.", "m", -100.0, 100.0, length=(3,)),
    Parameter(
        "payload.inertia", (0.0,) * 6, "Its inertia about the mass centre along the link's axes: xx xy xz yy yz zz.",
        "kg m^2", -1e6, 1e6, length=(6,),
    ),
    Parameter("diagnostics_period", 1.0, "Time between two messages on /diagnostics.", "s", 0.5, 60.0, read_only=True),
    *SCHEDULING,
)


def payload(values: Values) -> Payload | None:
    """The payload that the parameters describe, if any."""
    link = values["payload.link"]
    mass = values["payload.mass"]
    if not link:
        if mass > 0.0:
            raise ParameterError(f"parameter payload.mass is {mass} but payload.link is empty; name the link")
        return None
    xx, xy, xz, yy, yz, zz = values["payload.inertia"]
    return Payload(link, mass, values["payload.com"], ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def smaller_limit(given: Array, described: Array) -> Array:
    """The smaller of two limits, (n,), of which 0 means none; infinite where there is neither."""
    return np.minimum(*(np.where(limit > 0.0, limit, np.inf) for limit in (given, described)))


def drive_limits(robot: RigidRobot, values: Values) -> Array:
    """The smaller of the parameter's limit and the description's, N·m or N, shape (n,); see `smaller_limit`."""
    return smaller_limit(per_joint(values, "limits.{joint}.effort", robot.joint_names), robot.effort_limit)


def effort_limits(robot: RigidRobot, values: Values) -> Array:
    """As `drive_limits`, but every joint must have a limit. Raises ParameterError: a joint that has none."""
    limit = drive_limits(robot, values)
    if not np.isfinite(limit).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(limit)))]
        raise ParameterError(
            f"joint {name!r} has no effort limit: the description gives none (or 0); set limits.{name}.effort"
        )
    return limit


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """The ROS descriptor. Dynamic typing allows `25` for `25.0`; `ParameterTable` keeps the type."""
    made = ParameterDescriptor(
        description=parameter.description + (f" Unit: {parameter.unit}." if parameter.unit else ""),
        additional_constraints=f"one of {', '.join(parameter.choices)}" if parameter.choices else "",
        read_only=parameter.read_only,
        dynamic_typing=True,
    )
    bounded = math.isfinite(parameter.lower) or math.isfinite(parameter.upper)
    if bounded and parameter.element is float and not isinstance(parameter.default, tuple):
        made.floating_point_range = [FloatingPointRange(from_value=parameter.lower, to_value=parameter.upper)]
    elif bounded and parameter.element is int and not isinstance(parameter.default, tuple):
        made.integer_range = [IntegerRange(
            from_value=int(max(parameter.lower, -(2**63))), to_value=int(min(parameter.upper, 2**63 - 1))
        )]  # fmt: skip
    return made


class ParameterTable:
    """The parameters of one node and their current values.

    Values are read through `values`, an immutable snapshot that is replaced as a whole, so that changes are atomic.
    Every change is checked from the start on; for more checks see `prepare`.

    Settings with unknown names are refused: here, or by `declare_joints` if the name may be that of a joint's
    parameter.

    `schema`: declared at once, except for entries with ``{joint}``: `declare_joints` declares those; `aliases`: names
    that another controller has for parameters; `overrides`: values from the constructor of the node. Raises
    ParameterError: an invalid value, or an unknown name.
    """

    def __init__(
        self, node: Node, schema: Sequence[Parameter], aliases: Sequence[ParameterAlias] = (),
        overrides: Sequence[RosParameter] = (),
    ) -> None:
        self._node = node
        self._schema = tuple(schema)
        self._aliases = tuple(aliases)
        lists = {p.name: () for p in self._schema if isinstance(p.default, tuple)}
        given = given_to(node, overrides)
        # rcl has no value for an empty list
        self._given = {name: lists.get(name) if value is None else value for name, value in given.items()}
        self._known: dict[str, Parameter] = {}  # also those whose value at the start was refused
        #: While the node is configured: checks all values after a change, and returns what makes it take effect.
        self.prepare: Callable[[Values], Callable[[], None]] | None = None
        self._pending: tuple[Values, Callable[[], None]] | None = None
        self.values: Values = MappingProxyType({})
        self._declare({p.name: p for p in self._schema if JOINT not in p.name})
        node.add_pre_set_parameters_callback(self._typed)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._swap)

    def declare_joints(
        self, joints: Sequence[str], defaults: Mapping[str, Sequence[float]] = MappingProxyType({}),
        left_out: Iterable[str] = (),
    ) -> None:
        """Declare the per-joint parameters; `defaults`, by name and joint by joint, replace the schema's."""
        self._declare({
            p.name.replace(JOINT, joint): replace(p, default=defaults[p.name][j]) if p.name in defaults else p
            for p in self._schema if JOINT in p.name for j, joint in enumerate(joints)
        }, joints, left_out)

    def _declare(
        self, parameters: Mapping[str, Parameter], joints: Sequence[str] = (), left_out: Iterable[str] = ()
    ) -> None:
        ours, without_effect, faults = translate(self._given, self._aliases, joints)
        values = dict(self.values)
        self._known.update(parameters)
        for name, parameter in parameters.items():
            if name in values:
                continue
            try:
                value = agreed(name, ours.get(name, ()), parameter.parse)
                initial = parameter.typed(self._given.get(name, parameter.default if value is None else value))
                declared = (
                    self._node.get_parameter(name) if self._node.has_parameter(name)  # refused, and set meanwhile
                    else self._node.declare_parameter(
                        name, list(initial) if isinstance(initial, tuple) else initial, descriptor(parameter),
                        ignore_override=True,
                    )
                )
                values[name] = parameter.parse(name, listed(declared.value))
            except (ParameterError, InvalidParameterValueException) as error:  # the second: rclpy's check of the bounds
                faults.append(str(error))
        failed = [name for name in parameters if name not in values]
        aliases = {p.name.replace(JOINT, joint) for p in self._aliases for joint in joints or ("",)}
        rest = [name for name in self._given if name not in aliases and name not in failed]
        patterns = [*(p.name for p in self._schema), *(p.name for p in self._aliases)]
        if unknown := unclaimed(self._node, rest, patterns, joints, left_out):
            faults.append(refusal(unknown, {*values, *failed}))
        self.values = MappingProxyType(values)
        if faults:
            raise ParameterError("; ".join(faults))
        if without_effect:
            self._node.get_logger().info(f"settings without effect here: {', '.join(without_effect)}")

    def _typed(self, changes: Sequence[RosParameter]) -> list[RosParameter]:
        """The changes in the types of their parameters: `ros2 param set` sends `900` as an integer."""
        result = []
        for change in changes:
            given = listed(change.value)
            typed = self._known[change.name].typed(given) if change.name in self._known else given
            same = typed is given or typed == ()
            result.append(change if same else RosParameter(
                change.name, value=list(typed) if isinstance(typed, tuple) else typed
            ))
        return result

    def _check(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        """Check changes: accepted, or refused with the reason."""
        self._pending = None
        ours = [change for change in changes if change.name in self.values]  # rclpy declares some itself
        try:
            if any(change.name == "use_sim_time" for change in changes):  # declared by rclpy
                raise ParameterError("parameter use_sim_time is read when the node starts; start it anew")
            if ours:
                self._pending = self._prepared({c.name: self._known[c.name].parse(c.name, listed(c.value))
                                                for c in ours})  # fmt: skip
        except RneDynamicsError as error:
            for change in changes:  # rclpy has put the refused type into the description
                if self._node.has_parameter(change.name):
                    present = self._node.get_parameter(change.name)
                    self._node.describe_parameter(change.name).type = present.type_.value
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _prepared(self, changed: Values) -> tuple[Values, Callable[[], None]]:
        """All values after a change, and what makes it take effect; raises `RneDynamicsError` to refuse."""
        values = MappingProxyType({**self.values, **changed})
        if self.prepare is None:
            return values, lambda: None
        fixed = [n for n, value in changed.items() if self._known[n].at_configure and value != self.values[n]]
        if fixed:
            raise ParameterError(
                f"parameter {', '.join(fixed)} stays {', '.join(str(self.values[n]) for n in fixed)} while the node is "
                "configured; deactivate it and clean it up, set the parameter, then configure and activate it again"
            )
        return values, self.prepare(values)

    def _swap(self, _: Sequence[RosParameter]) -> None:
        if self._pending is None:
            return
        self.values, swap = self._pending
        self._pending = None
        swap()

    def __getitem__(self, name: str) -> Any:
        """The present value of a parameter."""
        return self.values[name]


# -- services that set parameters, for nodes that no request may end ---------------------------------------------------


def make_strict(node: Node) -> None:
    """Let the parameter services of a node refuse types that do not exist; rclpy's own would end the node."""
    callbacks: dict[type, Callable[[Any, Any], Any]] = {
        SetParameters: lambda request, _: SetParameters.Response(
            results=[change(node, [parameter]) for parameter in request.parameters]
        ),
        SetParametersAtomically: lambda request, _: SetParametersAtomically.Response(
            result=change(node, request.parameters)
        ),
    }
    for service in node.services:
        service.callback = callbacks.get(service.srv_type, service.callback)


def change(node: Node, parameters: Sequence[ParameterMessage]) -> SetParametersResult:
    """Set all of `parameters` or none."""
    if unknown := refuse_undeclared(node, [parameter.name for parameter in parameters]):
        return SetParametersResult(successful=False, reason=unknown)
    try:
        result: SetParametersResult = node.set_parameters_atomically(
            [RosParameter.from_parameter_msg(parameter) for parameter in parameters]
        )
    except ValueError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return result
