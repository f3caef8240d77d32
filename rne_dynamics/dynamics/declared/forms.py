"""The two compiled forms of a quantity: for one state of a robot, and for a batch of states.

They have the quantity's name and its kernel's module, by which their machine code is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rne_dynamics.compiling.jit import kernel as compiled
from rne_dynamics.compiling.jit import threaded_kernel
from rne_dynamics.dynamics.declared.arguments import all_finite
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.model.inertia import Array

Compiled = Callable[..., Any]


@dataclass(frozen=True)
class Size:
    """A dimension that depends on the robot: `times` an attribute of the model."""

    attribute: str
    times: int = 1

    def __rmul__(self, times: int) -> Size:
        return replace(self, times=times * self.times)

    def of(self, robot: object) -> int:
        """The dimension for a robot."""
        return self.times * int(getattr(robot, self.attribute))


N, NQ, BODIES = Size("n"), Size("nq"), Size("bodies")
#: The shape of an output for one state.
Shape = tuple[Size | int, ...]


def compiled_forms(name: str, kernel: Compiled, *, apart: bool) -> tuple[Compiled, Compiled]:
    """The forms of ``kernel(arm, *extra, *inputs, out)`` for one state and for a batch; of three parts if `apart`.

    The kernel returns nothing, or −1 or the number of what moves no inertia. ``one(arm, extra, checked, *inputs, out)``
    returns 0 where `out` is filled, if `checked` not for NaN and infinity; ``batch(arm, extra, *inputs, out)`` −1 or
    what the kernel returned, base and loads of `arm` with one row for all states, or one for each.
    """

    def named(function: Compiled) -> Compiled:
        function.__module__ = kernel.__module__
        function.__qualname__ = function.__name__ = f"{name.replace(' ', '_')}_{function.__name__}"
        return function

    def one(arm: Arm, extra: tuple[Any, ...], checked: bool, *given: Array) -> int:
        inputs, out = given[:-1], given[-1]
        if checked:
            for x in inputs:
                if not all_finite(x):
                    return 1
        fault = kernel(arm, *extra, *inputs, (out[0], out[1], out[2]) if apart else out)
        return 1 if fault is not None and fault >= 0 else 0

    def batch(arm: Arm, extra: tuple[Any, ...], *given: Array) -> int:
        topology, parameters, base, wrenches = arm
        inputs, out = given[:-1], given[-1]
        for b in range(out.shape[0]):
            base_now = base[b if base.shape[0] > 1 else 0]
            here = Arm(topology, parameters, base_now, wrenches[b if wrenches.shape[0] > 1 else 0])
            rows = [x[b] for x in inputs]
            fault = kernel(here, *extra, *rows, (out[b, 0], out[b, 1], out[b, 2]) if apart else out[b])
            if fault is not None and fault >= 0:
                return int(fault)
        return -1

    return compiled(named(one)), threaded_kernel(named(batch))
