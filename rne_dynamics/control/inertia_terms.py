"""Mass matrix, velocity torque and gravity of one state in one call, for laws that need the matrix itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.control.model_terms import OwnTerms, shared_terms
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm, arm_of
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque_kernel, inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import VALID


@kernel
def inertia_terms_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, terms: Array
) -> None:
    """Rows of `terms`, (n + 2, n): M, c(q, q̇), g(q); a moving base as in `rigid_terms_kernel`."""
    n = qd.shape[0]
    none, rest, turning = np.zeros((0, 6)), np.zeros(n), np.zeros(12)
    for k in range(3):
        turning[3 + k], turning[9 + k] = base[3 + k], base[9 + k]
    mass_matrix_kernel(Arm(topology, parameters, base, none), q, terms[:n])
    inverse_dynamics_kernel(Arm(topology, parameters, turning, none), q, qd, rest, terms[n])
    gravity_torque_kernel(Arm(topology, parameters, base, none), q, terms[n + 1])


@helper
def inertia_terms(arm: Any, q: Array, qd: Array, terms: Array) -> None:
    """As `inertia_terms_kernel`, of an `Arm` or by `OwnTerms`; NaN for a state that this refuses."""
    if len(arm) == len(Arm._fields):
        topology, parameters, base, _ = arm
        inertia_terms_kernel(topology, parameters, base, q, qd, terms)
    else:
        address, base, inertia = arm
        if call(address[0], (q, qd, base, inertia, terms)) != VALID:
            terms[:, :] = np.nan


def inertia_model(robot: RobotModel) -> Arm | OwnTerms:
    """What `inertia_terms` takes of an open arm with its base at rest; compiles where machine code is to be made."""
    code = shared_terms(robot, "inertia terms", _rows, ("q", "qd"), (robot.n + 2, robot.n))
    return arm_of(robot) if code is None else OwnTerms(np.array([code.address]), robot.base_at_rest, *code.constant)


def _rows(arm: Arm, q: Array, qd: Array, base: Array, out: Array) -> None:
    """Of each state, (B, n + 2, n); base motions (B, 12)."""
    for b in range(q.shape[0]):
        inertia_terms_kernel(arm.topology, arm.parameters, base[b], q[b], qd[b], out[b])
