"""Laws by name, and their parameters, for nodes, launch files, commands and the reference page.

A law is a module: a class whose fields declare its parameters, with `robot` and `law` as `ControlLaw` has them, and
``LAW = `` that class. Its name is that of its module in this folder, which holds nothing else, or of a module that
Python finds, as ``my_package.my_law``. Parameters of the controller node, its launch argument, docs/parameters.md and
`rne simulate --law` follow from the declaration: docs/own_law.md describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.parameters import DECLARED, Parameter
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.errors import ControlError, unknown
from rne_dynamics.model.mechanism import RigidRobot

#: The law of a node or command that is given no other.
DEFAULT_LAW = "computed_torque"

class LawKind(NamedTuple):
    """A law as it is declared."""

    name: str
    #: Makes the law, of a robot and its parameters.
    make: Any
    #: By the names of the fields, or of the gains.
    parameters: Mapping[str, Parameter]
    #: With which the names of its parameters begin in a node.
    prefix: str

    def node_names(self) -> dict[str, str]:
        """The keys of `parameters` by their names in a node; ``{joint}`` stands for every joint."""
        return {
            f"{self.prefix}.{'{joint}.' if parameter.per_joint else ''}{key}": key
            for key, parameter in self.parameters.items()
        }

    def check_kind(self, kind: str) -> None:
        """`ControlError` with the reason where the law is not for robots of a kind, as their `kind` says."""
        reason = getattr(self.make, "refused_kinds", {}).get(kind)
        if reason is not None:
            raise ControlError(f"law {self.name!r} is not for {kind} robots: {reason}")

    def law(
        self, robot: RigidRobot, given: Mapping[str, Any] = MappingProxyType({}),
        friction: FrictionCompensation | None = None, rate: float = ASSUMED_RATE,
    ) -> ControlLaw:
        """The law for a robot.

        `given`: values of parameters, one or (n,); the others have their defaults. `friction`, `rate`: for laws that
        have a field `friction_compensation`, or `rate`: efforts per second. Raises ControlError: the law refuses a
        value.
        """
        make, values = self.make, {key: given.get(key, p.default) for key, p in self.parameters.items()}
        for key in (key for key, parameter in self.parameters.items() if parameter.per_joint):
            values[key] = np.broadcast_to(values[key], robot.n).copy()
        if hasattr(make, "chosen"):
            values = make.chosen(robot, values)
        arguments: dict[str, Any] = {}
        own = {"friction_compensation": friction, "rate": rate}
        for one in fields(make) if is_dataclass(make) else ():
            declared = one.metadata.get(DECLARED)
            if isinstance(declared, Parameter):
                arguments[one.name] = values[one.name]
            elif declared is not None:
                arguments[one.name] = Gains(**{key: values[key] for key in declared}, joint_names=robot.joint_names)
            elif one.name in own:
                arguments[one.name] = own[one.name]
        made: ControlLaw = make(robot, **arguments)
        return made


@cache
def law_names() -> tuple[str, ...]:
    """The laws of this package."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


@cache
def find_law(name: str) -> LawKind:
    """The law of that name, or of the module of that name; `ControlError` with the reason where there is none."""
    module = f"{__name__}.{name}" if name in law_names() else name
    try:
        found = all(part.isidentifier() for part in module.split(".")) and find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is to be in
        found = False
    if not found:
        raise ControlError(
            f"{unknown('law', name, law_names(), 'rne_dynamics')}; a law of your own is named by its module, as "
            "my_package.my_law, which Python must find"
        )
    try:
        make = getattr(import_module(module), "LAW", None)
    except Exception as error:  # of a user's module
        raise ControlError(f"law {name!r}: its module cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(make, type) and callable(getattr(make, "law", None))):
        raise ControlError(
            f"law {name!r}: the module lacks `LAW = ` the class of the law, with a method `law`; see docs/own_law.md"
        )
    parameters: dict[str, Parameter] = {}
    for one in fields(make) if is_dataclass(make) else ():
        declared = one.metadata.get(DECLARED, {})
        parameters |= {one.name: declared} if isinstance(declared, Parameter) else declared
    return LawKind(name, make, MappingProxyType(parameters), getattr(make, "prefix", name.rpartition(".")[2]))
