"""Whether viscous friction or a flexible link is too stiff for a step of Runge–Kutta's method."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.mass_matrix import inertia_scale_kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import VISCOUS, ArmCode, PlantArrays
from rne_dynamics.simulation.plant.bending import stiff_modes
from rne_dynamics.simulation.stepping.motion import open_mass_matrix
from rne_dynamics.spatial.cholesky import inverse

#: Decay rate of viscous friction, or frequency of a mode, times step above which an implicit step takes over (the
#: limit of RK4 is 2.8).
STIFF = 2.0
#: Results of `too_stiff`.
SLOW, FAST, NOT_DETERMINED = range(3)


@helper
def damped(joints: Array) -> bool:
    """Whether any joint has viscous friction."""
    any_damped = False
    for j in range(joints.shape[0]):
        any_damped = any_damped or joints[j, VISCOUS] > 0.0
    return any_damped


@helper
def inverse_needed(plant: PlantArrays) -> bool:
    """Whether `too_stiff` reads M⁻¹. Collocation steps any stiffness, and open arms have `viscous_rate`."""
    if plant.loops is not None:
        return plant.loops.damped or damped(plant.joints)
    return plant.flex is not None and not plant.flex.collocation


@helper
def too_stiff(plant: PlantArrays, q: Array, A: Array, dt: float) -> int:
    """Whether a mode or viscous decay is too FAST for a step of `dt`; A, M⁻¹ or J⁻¹, is read where `inverse_needed`."""
    rate, loops = 0.0, plant.loops
    if loops is None and plant.flex is None:
        if damped(plant.joints):
            arm = Arm(plant.topology, plant.parameters, plant.base, plant.wrenches)
            rate = apart(viscous_rate, (arm, plant.code, plant.joints[:, VISCOUS], q))
            if rate < 0.0:
                return NOT_DETERMINED
    elif inverse_needed(plant):
        n = A.shape[0]
        for j in range(n):
            rate += plant.joints[j, VISCOUS] * A[j, j]
            if loops is not None:
                for k in range(n):
                    rate += loops.damping[j, k] * A[k, j]
        if plant.flex is not None:
            return FAST if stiff_modes(plant.flex, A, rate, dt, STIFF) else SLOW
    return FAST if rate * dt > STIFF else SLOW


@kernel
def viscous_rate(arm: Arm, code: ArmCode, viscous: Array, q: Array) -> float:
    """Σ D_j (M⁻¹)_jj, which bounds the fastest decay by viscous friction, 1/s; −1 where a joint moves no inertia."""
    n, rate = viscous.shape[0], 0.0
    M, A, scale = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    open_mass_matrix(arm, code, q, M)
    apart(inertia_scale_kernel, (arm.topology, arm.parameters, q, scale))
    if not apart(inverse, (M, scale, A)):
        return -1.0
    for j in range(n):
        rate += viscous[j] * A[j, j]
    return rate
