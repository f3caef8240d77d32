"""One quantity of one robot of any kind as a function for loops or for batches: `bind`.

What a plain function does in every call is done here once: finding the kernel and compiling it. What is left is one
call of compiled code, which checks shapes and that the output is an array of its own. It does not look for NaN and
infinity, which go through to the answer. Machine code for the robot alone is compiled here however long it takes, and
kept on disk; plain functions use it if it is there or is compiled in about half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.inverse_dynamics import CLOSED_QUANTITIES
from rne_dynamics.closed_chain.specialised import WITH_CODE as CLOSED
from rne_dynamics.closed_chain.specialised import code_of
from rne_dynamics.dynamics.declared.arguments import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.quantity import Function, filled
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, check_loaded, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot

if TYPE_CHECKING:
    from rne_dynamics.bound_batch import BatchFunction, Engine
    from rne_dynamics.straight_line.state_code import StateCode


class Offer(NamedTuple):
    """A quantity of one robot."""

    #: Names of its vectors, and the options that it has: ``"base_motion"``, ``"link"``.
    inputs: tuple[str, ...]
    options: tuple[str, ...]
    #: Its checked function of the vectors.
    plain: Function
    #: Its machine code for a base at rest, None, or of a motion (12,); None where there is none.
    code: Callable[[Array | None], StateCode | None]
    #: ``general(base, otherwise, name=…, doc=…)``: ``f(*inputs, out=None)`` without machine code; by default `plain`.
    general: Callable[..., Function] = lambda _base, otherwise, **_: otherwise
    #: What makes the function for users of one that fills or makes the output as machine code has it.
    finished: Callable[[Function], Function] = lambda fill: fill


def offered(
    robot: Robot, quantity: str, asking: str, link: str | None, base_motion: BaseMotion | None
) -> tuple[Offer, Array | None]:
    """A quantity with these options, and the base's motion (12,), if any; raises as `bind`, for which is `asking`."""
    check_loaded(robot)
    kind, offers_of = _KINDS[robot.kind]
    offers = offers_of(robot, link or "")
    if not isinstance(quantity, str) or quantity not in offers:
        raise ArgumentError(unknown("quantity", quantity, offers, f"{asking} of {robot.name!r}, {kind},"))
    offer = offers[quantity]
    options = {k: v for k, v in (("link", link), ("base_motion", base_motion)) if v is not None}
    for name in options:
        if name not in offer.options:
            raise ArgumentError(f"{name} is given, but {quantity!r} has no such option; leave it out")
    if "link" in offer.options and link is None:
        raise ArgumentError(f"{quantity!r} is that of a link; name it: link=robot.link_names[-1]")
    base = None if base_motion is None else packed_base(robot.open_tree, base_motion, ())[0]
    return offer._replace(plain=partial(offer.plain, **options)), base


def _of_arm(robot: Any, link: str) -> dict[str, Offer]:
    return {
        name: Offer(
            x.inputs, x.options, partial(x.plain, robot), partial(x.code, robot, link),
            partial(x.general, robot, link=link), partial(x.finished, robot=robot),
        ) for name, x in QUANTITIES.items()
    }  # fmt: skip


def _of_mechanism(robot: Any, link: str) -> dict[str, Offer]:
    plain = {**CLOSED_QUANTITIES, "assemble": assemble}
    options = {name: quantity.options for name, quantity in QUANTITIES.items()}
    return {k: Offer(x.inputs, options.get(k, ()), partial(plain[k], robot), partial(code_of, robot, k))
            for k, x in CLOSED.items()}  # fmt: skip


def _of_flexible_arm(robot: Any, link: str) -> dict[str, Offer]:
    # beams take long to import
    from rne_dynamics.flexible.equations import joined_equations, joined_forward
    from rne_dynamics.flexible.linearised import joined_inverse
    from rne_dynamics.flexible.specialised import WITH_CODE, arm_code

    functions: tuple[Function, ...] = joined_equations, joined_inverse, joined_forward
    plain = dict(zip(WITH_CODE, functions, strict=True))
    return {
        k: Offer(inputs, ("base_motion",), partial(plain[k], robot), partial(arm_code, robot, k))
        for k, (_, inputs) in WITH_CODE.items()
    }


#: What each kind of robot is called, and its quantities by name.
_KINDS: Mapping[str, tuple[str, Callable[[Any, str], dict[str, Offer]]]] = MappingProxyType(
    {
        "arm": ("an open arm", _of_arm),
        "mechanism": ("a mechanism", _of_mechanism),
        "flexible": ("a flexible arm", _of_flexible_arm),
    }
)


@overload
def bind(
    robot: Robot, quantity: str, *, link: str | None = None, base_motion: BaseMotion | None = None
) -> Callable[..., Any]: ...


@overload
def bind(robot: Robot, quantity: str, *, batch: Engine, threads: int | None = None) -> BatchFunction: ...


