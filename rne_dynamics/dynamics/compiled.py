"""The dynamics as functions that a user's own compiled code calls.

>>> import numpy as np
>>> import rne_dynamics as rne
>>> robot = rne.load_urdf("puma560")
>>> arm = rne.compiled.pack(robot)
>>> q, tau = np.zeros(robot.nq), np.empty(robot.n)
>>> rne.compiled.gravity_torque(arm, q, tau) == rne.compiled.OK
True

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
"""

from __future__ import annotations

from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.derivatives.coriolis import coriolis_matrix_packed as coriolis_matrix
from rne_dynamics.dynamics.derivatives.forward_derivatives import (
    forward_derivatives_packed as forward_dynamics_derivatives,
)
from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
    inverse_derivatives_packed as inverse_dynamics_derivatives,
)
from rne_dynamics.dynamics.derivatives.regressor import regressor_packed as regressor
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics_packed as forward_dynamics
from rne_dynamics.dynamics.kinematics.configuration import integrate_configuration_packed as integrate_configuration
from rne_dynamics.dynamics.kinematics.jacobian import jacobian_packed as jacobian
from rne_dynamics.dynamics.kinematics.jacobian import jacobian_rate_packed as jacobian_rate
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics_packed as forward_kinematics
from rne_dynamics.dynamics.newton_euler.gravity import GRAVITY_TORQUE
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, INVERSE_DYNAMICS
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import (
    NO_INERTIA,
    NO_SUCH_LINK,
    NOT_AN_ARM,
    NOT_FINITE,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
)
from rne_dynamics.model.robot import RobotModel

__all__ = [
    "NOT_AN_ARM",
    "NOT_FINITE",
    "NO_INERTIA",
    "NO_SUCH_LINK",
    "OK",
    "OVERLAPPING",
    "WRONG_SHAPE",
    "bias_torque",
    "coriolis_matrix",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "gravity_torque",
    "integrate_configuration",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "jacobian_rate",
    "mass_matrix",
    "pack",
    "regressor",
]


bias_torque, gravity_torque = BIAS_TORQUE.packed, GRAVITY_TORQUE.packed
inverse_dynamics, mass_matrix = INVERSE_DYNAMICS.packed, MASS_MATRIX.packed


def pack(robot: RobotModel, *, base_motion: BaseMotion | None = None, checked: bool = False) -> Array:
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

    Returns
    -------
    ndarray
        The model, the base's motion and work memory, about 1 kB a body.

    Raises
    ------
    ArgumentError
        Not an open arm (a mechanism, a flexible arm), a base motion of a wrong shape, with NaN or infinity, for a
        floating base, or for more than one state.
    """
    if not isinstance(robot, RobotModel):
        raise ArgumentError(
            f"robot is a {type(robot).__name__}; only an open rigid arm (RobotModel) can be packed. "
            "rne.inverse_dynamics and its like take mechanisms too"
        )
    base = packed_base(robot, base_motion, ())
    return robot.pack(base[0], checked=checked)
