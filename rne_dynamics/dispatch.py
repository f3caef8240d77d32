"""The dynamics of any rigid robot: of an open arm by `dynamics/`, of a mechanism with loops by `closed_chain/`.

The public API and the packages that serve both kinds (control, simulation, commands) import them from here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import Follower, assemble, assembled
from rne_dynamics.closed_chain.independence import as_mechanism
from rne_dynamics.closed_chain.inverse_dynamics import (
    CLOSED_QUANTITIES,
    ClosedMethod,
    closed_forward_dynamics,
    closed_inverse_dynamics,
    closed_kinetic_energy,
    closed_mass_matrix,
)
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.composite.mass_matrix import Method as MassMethod
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix as open_mass_matrix
from rne_dynamics.dynamics.composite.momentum import center_of_mass as open_center_of_mass
from rne_dynamics.dynamics.composite.momentum import kinetic_energy as open_kinetic_energy
from rne_dynamics.dynamics.composite.momentum import potential_energy as open_potential_energy
from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import Function, Quantity
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS, Method
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics as open_forward_dynamics
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics as open_forward_kinematics
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, GRAVITY_TORQUE, INVERSE_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics as open_inverse_dynamics
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel


def _first_call(quantity: Quantity, robot: object) -> Function:
    """The function of the vectors alone, kept with the robot."""
    if isinstance(robot, RobotModel):
        return quantity.of(robot)
    return partial(CLOSED_QUANTITIES[quantity.name], as_mechanism(robot))


@INVERSE_DYNAMICS.public
def inverse_dynamics(
    robot: RigidRobot,
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
    if wrenches is None and base_motion is None:
        try:
            call: Callable[..., Array] = robot.own_code["inverse_dynamics"]
        except (AttributeError, KeyError):
            call = _first_call(INVERSE_DYNAMICS, robot)
        return call(q, qd, qdd)
    if not isinstance(robot, RobotModel):
        return closed_inverse_dynamics(as_mechanism(robot), q, qd, qdd, wrenches=wrenches, base_motion=base_motion)
    return open_inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)


@FORWARD_DYNAMICS.public
def forward_dynamics(
    robot: RigidRobot,
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
        Of an open arm: ``"nasser"``, the default, O(n), document 000; for robots with mimic joints the same as
        ``"walker_orin"``: mass matrix by composite rigid bodies, then Cholesky. ``"walker_orin_columns"``: the same
        with the mass matrix column by column from inverse dynamics. ``"newton_euler_dae"``: document 001, free bodies
        and all joint reactions in one sparse system; needs scipy. ``"newton_euler_operator"``: document 001, section
        4.8, the same laws as block matrices, then Cholesky. ``"lagrange"``: document 004, W q̈ = P + V, O(n³), shares
        no dynamics with the others.
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
    if wrenches is None and base_motion is None and method is None:
        try:
            call: Callable[..., Array] = robot.own_code["forward_dynamics"]
        except (AttributeError, KeyError):
            call = _first_call(FORWARD_DYNAMICS, robot)
        return call(q, qd, tau)
    # a method of the other kind of robot is refused by the callee, which lists its own
    chosen: dict[str, Any] = {} if method is None else {"method": method}
    if not isinstance(robot, RobotModel):
        mechanism = as_mechanism(robot)
        return closed_forward_dynamics(mechanism, q, qd, tau, wrenches=wrenches, base_motion=base_motion, **chosen)
    return open_forward_dynamics(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion, **chosen)


@MASS_MATRIX.public
def mass_matrix(robot: RigidRobot, q: ArrayLike, *, method: MassMethod = "composite") -> Array:
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
    if method == "composite":
        try:
            call: Callable[..., Array] = robot.own_code["mass_matrix"]
        except (AttributeError, KeyError):
            call = _first_call(MASS_MATRIX, robot)
        return call(q)
    if not isinstance(robot, RobotModel):
        return closed_mass_matrix(as_mechanism(robot), q, method=method)
    return open_mass_matrix(robot, q, method=method)


@BIAS_TORQUE.public
def bias_torque(robot: RigidRobot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Coriolis, centrifugal and gravity efforts c(q, q̇) + g(q), N·m or N; shape (…, n).

    Parameters and errors as for `inverse_dynamics`.
    """
    try:
        call: Callable[..., Array] = robot.own_code["bias_torque"]
    except (AttributeError, KeyError):
        call = _first_call(BIAS_TORQUE, robot)
    return call(q, qd)


@GRAVITY_TORQUE.public
def gravity_torque(robot: RigidRobot, q: ArrayLike) -> Array:
    """Efforts g(q) that hold the machine at rest, N·m or N; shape (…, n). Errors as for `inverse_dynamics`."""
    try:
        call: Callable[..., Array] = robot.own_code["gravity_torque"]
    except (AttributeError, KeyError):
        call = _first_call(GRAVITY_TORQUE, robot)
    return call(q)


def kinetic_energy(robot: RigidRobot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Kinetic energy of links and rotors, J; shape (…). Parameters and errors as for `inverse_dynamics`."""
    if not isinstance(robot, RobotModel):
        return closed_kinetic_energy(as_mechanism(robot), q, qd)
    return open_kinetic_energy(robot, q, qd)


def potential_energy(robot: RigidRobot, q: ArrayLike) -> Array:
    """Energy in the gravity field, J, zero where the mass centre is at the world's origin; shape (…).

    Its gradient is `gravity_torque`, whose parameters and errors it has.
    """
    q = all_joints(robot, q)
    return open_potential_energy(robot.open_tree, q)


def center_of_mass(robot: RigidRobot, q: ArrayLike) -> Array:
    """Mass centre of everything, the base included, in world axes, m; shape (…, 3).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        A robot without mass; of a mechanism, a loop that does not close there.
    """
    q = all_joints(robot, q)
    return open_center_of_mass(robot.open_tree, q)


def forward_kinematics(robot: RigidRobot, q: ArrayLike) -> LinkPoses:
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
    if isinstance(robot, RobotModel):
        return open_forward_kinematics(robot, q)
    q = all_joints(robot, q)
    return open_forward_kinematics(robot.open_tree, q)


def all_joints(robot: RigidRobot, q: ArrayLike) -> ArrayLike:
    """Positions of all joints of `robot.open_tree`: `q` of an open arm, those of a mechanism with closed loops."""
    return q if isinstance(robot, RobotModel) else assemble(as_mechanism(robot), q)


def mechanism_of(robot: Robot) -> Mechanism | None:
    """The robot where it is a mechanism, otherwise `None`."""
    return robot if isinstance(robot, Mechanism) else None


@overload
def closed(robot: RigidRobot) -> RigidRobot: ...


@overload
def closed(robot: Robot) -> Robot: ...


def closed(robot: Robot) -> Robot:
    """The robot, a mechanism with the loops of its posture closed to round-off; `AssemblyError` where they do not."""
    return assembled(robot) if isinstance(robot, Mechanism) else robot


def follower(robot: RigidRobot, posture: ArrayLike | None = None) -> Follower | None:
    """What follows all joints of a mechanism from state to state; None for an open arm, whose states have them all."""
    return None if isinstance(robot, RobotModel) else Follower(as_mechanism(robot), posture)
