"""The dynamics of whatever machine is at hand: an open arm in its joint coordinates, a mechanism in its actuated ones.

These are the functions that the package's front shows. Each hands an open arm straight on to `dynamics/`, and a
mechanism to `closed_chain/`. Rooms that serve both kinds (control, simulation, commands) import them from here.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.forward_dynamics import ClosedMethod, closed_forward_dynamics
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse_dynamics
from rne_dynamics.closed_chain.mass_matrix import (
    closed_bias_torque,
    closed_gravity_torque,
    closed_kinetic_energy,
    closed_mass_matrix,
    closed_potential_energy,
)
from rne_dynamics.dynamics.composite.energy import center_of_mass as open_center_of_mass
from rne_dynamics.dynamics.composite.energy import kinetic_energy as open_kinetic_energy
from rne_dynamics.dynamics.composite.energy import potential_energy as open_potential_energy
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.composite.mass_matrix import Method as MassMethod
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix as open_mass_matrix
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics as open_forward_dynamics
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics as open_forward_kinematics
from rne_dynamics.dynamics.newton_euler.gravity import GRAVITY_TORQUE
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, INVERSE_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics as open_inverse_dynamics
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism


@INVERSE_DYNAMICS.public
def inverse_dynamics(
    robot: Machine,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Efforts that give the accelerations `qdd`: τ = M(q) q̈ + c(q, q̇) + g(q) − Jᵀ f.

    Parameters
    ----------
    robot
        An open arm, or a mechanism: then every joint vector, the result too, holds its actuated joints.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n); rad or m and their rates. Leading dimensions
        broadcast. For a floating joint the velocities are (linear, angular) in the moving frame's axes and
        `qdd` their time derivatives.
    wrenches
        External loads: link name to (force, moment), shape (…, 6), at the link frame's origin in link axes; N, N·m.
    base_motion
        Prescribed motion of the base; at rest by default. Not for floating bases.

    Returns
    -------
    ndarray
        Efforts, N·m or N, shape (…, n). Rotor inertia is included, joint friction is not.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    ModelError
        An unknown link in `wrenches`; of a mechanism, a loop that does not close there, or a singular posture.
    """
    if isinstance(robot, Mechanism):
        return closed_inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)
    return open_inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)


def forward_dynamics(
    robot: Machine,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: Method | ClosedMethod | None = None,
) -> Array:
    """Accelerations q̈ that the efforts `tau` give.

    Parameters
    ----------
    robot, q, qd, tau, wrenches, base_motion
        As for `inverse_dynamics`, `tau` being efforts (…, n).
    method
        Of an open arm: ``"nasser"``, the default, O(n), document 000. ``"walker_orin"``: mass matrix by composite rigid
        bodies, then Cholesky. ``"walker_orin_columns"``: the same with the mass matrix column by column from inverse
        dynamics. ``"newton_euler_dae"``: document 001, free bodies and all joint reactions in one sparse system; needs
        scipy. ``"newton_euler_operator"``: document 001, section 4.8, the same laws as block matrices, then Cholesky.
        ``"lagrange"``: document 004, W q̈ = P + V, O(n³), shares no dynamics with the others.
        Of a mechanism: ``"walker_orin"``, the default, as document 002 over the actuated coordinates;
        ``"constraint_forces"``: O(n) over the tree, with the forces at the cuts.

    Returns
    -------
    ndarray
        Accelerations, rad/s² or m/s², shape (…, n).

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, a method that there is not, or not for this kind of machine.
    SingularInertiaError
        A joint that moves no inertia (massless links, no rotor); the message names it.
    ModelError
        As for `inverse_dynamics`.
    """
    if method is None and wrenches is None and base_motion is None and not isinstance(robot, Mechanism):
        return open_forward_dynamics(robot, q, qd, tau)
    # a method of the other kind of machine is refused by the callee, which lists its own
    chosen: dict[str, Any] = {} if method is None else {"method": method}
    if isinstance(robot, Mechanism):
        return closed_forward_dynamics(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion, **chosen)
    return open_forward_dynamics(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion, **chosen)


@MASS_MATRIX.public
def mass_matrix(robot: Machine, q: ArrayLike, *, method: MassMethod = "composite") -> Array:
    """Joint-space mass matrix M(q), rotors included; shape (…, n, n).

    Parameters
    ----------
    robot, q
        As for `inverse_dynamics`.
    method
        ``"composite"``: composite rigid bodies; ``"columns"``: inverse dynamics, column by column.

    Raises
    ------
    ArgumentError, ModelError
        As for `inverse_dynamics`, and for an unknown method.
    """
    if isinstance(robot, Mechanism):
        return closed_mass_matrix(robot, q, method=method)
    return open_mass_matrix(robot, q, method=method)


@BIAS_TORQUE.public
def bias_torque(robot: Machine, q: ArrayLike, qd: ArrayLike) -> Array:
    """Coriolis, centrifugal and gravity efforts c(q, q̇) + g(q), N·m or N; shape (…, n).

    Parameters and errors as for `inverse_dynamics`.
    """
    return closed_bias_torque(robot, q, qd) if isinstance(robot, Mechanism) else BIAS_TORQUE.answer(robot, q, qd)


@GRAVITY_TORQUE.public
def gravity_torque(robot: Machine, q: ArrayLike) -> Array:
    """Efforts g(q) that hold the machine at rest, N·m or N; shape (…, n). Errors as for `inverse_dynamics`."""
    return closed_gravity_torque(robot, q) if isinstance(robot, Mechanism) else GRAVITY_TORQUE.answer(robot, q)


def kinetic_energy(robot: Machine, q: ArrayLike, qd: ArrayLike) -> Array:
    """Kinetic energy of links and rotors, J; shape (…). Parameters and errors as for `inverse_dynamics`."""
    if isinstance(robot, Mechanism):
        return closed_kinetic_energy(robot, q, qd)
    return open_kinetic_energy(robot, q, qd)


def potential_energy(robot: Machine, q: ArrayLike) -> Array:
    """Energy in the gravity field, J, zero where the mass centre is at the world's origin; shape (…).

    Its gradient is `gravity_torque`, whose parameters and errors it has.
    """
    if isinstance(robot, Mechanism):
        return closed_potential_energy(robot, q)
    return open_potential_energy(robot, q)


def center_of_mass(robot: Machine, q: ArrayLike) -> Array:
    """Mass centre of everything, the base included, in world axes, m; shape (…, 3).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        A robot without mass; of a mechanism, a loop that does not close there.
    """
    if isinstance(robot, Mechanism):
        return open_center_of_mass(robot.robot, assemble(robot, q))
    return open_center_of_mass(robot, q)


def forward_kinematics(robot: Machine, q: ArrayLike) -> LinkPoses:
    """Poses of all links in the world (for a fixed base: in the root link's frame).

    Parameters
    ----------
    robot
        An open arm, or a mechanism.
    q
        Positions, shape (…, nq); of a mechanism those of the actuated joints.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        Of a mechanism: a loop that does not close there.
    """
    if isinstance(robot, Mechanism):
        return open_forward_kinematics(robot.robot, assemble(robot, q))
    return open_forward_kinematics(robot, q)
