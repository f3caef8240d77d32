"""The control loop in a process of its own, forked before ROS and its threads exist.

Messages of other nodes (trajectories, goals, parameters, services) are received and turned into Python objects by the
controller's own node, in the process that users start. That blocks this process's interpreter, not the loop: see
docs/control_loop.md.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import rclpy
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.ros.loop.control_loop import ControlLoop
from rne_dynamics.ros.loop.cycle import NUMBER
from rne_dynamics.ros.loop.messages import Answer, Command, Link, LinkClosedError
from rne_dynamics.ros.node.process import import_shared, settle

#: Period at which the loop takes a command, s: none is urgent, and a storm of them must not delay efforts.
POLL_PERIOD = 0.004
#: Longest wait for a command while no robot is configured, s.
IDLE = 0.05
#: Messages that are kept for a node that does not read.
MESSAGES_KEPT = 1000
#: Time beyond its plan after which a stop without the controller's own node is brought to zero at once, s.
ALONE_OVERTIME = 1.0


class _Outbox:
    """Queue of messages to the other process; never blocks."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._kept: deque[object] = deque(maxlen=MESSAGES_KEPT)

    def report(self, name: str, *arguments: object, droppable: bool = False) -> None:
        """Have the node's method `name` called."""
        self.send(Command(0, name, arguments), droppable)

    def send(self, message: object, droppable: bool = False) -> None:
        """Send it now, or keep it unless it is `droppable`."""
        self.flush()
        try:
            if (self._kept or not self._link.send(message, block=False)) and not droppable:
                self._kept.append(message)
        except LinkClosedError:  # handled where commands are received
            self._kept.clear()

    def flush(self) -> None:
        """Send the messages kept, as far as they fit."""
        try:
            while self._kept and self._link.send(self._kept[0], block=False):
                self._kept.popleft()
        except LinkClosedError:
            self._kept.clear()


def serve(link: Link, arguments: Sequence[str] | None) -> int:
    """Run the loop until the other end closes the link; the exit code."""
    outbox = _Outbox(link)
    loop = ControlLoop(outbox.report, settle, link.receive_lossy)
    alone_since: float | None = None  # when the end of the controller's own node was found
    poll_at = 0.0
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        while alone_since is None or not loop.over:
            if loop.cycle is None:
                link.wait(IDLE)
            else:
                loop.cycle.turn()
            now = time.monotonic()
            if now < poll_at:
                continue
            poll_at = now + POLL_PERIOD
            if alone_since is not None:
                _end_alone(loop, now - alone_since)
                continue
            outbox.flush()
            try:
                command = link.receive()
            except LinkClosedError:
                alone_since = now
                continue
            if command is not None and not _execute(loop, command, outbox):
                return 1
        return 0
    except Exception:  # noqa: BLE001 logged, and the arm is stopped
        outbox.report("log", "error", f"an internal error in the control loop: {traceback.format_exc()}")
        loop.rescue("an error in the control loop")
        return 1
    finally:
        loop.release()
        rclpy.try_shutdown()


def _execute(loop: ControlLoop, command: Command, outbox: _Outbox) -> bool:
    """Execute a command; False after an internal error, and the arm is released."""
    value, refusal, failed = None, "", False
    try:
        value = loop.call(command.name, *command.arguments)
    except RneDynamicsError as error:
        refusal = str(error)
        if not command.number:
            outbox.report("log", "error", f"{command.name} is refused: {refusal}")
    except Exception as error:  # noqa: BLE001 logged, and the arm is stopped
        refusal, failed = f"{type(error).__name__}: {error}", True
        outbox.report("log", "error", f"an internal error in {command.name!r}: {traceback.format_exc()}")
        loop.rescue(f"an error in {command.name!r}")
    if command.number:
        outbox.send(Answer(command.number, value, refusal))
    return not failed


def _end_alone(loop: ControlLoop, since: float) -> None:
    """Stop the arm, which the loop still drives, since no node is left to request it."""
    plan = loop.supervisor.settings.stop
    why = "the controller's own node has ended"
    if not loop.clock.simulated and since > plan.brake_time + plan.hold_time + plan.ramp_time + ALONE_OVERTIME:
        loop.call("hurry", why)
    loop.stop(why, ending=True)


# -- the loop as the controller's own node has it ----------------------------------------------------------------------


#: Longest wait for the answer to a command, s.
ANSWER_TIMEOUT = 5.0
#: Niceness added to the controller's own node, so that the loop's process has precedence during storms.
NICE = 5
#: From linux/prctl.h.
PR_SET_NAME = 15


class LoopSilentError(RneDynamicsError):
    """The loop has not answered in time."""


class LoopEndedError(RneDynamicsError):
    """The loop's process has ended."""


