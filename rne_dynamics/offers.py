"""The quantities of a robot of any kind that `bind` and `c_function` make functions of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.quantities import CLOSED_QUANTITIES
from rne_dynamics.closed_chain.specialised import WITH_CODE as CLOSED
from rne_dynamics.closed_chain.specialised import code_of
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.quantity import Function
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, check_loaded, unknown
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

if TYPE_CHECKING:  # with LLVM
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
    #: ``general(base, otherwise, name=…, doc=…)``: ``f(*inputs, out=None)`` without machine code.
    general: Callable[..., Function]
    #: What makes the function for users of one that fills or makes the output as machine code has it.
    finished: Callable[[Function], Function]


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
    return {k: _only_coded(x.inputs, options.get(k, ()), partial(plain[k], robot), partial(code_of, robot, k))
            for k, x in CLOSED.items()}  # fmt: skip


def _of_flexible_arm(robot: Any, link: str) -> dict[str, Offer]:
    from rne_dynamics.flexible.specialised import WITH_CODE, arm_code, joined_answer  # beams take long to import

    return {
        k: _only_coded(inputs, ("base_motion",), partial(joined_answer, robot, k), partial(arm_code, robot, k))
        for k, (_, inputs) in WITH_CODE.items()
    }


def _only_coded(inputs: tuple[str, ...], options: tuple[str, ...], plain: Function, code: Any) -> Offer:
    """A quantity that is computed by its checked function where there is no machine code."""
    return Offer(inputs, options, plain, code, lambda _base, otherwise, **_: otherwise, lambda fill: fill)


#: What each kind of robot is called, and its quantities by name.
_KINDS: Mapping[str, tuple[str, Callable[[Any, str], dict[str, Offer]]]] = MappingProxyType(
    {
        "arm": ("an open arm", _of_arm),
        "mechanism": ("a mechanism", _of_mechanism),
        "flexible": ("a flexible arm", _of_flexible_arm),
    }
)
