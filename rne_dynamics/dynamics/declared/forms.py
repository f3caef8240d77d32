"""The two compiled forms of a quantity: for one state of a robot packed in one array, and for a batch of states.

They have the quantity's name and its kernel's module, by which their machine code is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import call
from rne_dynamics.compiling.jit import inlined_kernel, routine, threaded_kernel
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


def compiled_forms(
    name: str, kernel: Compiled, output: Shape, *, apart: bool
) -> tuple[Compiled, Compiled]:
    """The forms of a kernel for one state and for a batch.

    Parameters
    ----------
    name
        Of the quantity.
    kernel
        ``kernel(arm, *inputs, out)`` for one state, `arm` an `Arm`, `inputs` positions and vectors (n,). It returns
        nothing, or −1 or the number of what moves no inertia.
    output
        Shape of `out`.
    apart
        Whether the kernel takes its output as three parts, of which `out` is an array (3, …); that of the batch form is
        (3, B, …).

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
    fits = _fits(output)

    @routine
    @named
    def general(array: Array, *given: Array) -> int:
        inputs, out = given[:-1], given[-1]
        arm = Arm(topology_of(array), parameters_of(array), base_of(array), no_loads_of(array))
        fault = kernel(arm, *inputs, (out[0], out[1], out[2]) if apart else out)
        return NO_INERTIA if fault is not None and fault >= 0 else OK

    def packed(array: Array, *given: Array) -> int:
        inputs, out = given[:-1], given[-1]
        code = refusal(array, *inputs)
        if code != OK:
            return code
        if not fits(array, out):
            return WRONG_SHAPE
        if shared(out, array, *inputs):
            return OVERLAPPING
        address = own_code(array, own)
        if address != 0 and call(address, given) & REFUSED == 0:
            return OK
        return int(general(array, *given))

    def batch(topology: NDArray[Any], parameters: Array, base: Array, *given: Array) -> int:
        inputs, wrenches, out = given[:-2], given[-2], given[-1]
        for b in range(inputs[0].shape[0]):
            base_now = base[b if base.shape[0] > 1 else 0]
            loads_now = wrenches[b if wrenches.shape[0] > 1 else 0]
            arm = Arm(topology, parameters, base_now, loads_now)
            rows = [x[b] for x in inputs]
            fault = kernel(arm, *rows, (out[0, b], out[1, b], out[2, b]) if apart else out[b])
            if fault is not None and fault >= 0:
                return int(fault)
        return -1

    return inlined_kernel(named(packed)), threaded_kernel(named(batch))


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


def either_form(name: str, kernel: Compiled, plain: Compiled, mimic: Compiled) -> Compiled:
    """One form for one state of those for arms without and with mimic joints."""

    def packed(array: Array, q: Array, *given: Array) -> int:
        code = refusal(array, q)
        if code != OK:
            return code
        return int(mimic(array, q, *given) if head_of(array, MIMIC) != 0 else plain(array, q, *given))

    packed.__module__, packed.__qualname__ = kernel.__module__, f"{name}_either"
    return inlined_kernel(packed)

