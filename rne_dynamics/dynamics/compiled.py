"""The dynamics as functions that a user's own compiled code calls.

Every function takes `arm` first and its outputs last, computes one state, and returns a number: `OK` (0) where the
outputs are filled, or why not. All arrays are C-contiguous float64; numba refuses others when it compiles the caller.
Shapes are checked in every call, so that nothing is ever read or written out of bounds, and so is that no output lies
in an input's memory.

An arm holds the work memory of its functions: two threads must not use one at the same time. Give each its own,
``arms = np.tile(pack(robot), (threads, 1))``, of which a thread takes one row.

| function | fills |
|---|---|
| `inverse_dynamics(arm, q, qd, qdd, tau)` | `tau` (n,) |
| `forward_dynamics(arm, q, qd, tau, qdd)` | `qdd` (n,) |
| `mass_matrix(arm, q, M)` | `M` (n, n) |
| `bias_torque(arm, q, qd, tau)`, `gravity_torque(arm, q, tau)` | `tau` (n,) |
| `coriolis_matrix(arm, q, qd, C)` | `C` (n, n) |
| `jacobian(arm, link, q, J)`, `jacobian_rate(arm, link, q, qd, J)` | `J` (6, n); `link` is `robot.link_index(name)` |
| `forward_kinematics(arm, q, rotation, position)` | (links, 3, 3) and (links, 3), in the order of `link_names` |
| `regressor(arm, q, qd, qdd, Y)` | `Y` (n, 10·bodies) |
| `inverse_dynamics_derivatives(arm, q, qd, qdd, out)` | `out` (3, n, n): ∂τ/∂q, ∂τ/∂q̇, M |
| `forward_dynamics_derivatives(arm, q, qd, tau, qdd, out)` | `qdd` (n,), `out` (3, n, n): ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹ |
| `integrate_configuration(arm, q, step, out)` | `out` (nq,): q moved by a step (n,) in velocity coordinates |

Examples
--------
>>> import numpy as np
>>> import rne_dynamics as rne
>>> robot = rne.load_urdf("puma560")
>>> arm = rne.compiled.pack(robot)
>>> q, tau = np.zeros(robot.nq), np.empty(robot.n)
>>> rne.compiled.gravity_torque(arm, q, tau) == rne.compiled.OK
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import (
    NO_INERTIA,
    NO_SUCH_LINK,
    NOT_AN_ARM,
    NOT_FINITE,
    OK,
    OVERLAPPING,
    WITH_OWN_CODE,
    WRONG_SHAPE,
    put_own_code,
)
from rne_dynamics.model.robot import RobotModel

#: Codes and `pack`; the functions are added below.
__all__ = [
    "NOT_AN_ARM",
    "NOT_FINITE",
    "NO_INERTIA",
    "NO_SUCH_LINK",
    "OK",
    "OVERLAPPING",
    "WRONG_SHAPE",
    "pack",
]
__all__ += QUANTITIES  # noqa: PLE0605 (the names of its keys)
# attributes of the module, not found on request: what is compiled with them is kept by what they are made of
globals().update({name: quantity.packed for name, quantity in QUANTITIES.items()})
#: Machine code whose addresses are in arrays.
_ALIVE: list[object] = []
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def pack(
    robot: RobotModel, *, base_motion: BaseMotion | None = None, checked: bool = False, own_code: Sequence[str] = ()
) -> Array:
    """A robot as the functions of this module take it: one flat array, to be looked into by them alone.

    Parameters
    ----------
    robot
        An open arm.
    base_motion
        Prescribed motion of the base, one for all calls; at rest by default. Not for floating bases.
    checked
        Whether the functions look for NaN and infinity in their inputs and return `NOT_FINITE`. Otherwise NaN goes
        through to the outputs, and forward dynamics may call it `NO_INERTIA`.
    own_code
        Functions that are to run machine code of this robot alone, by their names: three to ten times as fast. It is
        compiled here, in 0.02 to 1 s for each, or loaded from the disk in milliseconds, and it stays in memory until
        the process ends. In another process, and for states that it does not compute (angles beyond 2³⁰ rad), the
        array works as one without. Of those that compute one array from vectors alone.

    Returns
    -------
    ndarray
        The model, the base's motion and work memory, about 1 kB a body.

    Raises
    ------
    ArgumentError
        Not an open arm (a mechanism, a flexible arm), a base motion of a wrong shape, with NaN or infinity, for a
        floating base, or for more than one state; a name in `own_code` of a function that has none.
    """
    if not isinstance(robot, RobotModel):
        raise ArgumentError(
            f"robot is a {type(robot).__name__}; only an open rigid arm (RobotModel) can be packed. "
            "rne.inverse_dynamics and its like take mechanisms too"
        )
    base = packed_base(robot, base_motion, ())
    arm = robot.pack(base[0], checked=checked)
    for name in own_code:
        if name not in WITH_OWN_CODE:
            raise ArgumentError(unknown("function", name, WITH_OWN_CODE, "own_code"))
        code = QUANTITIES[name].code(robot, base=None if base_motion is None else base[0])
        if code is not None:
            _ALIVE.append(code)  # the array, or a copy of it, may live longer than the robot
            put_own_code(arm, {name: code.address})
    return arm
