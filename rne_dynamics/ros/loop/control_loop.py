"""The control loop of a controller: the commands that it takes from the controller's own node.

The loop runs in a process of its own (`process`). Its only inputs from other nodes are the joint states, setpoints
and, where there are such topics, whether the drives act and how the base moves (`cycle`). Everything else comes
from the controller's own node in the other process, checked, one command at a time.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import INACTIVE, SILENT, STOPPING, Mode
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.loop.cycle import DEAD_RECKONING_PERIOD, LoopCycle, ReceiveLossy, Report
from rne_dynamics.ros.loop.hot_loop import STANDSTILL, LoopClock
from rne_dynamics.ros.loop.messages import Answer, Command, LoopNode, Present, Setup
from rne_dynamics.ros.messages.joint_states import StateReader
from rne_dynamics.ros.node.diagnostics import WARN, News, controller_status
from rne_dynamics.ros.node.process import apply_scheduling

#: Largest age of the check of a trajectory, s.
OLD_CHECK = 5.0
#: Silence of /clock after which a controller that needs it reports that, s.
CLOCK_SILENCE = 5.0
#: Commands that are methods of the `Supervisor`; those that take the present time first.
TIMED_COMMANDS = ("recover",)
SUPERVISOR_COMMANDS = (*TIMED_COMMANDS, "cancel", "hand_guide", "scale_speed", "adopt", "obstruct")


class ControlLoop:
    """One controller's loop. Its public methods are the commands that it takes, with `SUPERVISOR_COMMANDS`."""
    # `report` calls methods of the node; `settled`: once built, before the first state; `receive`: `Link.receive_lossy`

    def __init__(self, report: Report, settled: Callable[[], None], receive: ReceiveLossy) -> None:
        self._report, self._settled, self._receive = report, settled, receive
        self._node: LoopNode | None = None
        #: None while no robot is configured.
        self.cycle: LoopCycle | None = None

    @property
    def active_cycle(self) -> LoopCycle:
        """The cycle of a loop that is built."""
        assert self.cycle is not None
        return self.cycle

    @property
    def clock(self) -> LoopClock:
        """The clock of a loop that is built."""
        return self.active_cycle.clock

    # -- commands: its life -------------------------------------------------------------------------------------------

    def prepare(self, settings: Settings) -> None:
        """Compile or load what `build` will need, while the controller's own node does so too."""
        with contextlib.suppress(RneDynamicsError):  # `build` will report it
            Supervisor(settings).warm_up()

    def build(self, setup: Setup) -> None:
        """Do everything that can be done before the first state."""
        self.release()
        self.supervisor = Supervisor(setup.settings, self._entered)
        self.supervisor.warm_up()
        reader = StateReader(setup.settings.robot.joint_names, setup.others)
        self._news = News()
        self._node = LoopNode(setup)
        self.cycle = LoopCycle(setup, self._node, self.supervisor, reader, self._report, self._receive)
        for refusal in apply_scheduling(setup.values):
            self._report("log", "warning", refusal)
        self._settled()

    def release(self) -> None:
        """Drop the robot."""
        self.cycle = None
        if self._node is not None:
            self._node.destroy_node()
            self._node = None

    def has_discovered(self, publishers: dict[str, int], subscribers: dict[str, int]) -> bool:
        """Whether the loop has discovered at least so many publishers and subscribers of topics, by full name."""
        node = self._node
        assert node is not None
        return all(node.count_publishers(topic) >= count for topic, count in publishers.items()) and all(
            node.count_subscribers(topic) >= count for topic, count in subscribers.items()
        )

    def activate(self) -> None:
        """Wait for the first state; the arm is then held where it is."""
        self.active_cycle.restart()
        self.supervisor.activate(self.clock.now())

    # -- commands: the arm --------------------------------------------------------------------------------------------

    def stop(self, why: str, ending: bool = False) -> None:
        """As `Supervisor.stop`; `entered` reports its end, after the zeros of the release."""
        if ending:
            self.clock.patience = min(self.clock.patience, STANDSTILL)
        self.supervisor.stop(self.clock.now(), why, ending=ending)

    def hurry(self, why: str) -> None:
        """As `Supervisor.hurry`, also where simulated time stands still."""
        self.clock.hurry()
        self.supervisor.hurry(self.clock.now(), why)

    def present(self, start: int) -> Present:
        """The state for checking a trajectory that begins at the stamp `start`, ns, or now; refuses as `follow`."""
        supervisor = self.supervisor
        supervisor.ready()
        queue, stamp = supervisor.queue, supervisor.stamp
        return Present(
            stamp, self.clock.now(), queue.ahead(max(start, stamp)), *queue.path_rate(supervisor.machine.speed),
            supervisor.machine.torques.posture, supervisor.loop.delay,
        )

    def follow(self, number: int, motion: Motion, at_once: bool, checked_at: float) -> None:
        """Follow a trajectory that was `checked_at`, s of the clock; `ended` reports with its `number`."""
        age = self.clock.now() - checked_at  # simulated time, if it is used: in that the arm may have moved
        if age > OLD_CHECK:
            raise ControlError(f"its check took {age:.1f} s; at most {OLD_CHECK:g} s are allowed: send fewer points")
        if at_once:
            motion.start = self.supervisor.stamp
        self.supervisor.follow(motion, partial(self._report, "ended", number))

    def aim(self, target: Array, detour: Array | None) -> None:
        """As `PoseInput.aim`; `aimed` reports how the motion ended."""
        self.supervisor.poses.aim(target, detour, partial(self._report, "aimed"))

    def apply_wrench(self, wrench: Array, frame: str) -> str:
        """As `WrenchInput.take`."""
        return self.supervisor.wrenches.take(wrench, frame, self.clock.now())

    def tare(self) -> None:
        """As `ContactReaction.tare`; `tared` reports how one ended that could not be made at once."""
        self.supervisor.contact.tare(partial(self._report, "tared"))

    # -- commands: what is reported -----------------------------------------------------------------------------------

    def report(self) -> tuple[bytes, str, dict[str, object], int]:
        """Level, message and values for the diagnostics; simulated time, ns."""
        level, message, values = controller_status(self.supervisor, self._news)
        supervisor, clock = self.supervisor, self.clock
        if clock.silence > CLOCK_SILENCE and (not clock.started or supervisor.mode not in SILENT):
            level, message = WARN, (
                f"use_sim_time is set and nothing was received on /clock for {clock.silence:.0f} s: the controller "
                "waits; start or continue the simulation, or set use_sim_time to false"
            )
        return level, message, values | self.active_cycle.statistics.report(time.monotonic()), clock.stamp

    def others(self) -> dict[str, Measured]:
        """As `StateReader.others`."""
        return self.active_cycle.reader.others()

    # -- end ----------------------------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether nothing is sent any more."""
        return self.cycle is None or self.supervisor.mode is INACTIVE

    def rescue(self, why: str) -> None:
        """After an internal error: stop by dead reckoning if that still works, then send zeros. `why`: for the log."""
        if self.over:
            return
        ahead = self.clock.now() - time.monotonic()  # a simulated clock might stand still
        try:
            supervisor = self.supervisor
            supervisor.fail(time.monotonic() + ahead, why)
            while supervisor.mode is STOPPING:
                effort = supervisor.tick(time.monotonic() + ahead)
                if effort is not None:
                    self.active_cycle.publish(effort)
                time.sleep(DEAD_RECKONING_PERIOD)
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            text = f"the stop by dead reckoning fails too, efforts go to zero: {traceback.format_exc()}"
            self._report("log", "error", text)
            self.active_cycle.fade()
        self.active_cycle.release()

    # -- messages of other process ------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: object) -> Any:
        """The result of a command: a method of the loop, or one of `SUPERVISOR_COMMANDS`."""
        time_first = (self.clock.now(),) if name in TIMED_COMMANDS else ()
        return getattr(self.supervisor if name in SUPERVISOR_COMMANDS else self, name)(*time_first, *arguments)

    def execute(self, command: Command) -> Answer:
        """Execute a command."""
        try:
            return Answer(command.number, self.call(command.name, *command.arguments))
        except RneDynamicsError as error:
            return Answer(command.number, None, str(error))
        except Exception as error:  # noqa: BLE001 logged, and the arm is stopped
            return Answer(command.number, None, f"{type(error).__name__}: {error}", traceback.format_exc())

    def _entered(self, mode: Mode, cause: str) -> None:
        """Report that the supervisor has entered a mode, or has a cause to stay in it."""
        if mode is INACTIVE:
            self.clock.patience = math.inf
            self.active_cycle.release()
        self._report("entered", mode, cause, self.supervisor.gate.failed)
