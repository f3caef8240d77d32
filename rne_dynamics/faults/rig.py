"""One controller and the arm it believes to drive: what faults are injected with, and what is then looked at."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from numpy.typing import ArrayLike
from rcl_interfaces.msg import SetParametersResult
from rclpy.context import Context
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.faults.arm import COMPUTED_TORQUE, GATE, STOP, STOP_SLACK, Arm
from rne_dynamics.faults.controller import PATIENCE, START, Controller
from rne_dynamics.faults.driver import RATE, Driver
from rne_dynamics.faults.fault import Fault, ReactionError
from rne_dynamics.faults.judge import Heard, breaches
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.trajectory_message import duration_message

#: Until an arm that has just been activated is at rest, s.
SETTLE = 0.16
#: How far an arm that is held may be from where it was, and an arm in motion from its goal, rad.
HELD = 0.05
#: How near home, rad and rad/s, an arm that nothing has happened to is.
NEAR = 0.005
#: Bandwidth of the controller before the gate, 1/s.
FEED = 20.0
#: Longest time on the way of a large message, some parts of which are lost and sent again every 3 s, s.
LARGE = 120.0
_numbers = itertools.count()


class Rig:
    """One controller in a process and a namespace of its own, and the arm behind its topics.

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
    """

    def __init__(
        self, context: Context, arm: Arm, module: str, start: Mapping[str, Any], halted: Callable[[], bool]
    ) -> None:
        self._halted = halted
        self.arm, self.module = arm, module
        self.robot: RobotModel = arm.robot
        #: The mode in which the controller holds the arm, or lets it float.
        self.steady = {COMPUTED_TORQUE: "holding", GATE: "passing"}.get(module, "floating")
        self.node = rclpy.create_node("driver", namespace=f"/rne_faults{next(_numbers)}", context=context)
        self.driver = Driver(self.node, module, self.robot, np.array(arm.home))
        self.driver.watch, self.driver.on_mode = self._look, self._entered
        self.feed()
        self.trajectories = self.node.create_publisher(JointTrajectory, f"{module}/joint_trajectory", OFFERED)
        self.speeds = self.node.create_publisher(Float64, f"{module}/speed_scaling", OFFERED)
        self.controller = Controller(self.node, module, {**arm.parameters(module), **start}, self.turn)
        self._times: list[float] = []
        self._undisturbed = False
        self.mark()

    def close(self) -> None:
        """End the process and the node."""
        self.controller.close()
        self.node.destroy_node()

    # -- one fault after the other ------------------------------------------------------------------------------------

    def begin(self, fault: Fault) -> None:
        """The arm back home; the controller in the state in which the fault finds it."""
        usual = fault.before == "holding" and not fault.parameters and fault.plant is None
        if self._undisturbed and usual:
            self.driver.heard = self.driver.heard.last()
            self.mark()
            return
        if fault.before != "unconfigured":
            self.configure()
            self.rest()
            self.controller.set_back()
        if fault.parameters:
            answer = self.controller.set(fault.parameters)
            self.check(answer.successful, f"the parameters {dict(fault.parameters)} are refused: {answer.reason}")
        self.driver.restart(None if fault.plant is None else fault.plant(self.robot))
        self.feed()
        self.driver.heard = Heard()
        if fault.before == "holding":
            self.activate()
        self.mark()

    def feed(self) -> None:
        """From now on another controller, which is all right, holds the arm where it is through the gate."""
        if self.module != GATE:
            return
        place, driver, robot = self.driver.q, self.driver, self.robot

        def law() -> Array:
            wanted = FEED**2 * (place - driver.q) - 2.0 * FEED * driver.qd
            return inverse_dynamics(robot, driver.q, driver.qd, wanted)

        driver.feed = law

    def configure(self) -> None:
        """Configure the controller if it is not."""
        if self.controller.lifecycle_state() == "unconfigured":
            self.transition(Transition.TRANSITION_CONFIGURE, START)

    def end(self, fault: Fault) -> None:
        """Back to rest; `ReactionError` where the efforts have broken the promise, or one is left standing.

        A controller that holds the arm at home as if nothing had been goes on doing so for the next fault.
        """
        self.driver.restart_reports()
        home = np.abs(self.driver.q - self.driver.home).max() < NEAR and np.abs(self.driver.qd).max() < NEAR
        self._undisturbed = bool(
            home and not self.passed and not self._counted and fault.plant is None and not self.controller.changed
            and self.controller.state == self.steady
        )
        if self._undisturbed:
            found = self.broken()
        else:
            self.rest()
            found = self.broken()
            if self.driver.driven:
                found.append(f"the effort {self.driver.simulator.applied_effort.tolist()} is left standing")
        if found:
            raise ReactionError("; ".join(found))

    def rest(self) -> None:
        """Deactivate the controller if it is active."""
        self._undisturbed = False
        if self.controller.process.exit_code is None and self.controller.lifecycle_state() == "active":
            self.transition(Transition.TRANSITION_DEACTIVATE)
        self.run(2.0 / RATE)

    def broken(self) -> list[str]:
        """What of the promise the efforts that reached the topic have broken so far."""
        return breaches(self.driver.heard, self.arm.promise)

    # -- what is done to the controller -------------------------------------------------------------------------------

    def turn(self) -> None:
        """One period of the arm."""
        self._look()
        self.driver.turn()
        self.controller.listen()

    def _look(self) -> None:
        """Whether everything is to end, and whether there still is a controller to wait for."""
        if self._halted():
            raise ReactionError("stopped before its end")
        if self.controller.process.exit_code is not None:
            self.driver.unlink()

    def _entered(self, mode: str) -> None:
        """The controller has acknowledged something in this mode."""
        if mode != self.controller.state:
            self.controller.states.append(mode)
            self._times.append(self.driver.time)

    def run(self, seconds: float) -> None:
        """Let the arm's time pass."""
        for _ in range(round(seconds * RATE)):
            self.turn()

    def until(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Let the arm's time pass until a condition holds; `ReactionError` with `what` if it does not."""
        deadline = self.driver.time + seconds
        while not condition():
            if self.driver.time > deadline:
                raise ReactionError(f"waited {seconds:g} s for {what}; {self.story()}")
            self.turn()

    def wait(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait, while the arm's time stands still, for what the controller does whatever that time is."""
        deadline = time.monotonic() + seconds
        while not condition():
            self._look()
            self.controller.listen()
            if time.monotonic() > deadline:
                raise ReactionError(f"waited {seconds:g} s for {what}; {self.story()}")
            time.sleep(0.002)

    def kill(self) -> None:
        """End the controller's process by SIGKILL."""
        self.driver.unlink()
        self.controller.process.signal(signal.SIGKILL)
        self.controller.process.wait(PATIENCE)

    def freeze(self, seconds: float) -> None:
        """Let the arm's time pass while the controller's process is frozen."""
        self.driver.unlink()
        self.controller.process.signal(signal.SIGSTOP)
        self.run(seconds)

    def thaw(self) -> None:
        """Let a frozen controller go on."""
        self.controller.process.signal(signal.SIGCONT)
        self.driver.link(anew=False)

    def ended(self) -> None:
        """Let the arm's time pass until the controller's process ends."""
        self.until(lambda: self.controller.process.exit_code is not None, "the process to end")

    def activate(self) -> None:
        """Activate the controller and wait until it holds the arm still."""
        self.transition(Transition.TRANSITION_ACTIVATE)
        self.reach(self.steady)
        self.run(SETTLE)

    def transition(self, number: int, seconds: float = PATIENCE) -> None:
        """A lifecycle transition, which must not be refused."""
        if number == Transition.TRANSITION_CLEANUP:
            self.driver.unlink()
        done = self.controller.transition(
            number, seconds=seconds, still=number != Transition.TRANSITION_DEACTIVATE
        )
        self.check(done, f"transition {number} is refused in state {self.controller.lifecycle_state()!r}")
        if number == Transition.TRANSITION_CONFIGURE:
            self.wait(lambda: self.driver.publishers, "the controller's publisher")
            self.driver.link()

    def trigger(self, name: str) -> Trigger.Response:
        """Call one of the controller's Trigger services."""
        return self.controller.call(Trigger, name, Trigger.Request())

    def hand_guide(self, on: bool) -> SetBool.Response:
        """Ask for hand guiding, or for its end."""
        return self.controller.call(SetBool, "hand_guide", SetBool.Request(data=on))

    def change(self, **values: object) -> SetParametersResult:
        """Set parameters, ``__`` for a dot; before the next fault they are what they were."""
        return self.controller.set({name.replace("__", "."): value for name, value in values.items()})

    def speed(self, fraction: float) -> None:
        """Publish on ~/speed_scaling."""
        self.wait(self.speeds.get_subscription_count, "a listener of ~/speed_scaling")
        self.speeds.publish(Float64(data=fraction))
        self.settle()

    def send(self, message: JointTrajectory) -> bool:
        """Publish a trajectory, and wait until the controller has accepted or refused it; whether it was accepted."""
        self.wait(self.trajectories.get_subscription_count, "a listener of ~/joint_trajectory")
        before = self._verdicts()
        self.trajectories.publish(message)
        if not message.points:
            self.settle()
            return True
        self.wait(lambda: self._verdicts() != before, "the controller to accept or refuse the trajectory", LARGE)
        return self._verdicts()[0] > before[0]

    def _verdicts(self) -> tuple[int, int]:
        """How many trajectories the controller has accepted and refused, by its log."""
        log = self.controller.process.output()
        return log.count("following a trajectory of "), log.count("]: trajectory refused: ")

    def settle(self) -> None:
        """Wait until the controller has served what was published before: it answers a request that came later."""
        for _ in range(2):
            self.controller.lifecycle_state()

    def trajectory(self, to: ArrayLike | None = None, seconds: float | None = None) -> JointTrajectory:
        """A quintic from where the arm is, as far as its move goes or `to` another place, rad, (n,)."""
        start, seconds = self.driver.q, self.arm.seconds if seconds is None else seconds
        end = start + np.array(self.arm.far) if to is None else np.asarray(to, dtype=np.float64)
        move = Quintic(start, end, seconds)
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        message.points = [
            JointTrajectoryPoint(
                positions=there.q.tolist(), velocities=there.qd.tolist(), accelerations=there.qdd.tolist(),
                time_from_start=duration_message(t),
            )
            for t, there in ((t, move.sample(t)) for t in (0.0, seconds))
        ]
        return message

    def move(self, to: ArrayLike | None = None, seconds: float | None = None) -> Array:
        """Send the arm off; returns once it is in motion, with where it is to go, (n,)."""
        self.reach("holding")
        message = self.trajectory(to, seconds)
        self.check(self.send(message), "the motion that is to be disturbed is refused")
        self.reach("tracking", seconds=3.0)
        speed = 0.2 * float(np.abs(np.array(self.arm.far)).max()) / (seconds or self.arm.seconds)
        self.until(lambda: np.abs(self.driver.qd).max() > speed, "the arm to move")
        return np.array(message.points[-1].positions)

    # -- what is looked at --------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """From here on it counts: efforts, places, states."""
        self._first_effort = len(self.driver.heard)
        self._first_place = max(len(self.driver.way) - 1, 0)
        self._first_state = len(self.controller.states)
        self._place = self.driver.q
        self._counted = False

    def check(self, condition: object, what: str) -> None:
        """`ReactionError` with `what` was seen, unless the condition holds."""
        if not condition:
            raise ReactionError(f"{what}; {self.story()}")

    def story(self) -> str:
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
        return self.driver.heard.table(self._first_effort).reshape(-1, self.robot.n)

    def reach(self, *states: str, seconds: float = PATIENCE) -> None:
        """Wait until the controller is in one of these states."""
        self.until(lambda: self.controller.state in states, " or ".join(states), seconds)

    def held(self, within: float = HELD) -> None:
        """The controller holds the arm, and it has not left its place by more than `within`, rad."""
        self.check(self.controller.state == self.steady, "the arm is not held")
        strayed = self.strayed()
        self.check(strayed <= within, f"the arm has strayed by {strayed:.4f} rad; {within:g} is allowed")
        self.check(self.driver.driven, "no effort drives the arm")

    def undisturbed(self, within: float = HELD) -> None:
        """As `held`, and the state has not changed."""
        self.check(not self.passed, "the state has changed")
        self.held(within)

    def strayed(self) -> float:
        """Largest distance of any joint from its place at the mark, since then, rad."""
        return float(np.abs(np.array(self.driver.way[self._first_place:]) - self._place).max())

    def arrive(self, goal: Array, within: float = HELD, seconds: float = PATIENCE) -> None:
        """Wait until the motion is over; it must have led to its goal, (n,), without a stop."""
        self.reach("holding", seconds=seconds)
        self.check("stopping" not in self.passed, "the motion was stopped")
        self.until(
            lambda: np.abs(self.driver.q - goal).max() <= within and np.abs(self.driver.qd).max() <= within,
            f"the arm to be within {within:g} rad of its goal, where it is {self.driver.q - goal} away",
        )

    def stops(self, **times: float) -> None:
        """~/stop ends within its times, of which those that are not the campaign's are given, and `STOP_SLACK`."""
        answer, seconds = self.trigger("stop"), sum({**STOP, **times}.values())
        self.check(answer.success, f"~/stop is refused: {answer.message}")
        self.until(
            lambda: self.controller.state == "released", f"the end of a stop of {seconds:g} s", seconds + STOP_SLACK
        )
        self.silent()

    def await_release(self, state: str = "fault", seconds: float = PATIENCE) -> None:
        """Wait until the arm is released; it must have been held first, and the last effort be zero."""
        self.reach(state, seconds=seconds)
        self.check_released_by_end()

    def check_released_by_end(self) -> None:
        """The arm was stopped since the mark, held for `stop.hold_time` at least, and the last effort is zero."""
        self.run(0.1)
        self.check("stopping" in self.passed, "the arm was released without a stop")
        began = self._times[self._first_state + self.passed.index("stopping")]
        heard = self.driver.heard
        ended = max((t for t, effort in zip(heard.times, heard.efforts, strict=True) if any(effort)), default=began)
        self.check(ended - began > 0.8 * STOP["hold_time"], f"the arm was held for {ended - began:.3f} s")
        self.silent()

    def silent(self) -> None:
        """Nothing but zeros has come last, and nothing comes any more."""
        before = len(self.driver.heard)
        self.check(before and not any(self.driver.heard.efforts[-1]), "the last effort is not zero")
        self.run(0.1)
        self.check(not any(any(e) for e in self.driver.heard.efforts[before:]), "efforts still come")

    def recover(self, within: float = HELD) -> None:
        """~/recover leads back to an arm that is held where it is caught: released, it has fallen until then."""
        self.driver.restart_reports()
        answer = self.trigger("recover")
        self.check(answer.success, f"~/recover is refused: {answer.message}")
        self.reach(self.steady)
        self.until(lambda: np.abs(self.driver.qd).max() <= HELD, "the arm to be caught")
        self.mark()
        self.run(SETTLE)
        self.held(within)

    def count(self, key: str, at_least: int = 1) -> int:
        """A number of the diagnostics, once it is as large as it should be."""
        before, self._counted = self.controller.reports, True

        def number() -> int:
            return int(float(self.controller.report.get(key, 0)))

        try:
            self.wait(lambda: self.controller.reports > before and number() >= at_least, "", seconds=5.0)
        except RneDynamicsError:
            told = ", ".join(f"{k} {v}" for k, v in self.controller.report.items() if "refused" in k)
            raise ReactionError(
                f"the diagnostics count {number()} of {key!r}, not {at_least}: {told}; {self.story()}"
            ) from None
        return number()

    def refused(self, problem: str, at_least: int = 1) -> None:
        """The diagnostics count so many joint states refused for this reason."""
        self.count(f"refused: {problem}", at_least)
