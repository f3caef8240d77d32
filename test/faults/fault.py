"""A fault of the campaign, and the collection of the faults of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from rne_dynamics.model.robot import RobotModel

if TYPE_CHECKING:
    from faults.rig import Rig

Inject = Callable[["Rig"], None]
Plant = Callable[[RobotModel], RobotModel]
Before = Literal["unconfigured", "inactive", "holding"]
NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Fault:
    """One fault and the promised reaction.

    Parameters
    ----------
    name
        Unique, as in ``nan-position``.
    kind
        The group it belongs to.
    injected, reaction
        One line each, for tables.
    inject
        Injects it into a held arm, and raises `reaction.ReactionError` if the reaction is another one.
    parameters
        Parameters of the controller for this fault only; set while it is inactive.
    plant
        Makes the true arm from the model of the controller; None if they are the same.
    own
        Whether other faults cannot use the controller process afterwards, so that this one gets its own.
    start
        Parameters that such a process of its own starts with.
    before
        State of the controller when the fault begins.
    arms, nodes
        Names of its arms and controllers; the first arm is the usual one.
    law
        Of a controller that follows references; empty for the usual one.
    """

    name: str
    kind: str
    injected: str
    reaction: str
    inject: Inject
    parameters: Mapping[str, object] = field(default_factory=dict)
    plant: Plant | None = None
    own: bool = False
    start: Mapping[str, Any] = field(default_factory=dict)
    before: Before = "holding"
    arms: tuple[str, ...] = ("two-links",)
    nodes: tuple[str, ...] = ("computed_torque_controller",)
    law: str = ""


class Faults:
    """The faults of one kind, collected by a decorator.

    Parameters
    ----------
    kind
        What they have in common.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._faults: list[Fault] = []

    def fault(self, reaction: str, **options: Any) -> Callable[[Inject], Inject]:
        """Make a function a fault: its name is the fault's, its docstring's first line what is injected."""

        def collect(inject: Inject) -> Inject:
            injected = (inject.__doc__ or "").splitlines()[0].rstrip(".")
            self.add(inject.__name__.replace("_", "-"), injected, reaction, inject, **options)
            return inject

        return collect

    def add(
        self, name: str, injected: str, reaction: str, inject: Inject, *, plant: Plant | None = None, own: bool = False,
        start: Mapping[str, Any] = NONE, before: Before = "holding", arms: tuple[str, ...] = ("two-links",),
        nodes: tuple[str, ...] = ("computed_torque_controller",), **parameters: object,
    ) -> None:
        """Add a fault; the names of `parameters` have ``__`` for a dot."""
        values = {key.replace("__", "."): value for key, value in parameters.items()}
        self._faults.append(
            Fault(
                name, self.kind, injected, reaction, inject, values, plant, own or bool(start), start, before, arms,
                nodes,
            )
        )

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)
