"""One quantity of one robot as a function for loops: `bind`.

What a plain function does in every call is done here once: finding the kernel, compiling it, packing the robot. What is
left is one call of compiled code, which checks shapes and that the output is an array of its own. It does not look for
NaN and infinity, which go through to the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed
from rne_dynamics.dynamics.compiled import pack
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX, mass_matrix
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.derivatives.coriolis import CORIOLIS_MATRIX, coriolis_matrix
from rne_dynamics.dynamics.derivatives.forward_derivatives import (
    DERIVATIVES_AT_ACCELERATION,
    ForwardDynamicsDerivatives,
    forward_dynamics_derivatives,
)
from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
    INVERSE_DERIVATIVES,
    InverseDynamicsDerivatives,
    inverse_dynamics_derivatives,
)
from rne_dynamics.dynamics.derivatives.regressor import PARAMETERS, REGRESSOR, regressor
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics, forward_function
from rne_dynamics.dynamics.kinematics.jacobian import JACOBIAN, JACOBIAN_RATE, jacobian, jacobian_rate
from rne_dynamics.dynamics.kinematics.kinematics import FORWARD_KINEMATICS, LinkPoses, forward_kinematics
from rne_dynamics.dynamics.newton_euler.gravity import GRAVITY_TORQUE, gravity_torque
from rne_dynamics.dynamics.newton_euler.newton_euler import BIAS_TORQUE, INVERSE_DYNAMICS, bias_torque, inverse_dynamics
from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import OK
from rne_dynamics.model.robot import RobotModel

#: What `bind` returns: (q, …, out=None) to the answer.
Bound = Callable[..., Any]


@dataclass(frozen=True)
class _Quantity:
    """How a quantity is computed.

    Parameters
    ----------
    plain
        The checked function.
    function
        The compiled one for a robot.
    make
        What puts a Python function around the compiled one.
    shape
        The shape of its output.
    options
        The options of `bind` that it has.
    """

    plain: Callable[..., Any]
    function: Callable[[RobotModel], Sealed]
    make: Callable[[_Parts], Bound]
    shape: Callable[[RobotModel], tuple[int, ...]]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Parts:
    """What a bound function closes over: the compiled function, its packed arm, its output's shape, the long way."""

    call: Callable[..., Any]
    arm: Array
    shape: tuple[int, ...]
    long_way: Callable[..., Any]
    robot: RobotModel


def bind(
    robot: RobotModel, quantity: str, *, link: str | None = None, base_motion: BaseMotion | None = None
) -> Callable[..., Any]:
    """A function for loops that computes one quantity of one robot.

    >>> import numpy as np
    >>> import rne_dynamics as rne
    >>> robot = rne.load_urdf("puma560")
    >>> f = rne.bind(robot, "inverse_dynamics")
    >>> q, qd, qdd, tau = np.zeros((4, robot.n))
    >>> f(q, qd, qdd, out=tau) is tau
    True

    Parameters
    ----------
    robot
        An open arm.
    quantity
        ``"inverse_dynamics"``, ``"forward_dynamics"``, ``"mass_matrix"``, ``"bias_torque"``, ``"gravity_torque"``,
        ``"coriolis_matrix"``, ``"jacobian"``, ``"jacobian_rate"``, ``"regressor"``,
        ``"inverse_dynamics_derivatives"``, ``"forward_dynamics_derivatives"`` or ``"forward_kinematics"``.
    link
        Of the two Jacobians: whose.
    base_motion
        Of inverse and forward dynamics, their derivatives and the regressor: how the base moves in every call.

    Returns
    -------
    callable
        ``f(q, qd, qdd, out=None)`` with the vectors of the plain function in its order. `out` is filled and returned: a
        C-contiguous float64 array of the answer's shape that shares no memory with an input; for the derivatives of
        shape (3, n, n), the answer's three arrays being its parts; for forward kinematics a `LinkPoses`. Made anew
        where it is left out. Quick for one state in C-contiguous writable float64 arrays; all else that the plain
        function takes, a list or a batch, goes its way and takes its time. NaN and infinity are not looked for. Threads
        may share the function: it holds the interpreter's lock while it uses its work memory.

    Raises
    ------
    ArgumentError
        Not an open arm, an unknown quantity, an option that the quantity does not have or lacks; a base motion as for
        `inverse_dynamics`. The function itself raises what the plain one raises, and `ArgumentError` for an `out` that
        cannot be used.
    ModelError
        An unknown link.
    """
    if quantity not in QUANTITIES:
        raise ArgumentError(unknown("quantity", quantity, QUANTITIES, "bind"))
    kind = QUANTITIES[quantity]
    options = {k: v for k, v in (("link", link), ("base_motion", base_motion)) if v is not None}
    for name in options:
        if name not in kind.options:
            raise ArgumentError(f"{name} is given, but {quantity!r} has no such option; leave it out")
    if "link" in kind.options and link is None:
        raise ArgumentError(f"{quantity!r} is that of a link; name it: link=robot.link_names[-1]")
    arm = pack(robot, base_motion=base_motion)
    function = kind.function(robot)
    function.prepare()
    call = function.call if link is None else _of_link(function.call, robot.link_index(link))
    shape = kind.shape(robot)

    def long_way(out: Array | None, *inputs: ArrayLike) -> Any:
        answer = kind.plain(robot, *inputs, **options)
        return answer if out is None else _put(np.asarray(answer), out, inputs)

    bound = kind.make(_Parts(call, arm, shape, long_way, robot))
    bound.__name__ = bound.__qualname__ = f"bound_{quantity}"
    return bound


