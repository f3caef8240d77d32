"""Arms with flexible links: the recursive Lagrangian equations of document 003, and what follows from them."""

from rne_dynamics.flexible.energy import (
    flexible_center_of_mass,
    flexible_forward_kinematics,
    flexible_kinetic_energy,
    flexible_potential_energy,
    tip_deflections,
)
from rne_dynamics.flexible.equations import (
    Accelerations,
    EquationsOfMotion,
    equations_of_motion,
    flexible_forward_dynamics,
)
from rne_dynamics.flexible.linearised import (
    JointEffort,
    Linearised,
    flexible_inverse_dynamics,
    linearised,
)
from rne_dynamics.flexible.static import QuasiStatic, quasi_static, static_deflection
from rne_dynamics.flexible.theory_range import BendingRangeWarning

__all__ = [
    "Accelerations",
    "BendingRangeWarning",
    "EquationsOfMotion",
    "JointEffort",
    "Linearised",
    "QuasiStatic",
    "equations_of_motion",
    "flexible_center_of_mass",
    "flexible_forward_dynamics",
    "flexible_forward_kinematics",
    "flexible_inverse_dynamics",
    "flexible_kinetic_energy",
    "flexible_potential_energy",
    "linearised",
    "quasi_static",
    "static_deflection",
    "tip_deflections",
]