def bind(
    robot: Robot,
    quantity: str,
    *,
    link: str | None = None,
    base_motion: BaseMotion | None = None,
    batch: Engine | None = None,
    threads: int | None = None,
) -> Callable[..., Any]:
    """A function that computes one quantity of one robot: of one state after the other in a loop, or of batches.

    Parameters
    ----------
    robot
        An open arm, a mechanism or an arm with flexible links. Loops of a mechanism are closed from its posture on in
        every call.
    quantity
        ``"inverse_dynamics"``, ``"forward_dynamics"``, ``"mass_matrix"``, ``"bias_torque"``, ``"gravity_torque"``,
        ``"coriolis_matrix"``, ``"jacobian"``, ``"jacobian_rate"``, ``"regressor"``,
        ``"inverse_dynamics_derivatives"``, ``"forward_dynamics_derivatives"``, ``"forward_kinematics"`` or
        ``"integrate_configuration"``; of a mechanism the first five and ``"assemble"``, the positions of all joints; of
        a flexible arm those of `c_function`, as arrays that it fills too.
    link
        Of the two Jacobians: whose.
    base_motion
        Of inverse and forward dynamics, their derivatives and the regressor: how the base moves in every call.
    batch
        For batches, checked, over all processors: how these are computed. ``"straight_line"``: the general kernel,
        written down once for this robot without loops, as vector instructions that take four or eight states at a time.
        Compiled in 0.1 to 2 s for a new robot, then kept on disk; answers differ from the general kernels' by
        round-off. ``"general"``: the ordinary kernels, which are also taken where the processor has no suitable
        vectors, and for robots without joints, with a joint that moves no inertia, or of more than about thirty to
        fifty links. Not for Jacobians, poses and the derivatives of forward dynamics; the base at rest.
    threads
        With `batch`: how many share a large batch; all processors that this process may use if not given. The answer
        does not depend on it.

    Returns
    -------
    callable
        ``f(q, qd, qdd, out=None)`` with the vectors of the plain function in its order. `out` is filled and returned: a
        C-contiguous float64 array of the answer's shape that shares no memory with an input; for the derivatives of
        shape (3, n, n), the answer's three arrays being its parts; for forward kinematics a `LinkPoses`. Made anew
        where it is left out. Quick for one state in C-contiguous writable float64 arrays; all else that the plain
        function takes, a list or a batch, goes its way and takes its time. NaN and infinity are not looked for. Threads
        may share the function.
        With `batch` a `BatchFunction`, q of shape (B, nq) and the others (B, n), to (B, …), of derivatives with an
        `out` of shape (B, 3, n, n); its attribute `engine` says which engine it has.

    Raises
    ------
    ArgumentError
        A quantity that this kind of robot does not have, a batch of a flexible arm, an unknown engine, an option
        that the quantity does not have or lacks, a number of threads that is not a positive integer; a base motion as
        for `inverse_dynamics`. The function itself raises what the plain one raises, and `ArgumentError` for an `out`
        that cannot be used.
    ModelError
        An unknown link.

    Examples
    --------
    >>> import numpy as np
    >>> import rne_dynamics as rne
    >>> robot = rne.load_urdf("puma560")
    >>> f = rne.bind(robot, "inverse_dynamics")
    >>> q, qd, qdd, tau = np.zeros((4, robot.n))
    >>> f(q, qd, qdd, out=tau) is tau
    True
    >>> f = rne.bind(robot, "gravity_torque", batch="straight_line")
    >>> f(np.zeros((1000, robot.n))).shape
    (1000, 6)
    """
    if batch is not None:
        if link is not None or base_motion is not None:
            raise ArgumentError("link or base_motion is given, but batches have no such option; leave it out")
        from rne_dynamics.bound_batch import bind_batch

        return bind_batch(cast("RigidRobot", robot), quantity, threads=threads, engine=batch)
    if threads is not None:
        raise ArgumentError(f"threads is {threads!r}, but one state has no threads; give batch='straight_line' too")
    offer, base = offered(robot, quantity, "bind", link, base_motion)

    def long_way(*given: Any, out: Array | None = None, **named: ArrayLike) -> Any:
        if len(given) == len(offer.inputs) + 1:
            given, out = given[:-1], given[-1]
        answer = offer.plain(*given, **named)
        if out is None or not isinstance(answer, (np.ndarray, tuple)):  # poses, which `finished` takes apart
            return answer
        return filled(np.asarray(answer), out, (*given, *named.values()))

    name, code = f"bound_{quantity}", offer.code(base)
    signature = f"{name}({', '.join(offer.inputs)}, out=None)\n--\n\n{quantity} of {robot.name}; see `bind`."
    if code is not None:
        return offer.finished(code.bound(name, signature, long_way))
    return offer.finished(offer.general(base, long_way, name=name, doc=signature))
