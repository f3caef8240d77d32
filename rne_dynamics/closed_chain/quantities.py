"""The quantities that open arms and mechanisms share, for mechanisms, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rne_dynamics.closed_chain.forward_dynamics import closed_forward_dynamics
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse_dynamics
from rne_dynamics.closed_chain.mass_matrix import closed_bias_torque, closed_gravity_torque, closed_mass_matrix
from rne_dynamics.model.inertia import Array

CLOSED_QUANTITIES: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "inverse_dynamics": closed_inverse_dynamics, "forward_dynamics": closed_forward_dynamics,
        "mass_matrix": closed_mass_matrix, "bias_torque": closed_bias_torque, "gravity_torque": closed_gravity_torque,
    }
)  # fmt: skip
