"""Robot arm dynamics by recursive Newton–Euler, control and simulation; ROS 2 nodes in `rne_dynamics.ros`.

>>> import rne_dynamics as rne
>>> robot = rne.load_urdf("puma560")
>>> rne.gravity_torque(robot, robot.neutral).shape
(6,)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time a name is imported when it is used
    from rne_dynamics.bound import bind
    from rne_dynamics.description.model_file import load_model
    from rne_dynamics.description.urdf import load_urdf
    from rne_dynamics.description.urdf_writer import to_urdf
    from rne_dynamics.dynamics import compiled
    from rne_dynamics.dynamics.composite.momentum import Momentum, centroidal_momentum_matrix, momentum
    from rne_dynamics.dynamics.declared.base_motion import BaseMotion
    from rne_dynamics.dynamics.derivatives.coriolis import coriolis_matrix
    from rne_dynamics.dynamics.derivatives.forward_derivatives import (
        ForwardDynamicsDerivatives,
        forward_dynamics_derivatives,
    )
    from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
        InverseDynamicsDerivatives,
        inverse_dynamics_derivatives,
    )
    from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters, regressor
    from rne_dynamics.dynamics.free_bodies.free_body import FreeBody, MomentumRate, free_body, momentum_rate
    from rne_dynamics.dynamics.free_bodies.reduced_equations import ReducedEquations, reduced_equations
    from rne_dynamics.dynamics.friction import friction_torque
    from rne_dynamics.dynamics.kinematics.configuration import integrate_configuration, random_configuration
    from rne_dynamics.dynamics.kinematics.jacobian import jacobian, jacobian_rate
    from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
    from rne_dynamics.dynamics.lagrange.lagrange import LagrangeTerms, lagrange_terms
    from rne_dynamics.dynamics.newton_euler.joint_reactions import JointReactions, joint_reactions
    from rne_dynamics.errors import RneDynamicsError
    from rne_dynamics.model.assembly import assemble, with_lock, with_payload
    from rne_dynamics.model.denavit_hartenberg import DHLink, from_dh
    from rne_dynamics.model.generalized_inertia import rotor_inertia
    from rne_dynamics.model.inertia import Inertia
    from rne_dynamics.model.robot import RobotModel
    from rne_dynamics.model.tree import Payload
    from rne_dynamics.plants import (
        bias_torque,
        center_of_mass,
        forward_dynamics,
        forward_kinematics,
        gravity_torque,
        inverse_dynamics,
        kinetic_energy,
        mass_matrix,
        potential_energy,
    )
    from rne_dynamics.simulation.rollouts.rollout import Rollout
    from rne_dynamics.simulation.rollouts.sweep import sweep
    from rne_dynamics.straight_line.batch import bind_batch

    __version__: str

#: Modules and the public names that they have: what a node or command does not use, it does not wait for.
_HOMES = {
    "rne_dynamics.description.model_file": "load_model",
    "rne_dynamics.description.urdf": "load_urdf",
    "rne_dynamics.description.urdf_writer": "to_urdf",
    "rne_dynamics.dynamics": "compiled",
    "rne_dynamics.dynamics.declared.base_motion": "BaseMotion",
    "rne_dynamics.bound": "bind",
    "rne_dynamics.dynamics.kinematics.configuration": "integrate_configuration random_configuration",
    "rne_dynamics.dynamics.derivatives.coriolis": "coriolis_matrix",
    "rne_dynamics.dynamics.derivatives.forward_derivatives": "ForwardDynamicsDerivatives forward_dynamics_derivatives",
    "rne_dynamics.dynamics.free_bodies.free_body": "FreeBody MomentumRate free_body momentum_rate",
    "rne_dynamics.dynamics.friction": "friction_torque",
    "rne_dynamics.dynamics.derivatives.inverse_derivatives": "InverseDynamicsDerivatives inverse_dynamics_derivatives",
    "rne_dynamics.dynamics.kinematics.jacobian": "jacobian jacobian_rate",
    "rne_dynamics.dynamics.newton_euler.joint_reactions": "JointReactions joint_reactions",
    "rne_dynamics.dynamics.kinematics.kinematics": "LinkPoses",
    "rne_dynamics.dynamics.lagrange.lagrange": "LagrangeTerms lagrange_terms",
    "rne_dynamics.dynamics.composite.momentum": "Momentum centroidal_momentum_matrix momentum",
    "rne_dynamics.dynamics.free_bodies.reduced_equations": "ReducedEquations reduced_equations",
    "rne_dynamics.dynamics.derivatives.regressor": "inertial_parameters regressor",
    "rne_dynamics.errors": "RneDynamicsError",
    "rne_dynamics.model.assembly": "assemble with_lock with_payload",
    "rne_dynamics.model.denavit_hartenberg": "DHLink from_dh",
    "rne_dynamics.model.generalized_inertia": "rotor_inertia",
    "rne_dynamics.model.inertia": "Inertia",
    "rne_dynamics.model.robot": "RobotModel",
    "rne_dynamics.model.tree": "Payload",
    "rne_dynamics.plants": (
        "bias_torque center_of_mass forward_dynamics forward_kinematics gravity_torque inverse_dynamics "
        "kinetic_energy mass_matrix potential_energy"
    ),
    "rne_dynamics.simulation.rollouts.rollout": "Rollout",
    "rne_dynamics.simulation.rollouts.sweep": "sweep",
    "rne_dynamics.straight_line.batch": "bind_batch",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "BaseMotion",
    "DHLink",
    "ForwardDynamicsDerivatives",
    "FreeBody",
    "Inertia",
    "InverseDynamicsDerivatives",
    "JointReactions",
    "LagrangeTerms",
    "LinkPoses",
    "Momentum",
    "MomentumRate",
    "Payload",
    "ReducedEquations",
    "RneDynamicsError",
    "RobotModel",
    "Rollout",
    "assemble",
    "bias_torque",
    "bind",
    "bind_batch",
    "center_of_mass",
    "centroidal_momentum_matrix",
    "compiled",
    "coriolis_matrix",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "free_body",
    "friction_torque",
    "from_dh",
    "gravity_torque",
    "inertial_parameters",
    "integrate_configuration",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "jacobian_rate",
    "joint_reactions",
    "kinetic_energy",
    "lagrange_terms",
    "load_model",
    "load_urdf",
    "mass_matrix",
    "momentum",
    "momentum_rate",
    "potential_energy",
    "random_configuration",
    "reduced_equations",
    "regressor",
    "rotor_inertia",
    "sweep",
    "to_urdf",
    "with_lock",
    "with_payload",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        version = globals()[name] = import_module("rne_dynamics.description.share").package_version()
        return version
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = globals()[name] = getattr(home, name) if hasattr(home, name) else import_module(f"{_HOME[name]}.{name}")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
