"""Which delays of the efforts can be compensated. `prediction` does so, and is imported only where there is one."""

from __future__ import annotations

from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.thresholds import LONGEST_DELAY
from rne_dynamics.errors import ControlError


def check_delay(law: ControlLaw | None, delay: float) -> None:
    """`ControlError` where `delay`, s, cannot be compensated with a law; 0 always can."""
    if not 0.0 <= delay <= LONGEST_DELAY:
        raise ControlError(f"command_delay is {delay} s; it must lie between 0 and {LONGEST_DELAY:g}")
    if delay > 0.0 and law is not None and not isinstance(law, ComputedTorque):
        raise ControlError(
            f"command_delay is {delay:g} s, but delays are compensated with ComputedTorque only, and the law is "
            f"{type(law).__name__}. Set it to 0"
        )
    if delay > 0.0 and law is not None and law.robot.loops:
        raise ControlError(
            f"command_delay is {delay:g} s, but robot {law.robot.name!r} has closed loops: delays are "
            "compensated for open arms only. Set it to 0"
        )
