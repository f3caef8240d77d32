"""All quantities that are declared, by name.

`bind`, `c_function`, warm-up and benchmarks read this list, and a test compares the reference pages with it. A new
quantity is its own file and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.derivatives.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from rne_dynamics.dynamics.derivatives.inverse_derivatives import CORIOLIS_MATRIX, INVERSE_DYNAMICS_DERIVATIVES
from rne_dynamics.dynamics.derivatives.regressor import REGRESSOR
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.kinematics.jacobian import INTEGRATE_CONFIGURATION, JACOBIAN, JACOBIAN_RATE
from rne_dynamics.dynamics.kinematics.kinematics import FORWARD_KINEMATICS
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, GRAVITY_TORQUE, INVERSE_DYNAMICS

QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        quantity.name: quantity
        for quantity in (
            INVERSE_DYNAMICS, FORWARD_DYNAMICS, MASS_MATRIX, BIAS_TORQUE, GRAVITY_TORQUE, CORIOLIS_MATRIX, JACOBIAN,
            JACOBIAN_RATE, REGRESSOR, INVERSE_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES, FORWARD_KINEMATICS,
            INTEGRATE_CONFIGURATION,
        )
    }
)


def batched() -> dict[str, Quantity]:
    """Quantities that `bind` computes for batches."""
    others = FORWARD_KINEMATICS, FORWARD_DYNAMICS_DERIVATIVES
    return {k: v for k, v in QUANTITIES.items() if not v.of_link and v not in others}
