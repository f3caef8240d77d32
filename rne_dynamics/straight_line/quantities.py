"""What can be had for batches: which kernel computes it from which vectors.

Both engines start here: one calls the compiled kernels, the other runs their source on symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from rne_dynamics.dynamics.articulated.nasser import nasser_batch
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_batch
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.composite.walker_orin import walker_orin_batch
from rne_dynamics.dynamics.newton_euler.gravity import GRAVITY_TORQUE
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, INVERSE_DYNAMICS
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.robot import RobotModel

Quantity = Literal["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "gravity_torque"]

#: The vectors that each quantity takes, in order.
ARGUMENTS: Mapping[Quantity, tuple[str, ...]] = MappingProxyType(
    {
        "inverse_dynamics": ("q", "qd", "qdd"),
        "forward_dynamics": ("q", "qd", "tau"),
        "mass_matrix": ("q",),
        "bias_torque": ("q", "qd"),
        "gravity_torque": ("q",),
    }
)


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
    return tuple(robot.nq if name == "q" else robot.n for name in ARGUMENTS[quantity])


def row_shape(robot: RobotModel, quantity: Quantity) -> tuple[int, ...]:
    """The shape of the answer for one state."""
    return (robot.n, robot.n) if quantity == "mass_matrix" else (robot.n,)


def compute(quantity: Quantity, run: Runner, arm: Arm, *rows: Any) -> int:
    """Fill the last of `rows` from the others; −1, or what the kernel says moves no inertia."""
    fault = _KERNELS[quantity](run, arm, *rows)
    return -1 if fault is None else int(fault)


def check(robot: RobotModel, fault: int) -> None:
    """Raise `SingularInertiaError` for what `compute` of `forward_dynamics` found."""
    if fault >= 0:
        raise no_inertia((robot.joint_names if robot.has_mimic else robot.body_names)[fault], robot.name)


def _inverse_dynamics(run: Runner, arm: Arm, q: Any, qd: Any, qdd: Any, out: Any) -> Any:
    unloaded = arm.zeros((1, 0, 6))
    return run(INVERSE_DYNAMICS.batch)(arm.topology, arm.parameters, arm.base, q, qd, qdd, unloaded, out)


def _bias_torque(run: Runner, arm: Arm, q: Any, qd: Any, out: Any) -> Any:
    return run(BIAS_TORQUE.batch)(arm.topology, arm.parameters, arm.base, q, qd, arm.zeros((1, 0, 6)), out)


def _forward_dynamics(run: Runner, arm: Arm, q: Any, qd: Any, tau: Any, out: Any) -> Any:
    unloaded = arm.zeros((1, 0, 6))
    if not arm.mimic:
        return run(nasser_batch)(arm.topology, arm.parameters, arm.base, q, qd, tau, unloaded, out)
    scale = arm.zeros(tau.shape)
    run(inertia_scale_batch)(arm.topology, arm.parameters, q, scale)
    return run(walker_orin_batch)(
        arm.topology, arm.parameters, False, arm.base, q, qd, tau, unloaded, scale, out
    )


def _mass_matrix(run: Runner, arm: Arm, q: Any, out: Any) -> Any:
    return run(MASS_MATRIX.batch)(arm.topology, arm.parameters, arm.base, q, arm.zeros((1, 0, 6)), out)


def _gravity_torque(run: Runner, arm: Arm, q: Any, out: Any) -> Any:
    return run(GRAVITY_TORQUE.batch)(arm.topology, arm.parameters, arm.base, q, arm.zeros((1, 0, 6)), out)


_KERNELS: Mapping[Quantity, Callable[..., Any]] = MappingProxyType(
    {
        "inverse_dynamics": _inverse_dynamics,
        "forward_dynamics": _forward_dynamics,
        "mass_matrix": _mass_matrix,
        "bias_torque": _bias_torque,
        "gravity_torque": _gravity_torque,
    }
)