def _of_link(call: Callable[..., Any], link: int) -> Callable[..., Any]:
    return lambda arm, *arrays: call(arm, link, *arrays)


def _put(answer: Array, out: Array, inputs: tuple[ArrayLike, ...]) -> Array:
    """`out`, filled with the answer.

    Raises
    ------
    ArgumentError
        An `out` that is no such array as `bind` wants.
    """
    if type(out) is not np.ndarray:
        raise ArgumentError(f"out is a {type(out).__name__}; it must be a NumPy array of shape {answer.shape}")
    if out.dtype != np.float64 or out.shape != answer.shape:
        raise ArgumentError(f"out is {out.dtype} of shape {out.shape}; it must be float64 of shape {answer.shape}")
    if not out.flags.writeable:
        raise ArgumentError("out is read-only; give an array that may be written to")
    if not out.flags.carray:
        raise ArgumentError("out is not C-contiguous; give an array as np.empty makes it")
    for k, value in enumerate(inputs):
        if isinstance(value, np.ndarray) and np.may_share_memory(out, value):
            raise ArgumentError(f"out shares memory with argument {k}, which would change under way; give another")
    out[...] = answer
    return out


def _of_one(parts: _Parts) -> Bound:
    call, arm, shape, long_way, empty = parts.call, parts.arm, parts.shape, parts.long_way, np.empty

    def bound(q: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q)
        return long_way(out, q)

    return bound


def _of_two(parts: _Parts) -> Bound:
    call, arm, shape, long_way, empty = parts.call, parts.arm, parts.shape, parts.long_way, np.empty

    def bound(q: Array, qd: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, qd, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q, qd)
        return long_way(out, q, qd)

    return bound


def _of_three(parts: _Parts) -> Bound:
    call, arm, shape, long_way, empty = parts.call, parts.arm, parts.shape, parts.long_way, np.empty

    def bound(q: Array, qd: Array, x: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, qd, x, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q, qd, x)
        return long_way(out, q, qd, x)

    return bound


def _parts_of(answer: Callable[[Array, Array, Array], Any]) -> Callable[[Array], Any]:
    """A function that makes an answer of an output's three parts, once for as long as the output is the same one.

    To take an array apart and name the parts takes as long as to compute them for a small arm.
    """
    known: tuple[Array | None, Any] = (None, None)  # in one, which threads replace as a whole

    def parts(out: Array) -> Any:
        nonlocal known
        kept, named = known
        if kept is not out:
            a, b, c = out
            named = answer(a, b, c)
            known = out, named
        return named

    return parts


