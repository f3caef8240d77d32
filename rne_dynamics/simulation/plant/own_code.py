"""Machine code of one arm for its simulation and its control, called by the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.rigid_terms import rigid_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.specialised import kept_code, rounded
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import OwnCode, PlantArrays
from rne_dynamics.simulation.stepping.contact import inverse
from rne_dynamics.simulation.stepping.motion import memory_of
from rne_dynamics.simulation.stepping.stiffness import viscous_rate
from rne_dynamics.straight_line.recipe import Recipe

_COLUMNS = max(_MASS_COLUMNS, _FORCE_COLUMNS)


def own_code(robot: RobotModel, joints: Array, model: RobotModel) -> OwnCode:
    """Addresses of what is compiled for an arm, its rows of `ArmPlant.joints`, and the model of its controller.

    0 where there is none: for models that share the general kernels (`RobotModel.with_own_code`), and too large ones.
    """
    n, forward = robot.n, 0
    if robot.specialised:
        code = FORWARD_DYNAMICS.code(robot)
        forward = 0 if code is None else code.address
    base = robot.base_at_rest.reshape(1, 12)
    dynamics = robot.topology, rounded(robot.parameters), base
    return OwnCode(
        forward,
        _address(robot, "response", _response_rows, dynamics, 1, (2 * n + 1, n)),
        _address(robot, "viscous rate", _rate_rows, (*dynamics[:2], joints), 0, (1,)),
        _address(
            model, "control terms", _terms_rows,
            (model.topology, rounded(model.parameters), model.base_at_rest.reshape(1, 12)), 3, (4, model.n),
        ),
    )  # fmt: skip


def _address(
    robot: RobotModel, name: str, kernel: Callable[..., Any], model: tuple[NDArray[Any], ...], vectors: int,
    shape: tuple[int, ...],
) -> int:  # fmt: skip
    """Address of the code of a kernel of rows of positions and `vectors` more inputs (n,); 0 where there is none."""
    if not robot.specialised:
        return 0
    rng = np.random.default_rng(1)
    sample = random_configuration(robot, rng), *(rng.normal(size=robot.n) for _ in range(vectors))
    recipe = Recipe(name, robot.name, kernel, model, (), sample, shape)
    code = kept_code(robot, (name, *(part.tobytes() for part in model)), lambda: recipe)
    return 0 if code is None else code.address


def _response_rows(topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, out: Array) -> int:
    """M, M⁻¹ and the bias torque of each state, (B, 2 n + 1, n); −1, or 0 where M is not positive definite."""
    n, none = qd.shape[1], np.zeros((0, 6))
    for b in range(q.shape[0]):
        arm = Arm(topology, parameters, base[0], none, np.empty((topology.shape[0], _COLUMNS)))
        inverse_dynamics_kernel(arm, q[b], qd[b], np.zeros(n), out[b, 2 * n])
        mass_matrix_kernel(arm, q[b], out[b, :n])
        if not inverse(out[b, :n].copy(), out[b, n : 2 * n]):
            return 0
    return -1


def _rate_rows(topology: NDArray[np.int64], parameters: Array, joints: Array, q: Array, out: Array) -> None:
    """`viscous_rate` of each state, (B, 1)."""
    plant: Any = PlantArrays(topology, parameters, False, None, joints, None, None, None, None, None)  # type: ignore[arg-type]
    memory = memory_of(topology.shape[0], q.shape[1], joints.shape[0])
    for b in range(q.shape[0]):
        out[b, 0] = viscous_rate(plant, memory, q[b])


def _terms_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array,
    correction: Array, out: Array,
) -> None:  # fmt: skip
    """The rows of `rigid_terms_kernel` of each state, (B, 4, n)."""
    for b in range(q.shape[0]):
        rigid_terms_kernel(topology, parameters, base[0], q[b], qd[b], desired[b], correction[b], out[b])
