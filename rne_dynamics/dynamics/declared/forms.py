"""The two compiled forms of a quantity: for one state of a robot packed in one array, and for a batch of states.

Each is written for one, two and three inputs: numba's functions of any number of arguments are slower. The generated
functions have the quantity's name and its kernel's module, by which their machine code is kept (`KernelCache`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import call
from rne_dynamics.compiling.jit import helper, inlined_kernel, routine, threaded_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.model import packed_arm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import (
    MIMIC,
    NO_INERTIA,
    OK,
    OVERLAPPING,
    WITH_OWN_CODE,
    WRONG_SHAPE,
    base_of,
    head_of,
    no_loads_of,
    own_code,
    parameters_of,
    refusal,
    refusal_of_position,
    shared,
    topology_of,
)
from rne_dynamics.straight_line.status import REFUSED

Compiled = Callable[..., Any]


@dataclass(frozen=True)
class Size:
    """A dimension that depends on the robot: `times` an attribute of the model, in `slot` of an array of `pack`."""

    attribute: str
    slot: int
    times: int = 1

    def __rmul__(self, times: int) -> Size:
        return replace(self, times=times * self.times)

    def of(self, robot: object) -> int:
        """The dimension for a robot."""
        return self.times * int(getattr(robot, self.attribute))


N = Size("n", int(packed_arm.COORDINATES))
NQ = Size("nq", int(packed_arm.POSITIONS))
BODIES = Size("bodies", int(packed_arm.BODIES))
#: The shape of an output for one state.
Shape = tuple[Size | int, ...]


class _Parts(NamedTuple):
    """What the forms are made of.

    Parameters
    ----------
    kernel
        ``kernel(arm, *inputs, out)`` for one state, where it can fail: −1, or the number of what moves no inertia.
    fails
        Whether it can.
    apart
        Whether the kernel takes its output as three parts.
    fits
        Whether an output has the shape for an array of `pack`.
    named
        Gives a function the quantity's name.
    own
        Its number in `WITH_OWN_CODE`, −1 for none.
    """

    kernel: Compiled
    fails: bool
    apart: bool
    fits: Compiled
    named: Callable[[Compiled], Compiled]
    own: int


def compiled_forms(
    name: str, kernel: Compiled, inputs: int, output: Shape, fails: bool, apart: bool
) -> tuple[Compiled, Compiled]:
    """The forms of a kernel for one state and for a batch.

    Parameters
    ----------
    name
        Of the quantity.
    kernel
        ``kernel(arm, *inputs, out)`` for one state, `arm` an `Arm`.
    inputs
        How many vectors it takes: positions, velocities, and a third of shape (n,).
    output
        Shape of `out`.
    fails
        Whether the kernel returns −1, or the number of what moves no inertia. Otherwise it returns nothing.
    apart
        Whether the kernel takes its output as three parts, of which `out` is an array (3, …); that of the batch form is
        (3, B, …). With three inputs only.

    Returns
    -------
    tuple
        ``packed(array, *inputs, out)`` returns `OK`, or why `out` is not filled.
        ``batch(topology, parameters, base, *inputs, wrenches, out)`` fills a row for each state and returns −1, or what
        the kernel returned; `base` and `wrenches` have one row for all states, or one for each.
    """

    def named(function: Compiled) -> Compiled:
        function.__module__ = kernel.__module__
        function.__qualname__ = function.__name__ = f"{name}_{function.__name__}"
        return function

    own = WITH_OWN_CODE.index(name) if name in WITH_OWN_CODE else -1
    return _FORMS[inputs](_Parts(kernel, fails, apart, helper(named(_fits(output))), named, own))


def _fits(output: Shape) -> Compiled:
    slots = tuple(k.slot if isinstance(k, Size) else -1 for k in output)
    factors = tuple(k.times if isinstance(k, Size) else k for k in output)

    def fits(arm: Array, out: Array) -> bool:
        for k in range(len(slots)):
            size = factors[k]
            if slots[k] >= 0:
                size *= head_of(arm, slots[k])
            if out.shape[k] != size:
                return False
        return True

    return fits


def _of_one(parts: _Parts) -> tuple[Compiled, Compiled]:
    kernel, _, _, fits, named, own = parts

    @routine
    @named
    def general(array: Array, q: Array, out: Array) -> None:
        arm = Arm(topology_of(array), parameters_of(array), base_of(array), no_loads_of(array))
        kernel(arm, q, out)

    def packed(array: Array, q: Array, out: Array) -> int:
        code = refusal_of_position(array, q)
        if code != OK:
            return code
        if not fits(array, out):
            return WRONG_SHAPE
        if shared(out, array, q, q, q):
            return OVERLAPPING
        address = own_code(array, own)
        if address != 0 and call(address, (q, out)) & REFUSED == 0:
            return OK
        general(array, q, out)
        return OK

    @helper
    @named
    def rows(arm: Arm, q: Array, out: Array) -> None:
        topology, parameters, base, wrenches = arm
        for b in range(q.shape[0]):
            kernel(Arm(topology, parameters, base[0], wrenches[0]), q[b], out[b])

    def batch(topology: NDArray[Any], parameters: Array, base: Array, q: Array, wrenches: Array, out: Array) -> int:
        rows(Arm(topology, parameters, base, wrenches), q, out)
        return -1

    return inlined_kernel(named(packed)), threaded_kernel(named(batch))


def _of_two(parts: _Parts) -> tuple[Compiled, Compiled]:
    kernel, _, _, fits, named, own = parts

    @routine
    @named
    def general(array: Array, q: Array, qd: Array, out: Array) -> None:
        arm = Arm(topology_of(array), parameters_of(array), base_of(array), no_loads_of(array))
        kernel(arm, q, qd, out)

    def packed(array: Array, q: Array, qd: Array, out: Array) -> int:
        code = refusal(array, q, qd, qd)
        if code != OK:
            return code
        if not fits(array, out):
            return WRONG_SHAPE
        if shared(out, array, q, qd, qd):
            return OVERLAPPING
        address = own_code(array, own)
        if address != 0 and call(address, (q, qd, out)) & REFUSED == 0:
            return OK
        general(array, q, qd, out)
        return OK

    @helper
    @named
    def rows(arm: Arm, q: Array, qd: Array, out: Array) -> None:
        topology, parameters, base, wrenches = arm
        for b in range(q.shape[0]):
            kernel(Arm(topology, parameters, base[0], wrenches[0]), q[b], qd[b], out[b])

    def batch(
        topology: NDArray[Any], parameters: Array, base: Array, q: Array, qd: Array, wrenches: Array, out: Array
    ) -> int:
        rows(Arm(topology, parameters, base, wrenches), q, qd, out)
        return -1

    return inlined_kernel(named(packed)), threaded_kernel(named(batch))


def _of_three(parts: _Parts) -> tuple[Compiled, Compiled]:
    kernel, fails, apart, fits, named, own = parts

    def succeeds(arm: Arm, q: Array, qd: Array, x: Array, out: Array) -> int:
        kernel(arm, q, qd, x, out)
        return -1

    one = kernel if fails else helper(named(succeeds))

    @routine
    @named
    def general(array: Array, q: Array, qd: Array, x: Array, out: Array) -> int:
        arm = Arm(topology_of(array), parameters_of(array), base_of(array), no_loads_of(array))
        if apart:
            return OK if one(arm, q, qd, x, (out[0], out[1], out[2])) < 0 else NO_INERTIA
        return OK if one(arm, q, qd, x, out) < 0 else NO_INERTIA

    def packed(array: Array, q: Array, qd: Array, x: Array, out: Array) -> int:
        code = refusal(array, q, qd, x)
        if code != OK:
            return code
        if not fits(array, out):
            return WRONG_SHAPE
        if shared(out, array, q, qd, x):
            return OVERLAPPING
        address = own_code(array, own)
        if address != 0 and call(address, (q, qd, x, out)) & REFUSED == 0:
            return OK
        return int(general(array, q, qd, x, out))

    @helper
    @named
    def rows(arm: Arm, q: Array, qd: Array, x: Array, out: Array) -> int:
        topology, parameters, base, wrenches = arm
        for b in range(q.shape[0]):
            base_now = base[b if base.shape[0] > 1 else 0]
            loads_now = wrenches[b if wrenches.shape[0] > 1 else 0]
            arm_now = Arm(topology, parameters, base_now, loads_now)
            if apart:  # known when it is compiled
                fault: int = one(arm_now, q[b], qd[b], x[b], (out[0, b], out[1, b], out[2, b]))
            else:
                fault = one(arm_now, q[b], qd[b], x[b], out[b])
            if fault >= 0:
                return fault
        return -1

    def batch(
        topology: NDArray[Any], parameters: Array, base: Array, q: Array, qd: Array, x: Array, wrenches: Array,
        out: Array,
    ) -> int:  # fmt: skip
        fault: int = rows(Arm(topology, parameters, base, wrenches), q, qd, x, out)
        return fault

    return inlined_kernel(named(packed)), threaded_kernel(named(batch))


def either_form(name: str, kernel: Compiled, plain: Compiled, mimic: Compiled) -> Compiled:
    """One form for one state of three inputs, of those for arms without and with mimic joints."""

    def packed(array: Array, q: Array, qd: Array, x: Array, out: Array) -> int:
        code = refusal_of_position(array, q)
        if code != OK:
            return code
        if head_of(array, MIMIC) != 0:
            return int(mimic(array, q, qd, x, out))
        return int(plain(array, q, qd, x, out))

    packed.__module__, packed.__qualname__ = kernel.__module__, f"{name}_either"
    return inlined_kernel(packed)


_FORMS = {1: _of_one, 2: _of_two, 3: _of_three}