class LoopProcess:
    """The loop's process, for the controller's own node. `link`: to the loop's process; `process`: its process id."""

    def __init__(self, link: Link, process: int) -> None:
        self._link, self.process = link, process
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._status: int | None = None
        self._received, self._waking, self._stopped = threading.Event(), threading.Lock(), False

    def start_listening(self, on_report: Callable[..., None], wake: Callable[[], None]) -> None:
        """Call `on_report` with name and arguments of each report, from `receive`; `wake` in a thread if some wait."""
        self._on_report = on_report
        threading.Thread(target=self._wait, args=(wake,), name="loop", daemon=True).start()

    def stop_listening(self) -> None:
        """Drop reports from now on."""
        with self._waking:
            self._stopped = True

    def _wait(self, wake: Callable[[], None]) -> None:
        while not self._stopped:
            if not self._link.wait(IDLE):
                continue
            self._received.clear()
            with self._waking:
                if self._stopped:
                    return
                wake()
            self._received.wait(IDLE)

    def receive(self) -> None:
        """Take all reports of the loop. Raises LoopEndedError: its process has ended."""
        try:
            while (message := self._link.receive()) is not None:
                if isinstance(message, Answer):
                    self._answers[message.number] = message
                elif not self._stopped:
                    self._on_report(message.name, *message.arguments)
        except LinkClosedError:
            raise LoopEndedError(f"the process of the control loop has ended: {self.wait()}") from None
        finally:
            self._received.set()

    def send(self, name: str, *arguments: object) -> None:
        """Send a command, without an answer."""
        self._send(Command(0, name, arguments))

    def call(self, name: str, *arguments: object, seconds: float = ANSWER_TIMEOUT) -> Any:
        """The result of a command; ControlError: refused or failed, LoopSilentError, LoopEndedError: no answer."""
        number = next(self._numbers)
        self._send(Command(number, name, arguments))
        deadline = time.monotonic() + seconds
        while number not in self._answers:
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise LoopSilentError(f"the control loop has not answered {name!r} within {seconds:g} s")
            self._link.wait(min(left, IDLE))
            self.receive()
        answer = self._answers.pop(number)
        if answer.refusal:
            raise ControlError(answer.refusal)
        return answer.value

    def pass_on(self, number: int, data: bytes) -> None:
        """Pass a setpoint of the trajectory topic to the loop, after its number; lost if the loop does not keep up."""
        self._link.send_lossy(number.to_bytes(NUMBER, "little") + data)

    def _send(self, command: Command) -> None:
        try:
            if not self._link.send(command):
                raise LoopSilentError(f"the control loop takes no more commands; {command.name!r} was not sent")
        except LinkClosedError:
            raise LoopEndedError(f"the process of the control loop has ended: {self.wait()}") from None

    def wait(self, seconds: float = ANSWER_TIMEOUT) -> str:
        """Wait for the end of the process, kill it after `seconds`; how it ended."""
        deadline = time.monotonic() + seconds
        while self._status is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self._status = status
            elif time.monotonic() > deadline:
                os.kill(self.process, signal.SIGKILL)
                deadline = float("inf")
            else:
                time.sleep(0.005)
        code = os.waitstatus_to_exitcode(self._status)
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    def close(self, seconds: float) -> str:
        """Close the link: the loop then stops the arm, if it is driven, and ends; how it ended."""
        self._stopped = True
        self._link.close()
        return self.wait(seconds)


#: Longest time in which a loop whose node has failed stops the arm, s.
LONGEST_STOP = 120.0


@contextmanager
def control_process(argv: Sequence[str] | None = None) -> Iterator[LoopProcess]:
    """Make the process of a control loop, before ROS is initialised; it ends with the context."""
    ours, theirs = Link.pair(ANSWER_TIMEOUT)
    import_shared()
    gc.freeze()  # collections do not write to the memory that both share; imports leave little garbage
    number = os.fork()
    if number == 0:
        _child(ours, theirs, None if argv is None else [sys.argv[0], *argv])
    theirs.close()
    os.nice(NICE)
    loop = LoopProcess(ours, number)
    try:
        yield loop
    finally:
        loop.close(LONGEST_STOP)


def _child(ours: Link, theirs: Link, arguments: list[str] | None) -> None:
    """Run the loop's process; does not return."""
    code = 70
    try:
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, signal.SIG_IGN)  # the controller's own node stops the arm, also where it is killed
        ours.close()
        if sys.platform.startswith("linux"):
            ctypes.CDLL(None).prctl(PR_SET_NAME, b"rne_loop", 0, 0, 0)
        code = serve(theirs, arguments)
    except BaseException:  # noqa: BLE001 printed; the process ends
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


T = TypeVar("T")


class Throttle(Generic[T]):
    """Passes a value on at once; of those that come within `period`, s, after it, only the newest, at its end."""

    def __init__(self, pass_on: Callable[[T], None], period: float) -> None:
        self._pass_on, self._period = pass_on, period
        self._newest: list[T] = []
        self._at = -math.inf

    def put(self, value: T, now: float) -> None:
        """A new value at monotonic time `now`, s."""
        self._newest = [value]
        self.flush(now)

    def flush(self, now: float, *, always: bool = False) -> None:
        """Pass on the waiting value, if the period is over or `always`."""
        if self._newest and (always or now - self._at >= self._period):
            self._pass_on(self._newest[0])
            self._newest, self._at = [], now
