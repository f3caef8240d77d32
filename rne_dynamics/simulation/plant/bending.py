"""Flexible links for the stepping kernels: J and the bias forces of joints and deflections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper
from rne_dynamics.flexible.inertia import flexible_terms_kernel
from rne_dynamics.flexible.packed import Packed, pack
from rne_dynamics.flexible.static import damping_matrix, elastic_matrix
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

# outcomes of a step, in `Flex.status`
DONE, NOT_CONVERGED, NO_INERTIA = range(3)
#: How often a step of collocation that does not converge is halved, and its largest number of parts.
HALVINGS = 6
MOST_PARTS = 2**HALVINGS


class Flex(NamedTuple):
    """An arm's flexible links for one step, in which the kernels' q and q̇ are z = [q, δ] and ż."""

    #: As the kernels of `flexible/` take it.
    packed: Packed
    #: Of all modes; shape (modes, modes).
    stiffness: Array
    damping: Array
    #: Whether smooth motion is stepped by Gauss–Legendre's method instead of Runge–Kutta's.
    collocation: bool
    #: Outcome of the step; shape (1,).
    status: NDArray[np.int64]

    @staticmethod
    def of(arm: FlexibleArm, collocation: bool) -> Flex:
        """For one step of an arm."""
        return Flex(pack(arm), elastic_matrix(arm), damping_matrix(arm), collocation, np.array([DONE]))


@helper
def flexible_mass_and_bias(
    flex: Flex, base: Array, wrenches: Array, z: Array, zd: Array, implicit: float, J: Array, factor: Array, bias: Array
) -> None:
    """J (n + modes, n + modes) and bias forces (n + modes,), gravity, elastic and damping forces among them.

    Where `implicit` is a time h above 0, the damping forces D δ̇ are left out of the bias, and h D + h² K is added to
    `factor`: with the elastic forces at δ + h δ̇ both are then implicit in the new δ̇.
    """
    apart(flexible_terms_kernel, (flex.packed, base, z, zd, wrenches, J, bias))
    if implicit > 0.0:
        n = flex.packed.joints
        for k in range(flex.stiffness.shape[0]):
            for m in range(flex.stiffness.shape[0]):
                factor[n + k, n + m] += implicit * (flex.damping[k, m] + implicit * flex.stiffness[k, m])
                bias[n + k] -= flex.damping[k, m] * zd[n + m]


@helper
def stiff_modes(flex: Flex, A: Array, rate: float, dt: float, limit: float) -> bool:
    """Whether decay rate, `rate` of the joints included, or frequency times `dt` may be above `limit`; A = J⁻¹."""
    n, squares = flex.packed.joints, 0.0
    for k in range(flex.stiffness.shape[0]):  # traces bound the largest decay rate and frequency
        for m in range(flex.stiffness.shape[0]):
            squares += flex.stiffness[k, m] * A[n + m, n + k]
            rate += flex.damping[k, m] * A[n + m, n + k]
    return rate * dt > limit or squares * dt * dt > limit * limit
