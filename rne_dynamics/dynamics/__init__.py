"""Layer 2: one algorithm a file, pure functions of (model, q, …)."""

from rne_dynamics.dynamics import compiled
from rne_dynamics.dynamics.base_motion import BaseMotion
from rne_dynamics.dynamics.bound import bind
from rne_dynamics.dynamics.configuration import integrate_configuration, random_configuration
from rne_dynamics.dynamics.coriolis import coriolis_matrix
from rne_dynamics.dynamics.energy import center_of_mass, kinetic_energy, potential_energy
from rne_dynamics.dynamics.forward_derivatives import ForwardDynamicsDerivatives, forward_dynamics_derivatives
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.gravity import gravity_torque
from rne_dynamics.dynamics.inverse_derivatives import InverseDynamicsDerivatives, inverse_dynamics_derivatives
from rne_dynamics.dynamics.jacobian import jacobian, jacobian_rate
from rne_dynamics.dynamics.joint_reactions import JointReactions, joint_reactions
from rne_dynamics.dynamics.kinematics import LinkPoses, forward_kinematics
from rne_dynamics.dynamics.lagrange import LagrangeTerms, lagrange_terms
from rne_dynamics.dynamics.mass_matrix import mass_matrix
from rne_dynamics.dynamics.momentum import Momentum, centroidal_momentum_matrix, momentum
from rne_dynamics.dynamics.newton_euler import bias_torque, inverse_dynamics
from rne_dynamics.dynamics.reduced_equations import ReducedEquations, reduced_equations
from rne_dynamics.dynamics.regressor import inertial_parameters, regressor

__all__ = [
    "BaseMotion",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "JointReactions",
    "LagrangeTerms",
    "LinkPoses",
    "Momentum",
    "ReducedEquations",
    "bias_torque",
    "bind",
    "center_of_mass",
    "centroidal_momentum_matrix",
    "compiled",
    "coriolis_matrix",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "friction_torque",
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
    "mass_matrix",
    "momentum",
    "potential_energy",
    "random_configuration",
    "reduced_equations",
    "regressor",
]
