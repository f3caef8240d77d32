"""Joint accelerations from efforts, by a choice of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, in_place_kernel
from rne_dynamics.compiling.sealed import Sealed
from rne_dynamics.dynamics.articulated.nasser import WORK_COLUMNS as _NASSER_COLUMNS
from rne_dynamics.dynamics.articulated.nasser import nasser_forward, nasser_kernel
from rne_dynamics.dynamics.block_operators.operator_form import operator_forward
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.walker_orin import WORK_COLUMNS as _WALKER_ORIN_COLUMNS
from rne_dynamics.dynamics.composite.walker_orin import (
    walker_orin_columns_forward,
    walker_orin_forward,
    walker_orin_kernel,
)
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, quick, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.free_bodies.newton_euler_dae import newton_euler_dae_forward
from rne_dynamics.dynamics.lagrange.engines import lagrange_forward
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import (
    COORDINATES,
    MIMIC,
    NO_INERTIA,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    base_of,
    efforts_of,
    head_of,
    mass_of,
    no_loads_of,
    parameters_of,
    refusal,
    rest_of,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.robot import RobotModel

_work_of = work_part(max(_NASSER_COLUMNS, _WALKER_ORIN_COLUMNS))

Method = Literal[
    "nasser", "walker_orin", "walker_orin_columns", "newton_euler_dae", "newton_euler_operator", "lagrange"
]


def nasser_or_composite(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows by the default method.

    That is Nasser's recursion; for robots with mimic joints, which document 000 does not have, the mass matrix by
    composite bodies and Cholesky.

    Raises
    ------
    SingularInertiaError
        A joint that moves no inertia; the message names it.
    """
    forward = walker_orin_forward if robot.has_mimic else nasser_forward
    return forward(robot, base, q, qd, tau, wrenches)


#: What each method computes from checked rows: (robot, base, q, qd, tau, wrenches) to accelerations (B, n).
FORWARD_ENGINES: Mapping[Method, Callable[[RobotModel, Array, Array, Array, Array, Array], Array]] = MappingProxyType(
    {
        "nasser": nasser_or_composite,
        "walker_orin": walker_orin_forward,
        "walker_orin_columns": walker_orin_columns_forward,
        "newton_euler_dae": newton_euler_dae_forward,
        "newton_euler_operator": operator_forward,
        "lagrange": lagrange_forward,
    }
)


@helper
def _refusal(arm: Array, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    code = refusal(arm, q, qd, tau)
    if code != OK:
        return code
    if qdd.shape[0] != head_of(arm, COORDINATES):
        return WRONG_SHAPE
    return OVERLAPPING if shared(qdd, arm, q, qd, tau) else OK


@in_place_kernel
def nasser_packed(arm: Array, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """`forward_dynamics_packed` of an arm without mimic joints."""
    code = _refusal(arm, q, qd, tau, qdd)
    if code != OK:
        return code
    topology, parameters, work = topology_of(arm), parameters_of(arm), _work_of(arm)
    singular = nasser_kernel(topology, parameters, base_of(arm), q, qd, tau, no_loads_of(arm), work, qdd)
    return OK if singular < 0 else NO_INERTIA


@in_place_kernel
def composite_packed(arm: Array, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """`forward_dynamics_packed` of an arm with mimic joints."""
    code = _refusal(arm, q, qd, tau, qdd)
    if code != OK:
        return code
    topology, parameters, work, rest = topology_of(arm), parameters_of(arm), _work_of(arm), rest_of(arm)
    M, left, loads = mass_of(arm), efforts_of(arm), no_loads_of(arm)
    inertia_scale_kernel(topology, parameters, q, work, qdd)
    singular = walker_orin_kernel(topology, parameters, base_of(arm), q, qd, tau, loads, rest, work, M, left, qdd)
    return OK if singular < 0 else NO_INERTIA


@in_place_kernel
def forward_dynamics_packed(arm: Array, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Fill `qdd` (n,) for one state of a packed arm (`compiled`); `OK`, or why not."""
    code = refusal(arm, q, qd, tau)
    if code != OK:
        return code
    if head_of(arm, MIMIC) != 0:
        return composite_packed(arm, q, qd, tau, qdd)
    return nasser_packed(arm, q, qd, tau, qdd)


_NASSER, _COMPOSITE = Sealed(nasser_packed, 1, 1, 1, 1, 1), Sealed(composite_packed, 1, 1, 1, 1, 1)


def forward_function(robot: RobotModel) -> Sealed:
    """`forward_dynamics_packed` for Python: the half that this robot needs, since each takes seconds to compile."""
    return _COMPOSITE if robot.has_mimic else _NASSER


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
        ``"nasser"``: O(n), document 000; for robots with mimic joints the same as ``"walker_orin"``.
        ``"walker_orin"``: mass matrix by composite rigid bodies, then Cholesky.
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
    if method == "nasser" and wrenches is None and base_motion is None:
        qdd = np.empty(robot.n)
        if quick(forward_function(robot), robot.packed, q, qd, tau, qdd):
            return qdd
    if method not in FORWARD_ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(Method)))}")
    lead, (positions, velocities, efforts) = state_arrays(robot, q=q, qd=qd, tau=tau)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    qdd = FORWARD_ENGINES[method](robot, base, positions, velocities, efforts, loads)
    return qdd.reshape((*lead, robot.n))
