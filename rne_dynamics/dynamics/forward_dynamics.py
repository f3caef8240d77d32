"""Joint accelerations from efforts, by a choice of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

from numpy.typing import ArrayLike

from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.lagrange_engines import lagrange_forward
from rne_dynamics.dynamics.nasser import nasser_forward
from rne_dynamics.dynamics.newton_euler_dae import newton_euler_dae_forward
from rne_dynamics.dynamics.operator_form import operator_forward
from rne_dynamics.dynamics.walker_orin import walker_orin_columns_forward, walker_orin_forward
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

Method = Literal[
    "nasser", "walker_orin", "walker_orin_columns", "newton_euler_dae", "newton_euler_operator", "lagrange"
]

#: What each method computes from checked rows: (robot, base, q, qd, tau, wrenches) to accelerations (B, n).
FORWARD_ENGINES: Mapping[Method, Callable[[RobotModel, Array, Array, Array, Array, Array], Array]] = MappingProxyType(
    {
        "nasser": nasser_forward,
        "walker_orin": walker_orin_forward,
        "walker_orin_columns": walker_orin_columns_forward,
        "newton_euler_dae": newton_euler_dae_forward,
        "newton_euler_operator": operator_forward,
        "lagrange": lagrange_forward,
    }
)


def forward_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: Method = "nasser",
) -> Array:
    """Joint accelerations q̈ that the efforts `tau` give.

    Parameters
    ----------
    robot
        The model.
    q, qd, tau
        Positions (…, nq), velocities and efforts (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`.
    method
        ``"nasser"``: O(n), document 000. ``"walker_orin"``: mass matrix by composite rigid bodies, then Cholesky.
        ``"walker_orin_columns"``: the same with the mass matrix column by column from inverse dynamics.
        ``"newton_euler_dae"``: document 001, free bodies and all joint reactions in one sparse system; needs scipy.
        ``"newton_euler_operator"``: document 001, section 4.8, the same laws as block matrices, then Cholesky.
        ``"lagrange"``: document 004, W q̈ = P + V, O(n³), shares no dynamics with the others.

    Returns
    -------
    ndarray
        Accelerations, rad/s² or m/s², shape (…, n).

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, an unknown method.
    SingularInertiaError
        A joint that moves no inertia (massless links, no rotor); the message names it.
    ModelError
        An unknown link in `wrenches`.
    """
    if method not in FORWARD_ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(Method)))}")
    lead, (positions, velocities, efforts) = state_arrays(robot, q=q, qd=qd, tau=tau)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    qdd = FORWARD_ENGINES[method](robot, base, positions, velocities, efforts, loads)
    return qdd.reshape((*lead, robot.n))
