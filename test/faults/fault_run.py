"""One fault after the other on the same controller: the state in which a fault finds it, and the checks at its end."""

from __future__ import annotations

import numpy as np
from faults.driver import honest
from faults.effort_checks import EffortLog
from faults.fault import Fault
from faults.reaction import ReactionError
from faults.rig import Rig

#: How near home, rad and rad/s, an arm is after a fault without effect.
NEAR = 0.005
#: Time in which the controller sees that reports are true again, s: a clock that jumps back cancels a motion.
CORRECTED = 0.05


class FaultRun:
    """Prepares a controller and its arm for each fault, and checks the efforts after it.

    Parameters
    ----------
    rig
        The controller and its arm.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._unchanged = False  # whether the last fault has left the arm held at home, as the next one expects it

    @property
    def group(self) -> tuple[str, str, str]:
        """Names of the arm, of the controller and of its law."""
        return self.rig.arm.name, self.rig.module, self.rig.law_name

    def begin(self, fault: Fault) -> None:
        """The arm back home; the controller in the state in which the fault finds it."""
        rig = self.rig
        usual = fault.before == "holding" and not fault.parameters and fault.plant is None
        if self._unchanged and usual:
            rig.driver.log = rig.driver.log.last()
            rig.mark()
            return
        if fault.before != "unconfigured":
            rig.configure()
            rig.rest()
            rig.controller.set_back()
        if fault.parameters:
            rig.accepted(rig.controller.set(fault.parameters))
        rig.driver.restart(None if fault.plant is None else fault.plant(rig.robot))
        rig.feed()
        rig.driver.log = EffortLog()
        if fault.before == "holding":
            rig.activate()
        rig.mark()

    def end(self, fault: Fault) -> None:
        """Back to rest; `ReactionError` where efforts violated their limits, or the last one is not zero.

        A controller that still holds the arm at home, unchanged, goes on doing so for the next fault.
        """
        rig = self.rig
        falsified = rig.driver.falsify is not honest
        rig.driver.restart_reports()
        if falsified and rig.controller.lives and rig.controller.state == rig.steady:
            rig.run(CORRECTED)
        home = np.abs(rig.driver.q - rig.driver.home).max() < NEAR and np.abs(rig.driver.qd).max() < NEAR
        self._unchanged = bool(
            home and not rig.passed and not rig.counted and fault.plant is None and not rig.controller.changed
            and rig.controller.state == rig.steady
        )
        if self._unchanged:
            found = rig.violations()
        else:
            rig.rest()
            found = rig.violations()
            if rig.driver.driven:
                found.append(f"the effort {rig.driver.simulator.applied_effort.tolist()} is still applied")
        if found:
            raise ReactionError("; ".join(found))
