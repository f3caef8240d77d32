"""What faults are injected with: signals, services, parameters, trajectories and transitions of one controller."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from faults.arm import GATE, STOP, STOP_SLACK, Arm
from faults.controller import PATIENCE, START
from faults.driver import RATE
from faults.observer import HELD, Observer
from faults.reaction import ReactionError
from lifecycle_msgs.msg import Transition
from numpy.typing import ArrayLike
from rcl_interfaces.msg import SetParametersResult
from rclpy.context import Context
from rclpy.node import Node
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import sampled_message
from rne_dynamics.ros.sessions.processes import session_node

__all__ = ["HELD", "SETTLE", "Rig"]

#: Time until an arm that has just been activated is at rest, s.
SETTLE = 0.16
#: Time after which a frozen process is looked at, s.
FREEZE_STEP = 0.02
#: Bandwidth of the controller before the gate, 1/s.
FEED = 20.0
#: Longest delivery time of a large message, s: lost parts are sent again every 3 s, and its 100 500 points took 77 s on
#: two cores that 29 processes shared. The arm's time stands still meanwhile.
LARGE = 600.0
#: Time after which a new participant sends a trajectory again, s: where its parts are lost again and again, Fast DDS
#: 2.14 stops sending them, and says nothing. The next messages of the same participant may be lost too, of others not.
AGAIN = 100.0


class Rig(Observer):
    """A controller and its arm, with everything that a fault may do to them; parameters as for `Observer`."""

    def __init__(
        self, context: Context, arm: Arm, module: str, start: Mapping[str, Any], halted: Callable[[], bool],
        foreign: bool = False,
    ) -> None:
        super().__init__(context, arm, module, start, halted, foreign)
        self.trajectories = self._trajectories(self.node)
        self.speeds = self.node.create_publisher(Float64, f"{module}/speed_scaling", OFFERED)
        self.feed()

    def feed(self) -> None:
        """From now on a correct upstream controller holds the arm where it is, through the gate."""
        if self.module != GATE:
            return
        place, driver, robot = self.driver.q, self.driver, self.robot

        def law() -> Array:
            wanted = FEED**2 * (place - driver.q) - 2.0 * FEED * driver.qd
            return inverse_dynamics(robot, driver.q, driver.qd, wanted)

        driver.feed = law

    # -- lifecycle and process ----------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Configure the controller if it is not."""
        if self.controller.lifecycle_state() == "unconfigured":
            self.transition(Transition.TRANSITION_CONFIGURE, START)

    def rest(self) -> None:
        """Deactivate the controller if it is active."""
        if self.controller.process.exit_code is None and self.controller.lifecycle_state() == "active":
            self.transition(Transition.TRANSITION_DEACTIVATE)
        self.run(2.0 / RATE)

    def kill(self) -> None:
        """End the controller's process by SIGKILL."""
        self.driver.unlink()
        self.controller.process.signal(signal.SIGKILL)
        self.controller.process.wait(PATIENCE)

    def freeze(self, seconds: float) -> None:
        """Let the arm's time pass while the controller's process is frozen; from the start if another lets it go on."""
        self.driver.unlink()
        left = seconds
        while left > 0.0:
            if not self.controller.frozen:
                self.controller.process.signal(signal.SIGSTOP)
                self.wait(lambda: self.controller.frozen, "its process to freeze")
                left = seconds
            self.run(FREEZE_STEP)
            left -= FREEZE_STEP

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

    # -- requests and messages ----------------------------------------------------------------------------------------

    def trigger(self, name: str) -> Trigger.Response:
        """Call one of the controller's Trigger services."""
        return self.controller.call(Trigger, name, Trigger.Request())

    def hand_guide(self, on: bool) -> SetBool.Response:
        """Ask for hand guiding, or for its end."""
        return self.controller.call(SetBool, "hand_guide", SetBool.Request(data=on))

    def accepted(self, answer: Trigger.Response | SetBool.Response | SetParametersResult) -> None:
        """A request was not refused."""
        good, why = (
            (answer.successful, answer.reason) if isinstance(answer, SetParametersResult)
            else (answer.success, answer.message)
        )
        self.check(good, f"the request is refused: {why}")

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
        before = self._verdicts()
        self._publish(message, self.trajectories)
        if not message.points:
            self.settle()
            return True
        again_at = time.monotonic() + AGAIN
        with contextlib.ExitStack() as senders:

            def judged() -> bool:
                nonlocal again_at
                if time.monotonic() > again_at:
                    again_at += AGAIN
                    sender = senders.enter_context(session_node("sender", self.node.get_namespace()))
                    self._publish(message, self._trajectories(sender))
                return self._verdicts() != before

            self.wait(judged, "the controller to accept or refuse the trajectory", LARGE)
        return self._verdicts()[0] > before[0]

    def _trajectories(self, node: Node) -> Any:
        return node.create_publisher(JointTrajectory, f"{self.module}/joint_trajectory", OFFERED)

    def _publish(self, message: JointTrajectory, publisher: Any) -> None:
        self.wait(publisher.get_subscription_count, "a listener of ~/joint_trajectory")
        publisher.publish(message)

    @property
    def refusal(self) -> str:
        """Why the last trajectory was refused."""

        def said() -> str:
            return self.controller.process.output().rpartition("]: trajectory refused: ")[2]

        self.wait(lambda: "\n" in said(), "the end of a line of the log")
        return said().partition("\n")[0]

    @property
    def checking(self) -> bool:
        """Whether a trajectory is refused because the start-up check goes on."""
        return not self.send(self.trajectory()) and "check is not over" in self.refusal

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
        return sampled_message(self.robot.joint_names, Quintic(start, end, seconds), (0.0, seconds))

    def move(self, to: ArrayLike | None = None, seconds: float | None = None) -> Array:
        """Send the arm off; returns once it is in motion, with where it is to go, (n,)."""
        self.reach("holding")
        message = self.trajectory(to, seconds)
        if self.springs_back:  # friction may hold it farther from its place than constraints.start
            del message.points[0]
        if not self.send(message):
            raise ReactionError(f"the motion that is to be disturbed is refused: {self.refusal}")
        self.reach("tracking", seconds=3.0)
        speed = 0.2 * float(np.abs(np.array(self.arm.far)).max()) / (seconds or self.arm.seconds)
        self.until(lambda: np.abs(self.driver.qd).max() > speed, "the arm to move")
        return np.array(message.points[-1].positions)

    def stops(self, **times: float) -> None:
        """~/stop ends within its times, of which those that are not the campaign's are given, and `STOP_SLACK`."""
        self.accepted(self.trigger("stop"))
        seconds = sum({**STOP, **times}.values())
        self.until(
            lambda: self.controller.state == "released", f"the end of a stop of {seconds:g} s", seconds + STOP_SLACK
        )
        self.silent()

    def recover(self, within: float = HELD) -> None:
        """~/recover leads back to an arm that is held where it is caught: released, it has fallen until then."""
        self.driver.restart_reports()
        self.accepted(self.trigger("recover"))
        self.reach(self.steady)
        self.until(lambda: np.abs(self.driver.qd).max() <= HELD, "the arm to be caught")
        self.stays(SETTLE, within)
