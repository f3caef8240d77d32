"""What can be had for batches: which kernel computes it from which vectors.

Both engines start here: one calls the compiled kernels, the other runs their source on symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from rne_dynamics.dynamics.articulated.nasser import nasser_batch
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_batch
from rne_dynamics.dynamics.composite.walker_orin import walker_orin_batch
from rne_dynamics.dynamics.declared.quantity import Quantity as OneKernel
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.robot import RobotModel

Quantity = Literal["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "gravity_torque"]

#: The vectors that each quantity takes, in order.
ARGUMENTS: Mapping[Quantity, tuple[str, ...]] = MappingProxyType({q: QUANTITIES[q].inputs for q in get_args(Quantity)})


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot whose base rests, as kernels take it, in numbers of any kind.

    Attributes
    ----------
    topology, parameters
        As in `RobotModel`.
    base
        Its motion, shape (1, 12).
    zeros
        Makes arrays of zeros of a shape.
    mimic
        Whether some joints follow others.
    """

    topology: Any
    parameters: Any
    base: Any
    zeros: Callable[[tuple[int, ...]], Any]
    mimic: bool


#: Finds the function that runs a kernel: the kernel itself or its plain source.
Runner = Callable[[Callable[..., Any]], Callable[..., Any]]


def widths(robot: RobotModel, quantity: Quantity) -> tuple[int, ...]:
    """Numbers in a row of each argument."""
    return QUANTITIES[quantity].widths(robot)


def row_shape(robot: RobotModel, quantity: Quantity) -> tuple[int, ...]:
    """The shape of the answer for one state."""
    return QUANTITIES[quantity].shape(robot)


def compute(quantity: Quantity, run: Runner, arm: Arm, *rows: Any) -> int:
    """Fill the last of `rows` from the others; −1, or what the kernel says moves no inertia."""
    declared = QUANTITIES[quantity]
    if not isinstance(declared, OneKernel):
        return int(_forward_dynamics(run, arm, *rows))
    *inputs, out = rows
    return int(run(declared.batch)(arm.topology, arm.parameters, arm.base, *inputs, arm.zeros((1, 0, 6)), out))


def check(robot: RobotModel, fault: int) -> None:
    """Raise `SingularInertiaError` for what `compute` of `forward_dynamics` found."""
    if fault >= 0:
        raise no_inertia((robot.joint_names if robot.has_mimic else robot.body_names)[fault], robot.name)


def _forward_dynamics(run: Runner, arm: Arm, q: Any, qd: Any, tau: Any, out: Any) -> Any:
    unloaded = arm.zeros((1, 0, 6))
    if not arm.mimic:
        return run(nasser_batch)(arm.topology, arm.parameters, arm.base, q, qd, tau, unloaded, out)
    scale = arm.zeros(tau.shape)
    run(inertia_scale_batch)(arm.topology, arm.parameters, q, scale)
    return run(walker_orin_batch)(arm.topology, arm.parameters, False, arm.base, q, qd, tau, unloaded, scale, out)
