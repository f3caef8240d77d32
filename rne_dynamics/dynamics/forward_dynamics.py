"""Joint accelerations from efforts, by a choice of methods."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from rne_dynamics.dynamics.articulated.nasser import nasser_kernel
from rne_dynamics.dynamics.composite.walker_orin import WALKER_ORIN, WALKER_ORIN_COLUMNS
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Engine, Quantity
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

Method = Literal[
    "nasser", "walker_orin", "walker_orin_columns", "newton_euler_dae", "newton_euler_operator", "lagrange"
]


def _when_called(module: str, name: str) -> Engine:
    """An engine of another formulation, whose module nodes need not import at their start."""

    def engine(*arguments: Any) -> Array:
        answer: Array = getattr(import_module(f"rne_dynamics.dynamics.{module}"), name)(*arguments)
        return answer

    return engine


FORWARD_DYNAMICS = Quantity(
    "forward_dynamics", nasser_kernel, ("q", "qd", "tau"), (N,),
    base_motion=True, fault="body_names", mimic=WALKER_ORIN,
)  # fmt: skip
FORWARD_ENGINES: Mapping[Method, Engine] = MappingProxyType(
    {
        "nasser": FORWARD_DYNAMICS.compute,
        "walker_orin": WALKER_ORIN.compute,
        "walker_orin_columns": WALKER_ORIN_COLUMNS.compute,
        "newton_euler_dae": _when_called("free_bodies.newton_euler_dae", "newton_euler_dae_forward"),
        "newton_euler_operator": _when_called("block_operators.operator_form", "operator_forward"),
        "lagrange": _when_called("lagrange.terms", "lagrange_forward"),
    }
)


@FORWARD_DYNAMICS.public
def forward_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: Method = "nasser",
) -> Array:
    """Accelerations of an open arm that the efforts `tau` give; as `rne_dynamics.forward_dynamics`."""
    if method not in FORWARD_ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(Method)))}")
    if wrenches is None and base_motion is None and method == "nasser":
        return FORWARD_DYNAMICS.of(robot)(q, qd, tau)
    engine = FORWARD_ENGINES[method]
    return FORWARD_DYNAMICS.answer(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion, engine=engine)