def _inverse_derivatives(parts: _Parts) -> Bound:
    fill, known = _of_three(parts), _parts_of(InverseDynamicsDerivatives)

    def bound(q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Any:
        if out is None:
            return InverseDynamicsDerivatives(*fill(q, qd, qdd))
        return known(fill(q, qd, qdd, out))

    return bound


def _forward_derivatives(parts: _Parts) -> Bound:
    forward, arm, shape, long_way, empty = parts.call, parts.arm, parts.shape, parts.long_way, np.empty
    DERIVATIVES_AT_ACCELERATION.prepare()
    derive, known, n = DERIVATIVES_AT_ACCELERATION.call, _parts_of(ForwardDynamicsDerivatives), shape[1]

    def bound(q: Array, qd: Array, tau: Array, out: Array | None = None) -> Any:
        into, qdd = empty(shape) if out is None else out, empty(n)
        try:
            done = forward(arm, q, qd, tau, qdd) == OK and derive(arm, q, qd, qdd, into) == OK
        except ODD_ARGUMENTS:
            done = False
        if not done:
            into = long_way(out, q, qd, tau)
        return ForwardDynamicsDerivatives(*into) if out is None else known(into)

    return bound


def _poses(parts: _Parts) -> Bound:
    call, arm, robot = parts.call, parts.arm, parts.robot
    links = parts.shape[0]

    def bound(q: Array, out: LinkPoses | None = None) -> LinkPoses:
        into = LinkPoses(robot, np.empty((links, 3, 3)), np.empty((links, 3))) if out is None else out
        if not isinstance(into, LinkPoses):
            raise ArgumentError(f"out is a {type(out).__name__}; it must be a LinkPoses that this function has made")
        try:
            done = call(arm, q, into.rotation, into.position) == OK
        except ODD_ARGUMENTS:  # as above
            done = False
        if done:
            return into
        answer = forward_kinematics(robot, q)
        if out is None:
            return answer
        _put(answer.rotation, out.rotation, (q,))
        _put(answer.position, out.position, (q, out.rotation))
        return out

    return bound


def _vector(robot: RobotModel) -> tuple[int, ...]:
    return (robot.n,)


def _square(robot: RobotModel) -> tuple[int, ...]:
    return (robot.n, robot.n)


def _squares(robot: RobotModel) -> tuple[int, ...]:
    return (3, robot.n, robot.n)


def _six_rows(robot: RobotModel) -> tuple[int, ...]:
    return (6, robot.n)


def _columns_of_parameters(robot: RobotModel) -> tuple[int, ...]:
    return (robot.n, PARAMETERS * robot.bodies)


def _links(robot: RobotModel) -> tuple[int, ...]:
    return (len(robot.links),)


_MOVING = ("base_motion",)
#: What `bind` computes.
QUANTITIES: Mapping[str, _Quantity] = MappingProxyType(
    {
        "inverse_dynamics": _Quantity(inverse_dynamics, INVERSE_DYNAMICS.function, _of_three, _vector, _MOVING),
        "forward_dynamics": _Quantity(forward_dynamics, forward_function, _of_three, _vector, _MOVING),
        "mass_matrix": _Quantity(mass_matrix, MASS_MATRIX.function, _of_one, _square),
        "bias_torque": _Quantity(bias_torque, BIAS_TORQUE.function, _of_two, _vector),
        "gravity_torque": _Quantity(gravity_torque, GRAVITY_TORQUE.function, _of_one, _vector),
        "coriolis_matrix": _Quantity(coriolis_matrix, lambda _: CORIOLIS_MATRIX, _of_two, _square),
        "jacobian": _Quantity(jacobian, lambda _: JACOBIAN, _of_one, _six_rows, ("link",)),
        "jacobian_rate": _Quantity(jacobian_rate, lambda _: JACOBIAN_RATE, _of_two, _six_rows, ("link",)),
        "regressor": _Quantity(regressor, lambda _: REGRESSOR, _of_three, _columns_of_parameters, _MOVING),
        "inverse_dynamics_derivatives": _Quantity(
            inverse_dynamics_derivatives, lambda _: INVERSE_DERIVATIVES, _inverse_derivatives, _squares, _MOVING
        ),
        "forward_dynamics_derivatives": _Quantity(
            forward_dynamics_derivatives, forward_function, _forward_derivatives, _squares, _MOVING
        ),
        "forward_kinematics": _Quantity(forward_kinematics, lambda _: FORWARD_KINEMATICS, _poses, _links),
    }
)
