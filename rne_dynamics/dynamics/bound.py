"""One quantity of one robot as a function for loops: `bind`.

What a plain function does in every call is done here once: finding the kernel, compiling it, packing the robot. What is
left is one call of compiled code, which checks shapes and that the output is an array of its own. It does not look for
NaN and infinity, which go through to the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.compiled import pack
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.bound_forms import BoundParts, filled
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


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
    declared = QUANTITIES[quantity]
    options = {k: v for k, v in (("link", link), ("base_motion", base_motion)) if v is not None}
    for name in options:
        if name not in declared.options:
            raise ArgumentError(f"{name} is given, but {quantity!r} has no such option; leave it out")
    if "link" in declared.options and link is None:
        raise ArgumentError(f"{quantity!r} is that of a link; name it: link=robot.link_names[-1]")
    arm = pack(robot, base_motion=base_motion)
    function = declared.function(robot)
    function.prepare()
    call = function.call if link is None else _of_link(function.call, robot.link_index(link))

    def long_way(out: Array | None, *inputs: ArrayLike) -> Any:
        answer = declared.plain(robot, *inputs, **options)
        return answer if out is None else filled(np.asarray(answer), out, inputs)

    bound = declared.bound(BoundParts(call, arm, declared.shape(robot), long_way, robot))
    bound.__name__ = bound.__qualname__ = f"bound_{quantity}"
    return bound


def _of_link(call: Callable[..., Any], link: int) -> Callable[..., Any]:
    return lambda arm, *arrays: call(arm, link, *arrays)
