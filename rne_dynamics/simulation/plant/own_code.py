"""Machine code of one arm for its simulation and its control, called by the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.rigid_terms import rigid_terms_kernel
from rne_dynamics.dynamics.articulated.nasser import nasser_kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, kept_code, kept_rows
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import OwnCode
from rne_dynamics.simulation.stepping.contact import inverse
from rne_dynamics.simulation.stepping.stiffness import inverse_diagonal
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.straight_line.recipe import Recipe


def own_code(robot: RobotModel, model: RobotModel, *, rows: bool) -> OwnCode:
    """Addresses of what is compiled for an arm, and the model of its controller; `rows` for several states too.

    0 where there is none: for models that share the general kernels (`RobotModel.with_own_code`), and too large ones.
    """
    n, base = robot.n, robot.base_at_rest.reshape(1, 12)
    arm = robot.topology, efforts_parameters(robot)
    law = model.topology, efforts_parameters(model), model.base_at_rest.reshape(1, 12)
    forward = robot, "locked forward dynamics", _forward_rows, (*arm, base, robot.has_mimic), 3, (n,)
    diagonal = robot, "inverse diagonal", _diagonal_rows, arm, 0, (n,)
    terms = model, "control terms", _terms_rows, law, 3, (4, model.n)
    unlocked = FORWARD_DYNAMICS.code(robot) if robot.specialised else None
    one = (
        _address(*forward), 0 if unlocked is None else unlocked.address,
        _address(robot, "response", _response_rows, (*arm, base), 1, (2 * n + 1, n)),
        _address(*diagonal), _address(*terms),
    )  # fmt: skip
    several = (0, 0, 0)
    if rows and one[0]:
        several = _address(*forward, rows=True), _address(*diagonal, rows=True), _address(*terms, rows=True)
    if 0 in several[:2]:  # a step needs both
        several = (0, 0, 0)
    return OwnCode(*one, *several)


def _address(
    robot: RobotModel, name: str, kernel: Callable[..., Any], model: tuple[Any, ...], vectors: int,
    shape: tuple[int, ...], *, rows: bool = False,
) -> int:  # fmt: skip
    """Address of the code of a kernel of rows of positions and `vectors` more inputs (n,); 0 where there is none."""
    if not robot.specialised:
        return 0
    rng = np.random.default_rng(1)
    sample = random_configuration(robot, rng), *(rng.uniform(size=robot.n) for _ in range(vectors))
    recipe = Recipe(name, robot.name, kernel, model, (), sample, shape)
    key = (name, *(part.tobytes() for part in model if isinstance(part, np.ndarray)))
    code = kept_rows(robot, key, recipe) if rows else kept_code(robot, key, lambda: recipe)
    return 0 if code is None else code.address


def _forward_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, q: Array, qd: Array, tau: Array,
    lock: Array, out: Array,
) -> int:  # fmt: skip
    """Accelerations of each state, (B, n), with `lock` added to the rotors' inertias; −1, or what moves no inertia."""
    n, none, fault = qd.shape[1], np.zeros((0, 6)), -1
    for b in range(q.shape[0]):
        if mimic:
            arm = Arm(topology, parameters, base[0], none)
            M, left = np.empty((n, n)), np.empty(n)
            inverse_dynamics_kernel(arm, q[b], qd[b], np.zeros(n), left)
            mass_matrix_kernel(arm, q[b], M)
            inertia_scale_kernel(topology, parameters, q[b], out[b])
            for j in range(n):
                left[j] = tau[b, j] - left[j]
                M[j, j] += lock[b, j]
            fault = scaled_cholesky_solve(M, left, out[b], out[b])
        else:
            heavy = parameters.copy()
            for i in range(topology.shape[0]):
                heavy[i, ROTOR] += lock[b, topology[i, VELOCITY_INDEX]]
            fault = nasser_kernel(Arm(topology, heavy, base[0], none), q[b], qd[b], tau[b], out[b])
        if fault >= 0:
            return fault
    return fault


def _response_rows(topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, out: Array) -> int:
    """M, M⁻¹ and the bias torque of each state, (B, 2 n + 1, n); −1, or 0 where M is not positive definite."""
    n, none, scale = qd.shape[1], np.zeros((0, 6)), np.zeros(qd.shape[1])
    for b in range(q.shape[0]):
        arm = Arm(topology, parameters, base[0], none)
        inverse_dynamics_kernel(arm, q[b], qd[b], np.zeros(n), out[b, 2 * n])
        mass_matrix_kernel(arm, q[b], out[b, :n])
        inertia_scale_kernel(topology, parameters, q[b], scale)
        if not inverse(out[b, :n].copy(), scale, out[b, n : 2 * n]):
            return 0
    return -1


def _diagonal_rows(topology: NDArray[np.int64], parameters: Array, q: Array, out: Array) -> int:
    """(M⁻¹)_jj of each state, (B, n); −1, or 0 where M is not positive definite."""
    n = out.shape[1]
    for b in range(q.shape[0]):
        arm = Arm(topology, parameters, None, None)
        if not inverse_diagonal(arm, q[b], np.empty((n, n)), np.empty(n), out[b]):
            return 0
    return -1


def _terms_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array,
    correction: Array, out: Array,
) -> None:  # fmt: skip
    """The rows of `rigid_terms_kernel` of each state, (B, 4, n)."""
    for b in range(q.shape[0]):
        rigid_terms_kernel(topology, parameters, base[0], q[b], qd[b], desired[b], correction[b], out[b])
