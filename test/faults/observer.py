"""One controller and the arm that it drives: simulated time passes, and the controller's reaction is checked."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rclpy
from faults.arm import COMPUTED_TORQUE, GATE, STOP, Arm
from faults.controller import PATIENCE, Controller
from faults.driver import RATE, Driver
from faults.effort_checks import violations
from faults.foreign import drift, sag
from faults.law_promise import keeps_place, law_of, learns, yields
from faults.reaction import ReactionError
from rclpy.context import Context

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: How far a held arm may be from where it was, and an arm in motion from its goal, rad.
HELD = 0.05
_numbers = itertools.count()


class Observer:
    """A controller in a process and a namespace of its own, and the arm behind its topics.

    Parameters
    ----------
    context
        Of the campaign's own nodes.
    arm, module
        The arm, and the controller's module.
    start
        Parameters of the controller, besides the campaign's.
    halted
        Whether everything is to end at once.
    foreign
        As for `Driver`.
    """

    def __init__(
        self, context: Context, arm: Arm, module: str, start: Mapping[str, Any], halted: Callable[[], bool],
        foreign: bool = False,
    ) -> None:
        self._halted = halted
        self.arm, self.module = arm, module
        self.robot: RobotModel = arm.robot
        #: The law of a controller that follows references.
        self.law_name = str(start.get("law", ""))
        self.law = law_of(self.law_name, arm.robot)
        #: The mode in which the controller holds the arm, or lets it float.
        self.steady = {COMPUTED_TORQUE: "holding", GATE: "passing"}.get(module, "floating")
        self.node = rclpy.create_node("driver", namespace=f"/rne_faults{os.getpid()}_{next(_numbers)}", context=context)
        home = np.array(arm.home)
        self.driver = Driver(self.node, module, self.robot, home, foreign=foreign)
        self.driver.watch, self.driver.on_mode = self._watch, self._entered
        self.controller = Controller(self.node, module, {**arm.parameters(module), **start}, self.turn)
        self._times: list[float] = []
        #: How far the arm may hang from where it is held, besides, rad; what its model lacks moves one that floats.
        self.slack = 0.0
        if foreign:
            held = module == COMPUTED_TORQUE
            self.slack = max(sag(self.law, q) for q in (home, home + np.array(arm.far))) if held else np.inf
        self.mark()

    def close(self) -> None:
        """End the process and the node."""
        self.controller.close()
        self.node.destroy_node()

    # -- time ---------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Advance the arm by one period."""
        self._watch()
        self.driver.turn()
        self.controller.listen()

    def _watch(self) -> None:
        """Raise if everything is to end; wait no more for a controller whose process has ended."""
        if self._halted():
            raise ReactionError("stopped before its end")
        if not self.controller.lives:
            self.driver.unlink()

    def _entered(self, mode: str) -> None:
        """The controller has acknowledged something in this mode."""
        if mode != self.controller.state:
            self.controller.states.append(mode)
            self._times.append(self.driver.time)

    def run(self, seconds: float) -> None:
        """Advance the arm's time by so many seconds."""
        for _ in range(round(seconds * RATE)):
            self.turn()

    def until(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Advance the arm's time until a condition holds; `ReactionError` with `what` if it does not."""
        deadline = self.driver.time + seconds
        while not condition():
            if self.driver.time > deadline:
                raise ReactionError(f"waited {seconds:g} s for {what}; {self.history()}")
            self.turn()

    def wait(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait, while the arm's time stands still, for what the controller does independently of that time."""
        deadline = time.monotonic() + seconds
        while not condition():
            self._watch()
            self.controller.listen()
            if time.monotonic() > deadline:
                raise ReactionError(f"waited {seconds:g} s for {what}; {self.history()}")
            time.sleep(0.002)

    # -- what has happened since the mark -----------------------------------------------------------------------------

    def mark(self) -> None:
        """Begin to observe efforts, positions and states anew."""
        self._first_effort = len(self.driver.log)
        self._first_position = max(len(self.driver.positions) - 1, 0)
        self._first_state = len(self.controller.states)
        self._position = self.driver.q
        #: Whether diagnostics were read since the mark.
        self.counted = False

    def history(self) -> str:
        """States since the mark, and the cause of the last."""
        states = " > ".join(self.controller.states[max(self._first_state - 1, 0):]) or "no state"
        cause = self.controller.report.get("cause", "")
        return f"states: {states}{f' ({cause})' if cause else ''}"

    @property
    def passed(self) -> list[str]:
        """States since the mark, without the one at the mark."""
        return self.controller.states[self._first_state:]

    @property
    def efforts(self) -> Array:
        """Efforts since the mark, (k, n)."""
        return self.driver.log.table(self._first_effort).reshape(-1, self.robot.n)

    def deviation(self) -> float:
        """Largest distance of any joint from its position at the mark, since then, rad."""
        return float(np.abs(np.array(self.driver.positions[self._first_position:]) - self._position).max())

    def yields(self, real: RobotModel) -> float:
        """How far an arm that is `real` may sink where it is held, rad: at least `HELD`."""
        return max(HELD, yields(self.law, self._position, real))

    @property
    def springs_back(self) -> bool:
        """Whether an arm that was displaced comes back to its place."""
        return self.module == COMPUTED_TORQUE and keeps_place(self.law)

    @property
    def learns(self) -> bool:
        """Whether the controller's law has learned what dragged in a motion."""
        return self.module == COMPUTED_TORQUE and learns(self.law, self._position)

    def drift(self) -> Array:
        """Speed to which the weight that its model lacks drives the arm where it floats, rad/s; (n,)."""
        floats = self.steady == "floating" and self.slack > 0.0
        return drift(self.robot, self.driver.q, self.arm.damping) if floats else np.zeros(self.robot.n)

    def violations(self) -> list[str]:
        """Violations of the effort limits so far, by the efforts that reached the topic."""
        return violations(self.driver.log, self.arm.promised)

    # -- checks: each raises `ReactionError` with what was observed ---------------------------------------------------

    def check(self, condition: object, what: str) -> None:
        """The condition holds; `what` was observed otherwise."""
        if not condition:
            raise ReactionError(f"{what}; {self.history()}")

    def reach(self, *states: str, seconds: float = PATIENCE) -> None:
        """Wait until the controller is in one of these states."""
        self.until(lambda: self.controller.state in states, " or ".join(states), seconds)

    def held(self, within: float = HELD) -> None:
        """The controller holds the arm, and it has moved by no more than `within`, rad, since the mark."""
        self.check(self.controller.state == self.steady, "the arm is not held")
        deviation, within = self.deviation(), within + self.slack
        self.check(deviation <= within, f"the arm has moved by {deviation:.4f} rad; {within:g} is allowed")
        self.check(self.driver.driven, "no effort drives the arm")

    def stays(self, seconds: float, within: float = HELD) -> None:
        """As `held`, for so many seconds from now."""
        self.mark()
        self.run(seconds)
        self.held(within)

    def undisturbed(self, within: float = HELD) -> None:
        """As `held`, and the state has not changed."""
        self.check(not self.passed, "the state has changed")
        self.held(within)

    def arrive(self, goal: Array, within: float = HELD, seconds: float = PATIENCE) -> None:
        """Wait until the motion is over; it must have reached its goal, (n,), without a stop."""
        self.reach("holding", seconds=seconds)
        self.check("stopping" not in self.passed, "the motion was stopped")
        within += self.slack
        self.until(
            lambda: np.abs(self.driver.q - goal).max() <= within and np.abs(self.driver.qd).max() <= within,
            f"the arm to be within {within:g} rad of its goal, where it is {self.driver.q - goal} away",
        )

    def await_release(self, state: str = "fault", seconds: float = PATIENCE) -> None:
        """Wait until the arm is released; it must have been held first, and the last effort be zero."""
        self.reach(state, seconds=seconds)
        self.check_released_by_end()

    def check_released_by_end(self) -> None:
        """The arm was stopped since the mark, held for `stop.hold_time` at least, and the last effort is zero."""
        self.run(0.1)
        self.check("stopping" in self.passed, "the arm was released without a stop")
        began = self._times[self._first_state + self.passed.index("stopping")]
        log = self.driver.log
        ended = max((t for t, effort in zip(log.times, log.efforts, strict=True) if any(effort)), default=began)
        self.check(ended - began > 0.8 * STOP["hold_time"], f"the arm was held for {ended - began:.3f} s")
        self.silent()

    def silent(self) -> None:
        """The last effort is zero, and no other one follows."""
        before = len(self.driver.log)
        self.check(before and not any(self.driver.log.efforts[-1]), "the last effort is not zero")
        self.run(0.1)
        self.check(not any(any(e) for e in self.driver.log.efforts[before:]), "efforts still come")

    def count(self, key: str, at_least: int = 1) -> int:
        """A number of the diagnostics, once it is at least so large."""
        before, self.counted = self.controller.reports, True

        def number() -> int:
            return int(float(self.controller.report.get(key, 0)))

        try:
            self.wait(lambda: self.controller.reports > before and number() >= at_least, "")
        except RneDynamicsError:
            refusals = ", ".join(f"{k} {v}" for k, v in self.controller.report.items() if "refused" in k)
            raise ReactionError(
                f"the diagnostics count {number()} of {key!r}, not {at_least}: {refusals}; {self.history()}"
            ) from None
        return number()

    def refused(self, problem: str, at_least: int = 1) -> None:
        """The diagnostics count so many joint states refused for this reason."""
        self.count(f"refused: {problem}", at_least)
