"""The control loop in a process of its own, made by a fork before ROS and any of its threads exist.

What other nodes send (trajectories, goals, parameters, services) is received and turned into Python objects by the
controller's own node in the process that users start. It takes as long as it takes, holds that process's interpreter
meanwhile, and does not touch the loop: see docs/control_loop.md.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.ros.control_loop import NUMBER, ControlLoop
from rne_dynamics.ros.link import Link, LinkClosedError
from rne_dynamics.ros.loop_messages import Answer, Command, Said
from rne_dynamics.ros.process import pause_garbage_collection

#: How often the loop takes a command, s: none of them is urgent, and a storm of them must not matter.
POLL_PERIOD = 0.004
#: Longest wait for a command where there is nothing to control, s.
IDLE = 0.05
#: Messages that are kept for a node that does not read them.
KEPT = 1000
#: Longest wait for the answer to a command, s.
PATIENCE = 5.0
#: Time beyond its plan after which a stop without the controller's own node is brought to zero at once, s.
OVERTIME = 1.0
#: How much more the loop's process counts to the scheduler than the controller's own node, which works off storms.
NICE = 5
#: From linux/prctl.h.
PR_SET_NAME = 15


class LoopSilentError(RneDynamicsError):
    """The loop has not answered in time."""


class LoopEndedError(RneDynamicsError):
    """The loop's process has ended."""


# -- in the loop's process --------------------------------------------------------------------------------------------


class _Outbox:
    """What is to be sent, as far as it fits; never waited for."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._kept: deque[object] = deque(maxlen=KEPT)

    def send(self, message: object, droppable: bool = False) -> None:
        """Send it now, or keep it unless it is `droppable`."""
        self.flush()
        try:
            if (self._kept or not self._link.send(message, block=False)) and not droppable:
                self._kept.append(message)
        except LinkClosedError:  # found where commands are received
            self._kept.clear()

    def flush(self) -> None:
        """Send what was kept."""
        try:
            while self._kept and self._link.send(self._kept[0], block=False):
                self._kept.popleft()
        except LinkClosedError:
            self._kept.clear()


def serve(link: Link, arguments: Sequence[str] | None) -> int:
    """Run the loop until the other end closes the link; the exit code."""
    outbox = _Outbox(link)
    loop = ControlLoop(outbox.send, pause_garbage_collection, link.catch)
    alone_since: float | None = None  # when the controller's own node was found to be gone
    poll_at = 0.0
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        while alone_since is None or not loop.over:
            if loop.hot is None:
                link.wait(IDLE)
            else:
                loop.turn()
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
        _say(outbox, f"an error in the control loop that should not be: {traceback.format_exc()}")
        loop.rescue("an error in the control loop")
        return 1
    finally:
        loop.release()
        rclpy.try_shutdown()


def _execute(loop: ControlLoop, command: Command, outbox: _Outbox) -> bool:
    """Do what a command says; False where that has shown an error of ours, and the arm is released."""
    answer = loop.execute(command)
    if answer.crash:
        _say(outbox, f"an error in {command.name!r} that should not be: {answer.crash}")
        loop.rescue(f"an error in {command.name!r}")
    elif answer.refusal and not command.number:
        _say(outbox, f"{command.name} is refused: {answer.refusal}")
    if command.number:
        outbox.send(answer)
    return not answer.crash


def _say(outbox: _Outbox, text: str) -> None:
    outbox.send(Said("error", text))


def _end_alone(loop: ControlLoop, since: float) -> None:
    """Stop the arm, since nobody is left to ask for it."""
    if loop.hot is None:
        return
    plan = loop.supervisor.settings.stop
    why = "the controller's own node has ended"
    if not loop.clock.simulated and since > plan.brake_time + plan.hold_time + plan.ramp_time + OVERTIME:
        loop.hurry(why)
    loop.stop(why, ending=True)


# -- in the process of the controller's own node ----------------------------------------------------------------------


class LoopProcess:
    """The loop as the controller's own node sees it.

    Parameters
    ----------
    link
        To the loop's process.
    process
        Its number.
    """

    def __init__(self, link: Link, process: int) -> None:
        self._link, self.process = link, process
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._on_message: Callable[[Any], None] = lambda message: None
        self._status: int | None = None
        self._heard, self._waking, self._deaf = threading.Event(), threading.Lock(), False

    def listen(self, on_message: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """Hand what the loop reports to `on_message`, from `hear`; call `wake` in a thread when there is something."""
        self._on_message = on_message
        threading.Thread(target=self._wait, args=(wake,), name="loop", daemon=True).start()

    def listen_no_more(self) -> None:
        """End what `listen` has begun."""
        with self._waking:
            self._deaf = True
        self._on_message = lambda message: None

    def _wait(self, wake: Callable[[], None]) -> None:
        while not self._deaf:
            if not self._link.wait(IDLE):
                continue
            self._heard.clear()
            with self._waking:
                if self._deaf:
                    return
                wake()
            self._heard.wait(IDLE)

    def hear(self) -> None:
        """Take everything that the loop has reported.

        Raises
        ------
        LoopEndedError
            Its process has ended.
        """
        try:
            while (message := self._link.receive()) is not None:
                if isinstance(message, Answer):
                    self._answers[message.number] = message
                else:
                    self._on_message(message)
        except LinkClosedError:
            raise LoopEndedError(f"the process of the control loop has ended: {self.wait()}") from None
        finally:
            self._heard.set()

    def tell(self, name: str, *arguments: object) -> None:
        """Have a command done, without an answer."""
        self._send(Command(0, name, arguments))

    def ask(self, name: str, *arguments: object, seconds: float = PATIENCE) -> Any:
        """Have a command done; what it returns.

        Raises
        ------
        ControlError
            It is refused, or has failed.
        LoopSilentError, LoopEndedError
            No answer in time, or no process any more.
        """
        number = next(self._numbers)
        self._send(Command(number, name, arguments))
        deadline = time.monotonic() + seconds
        while number not in self._answers:
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise LoopSilentError(f"the control loop has not answered {name!r} within {seconds:g} s")
            self._link.wait(min(left, IDLE))
            self.hear()
        answer = self._answers.pop(number)
        if answer.refusal:
            raise ControlError(answer.refusal)
        return answer.value

    def pass_on(self, number: int, data: bytes) -> None:
        """As `ControlLoop.pass_on`; lost where the loop does not keep up."""
        self._link.throw(number.to_bytes(NUMBER, "little") + data)

    def _send(self, command: Command) -> None:
        try:
            if not self._link.send(command):
                raise LoopSilentError(f"the control loop takes no commands any more; {command.name!r} was not sent")
        except LinkClosedError:
            raise LoopEndedError(f"the process of the control loop has ended: {self.wait()}") from None

    def wait(self, seconds: float = PATIENCE) -> str:
        """How the process has ended; it is killed if it has not within `seconds`."""
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
        """Close the link, upon which the loop stops the arm if it is driven and ends; how it did."""
        self._deaf = True
        self._link.close()
        return self.wait(seconds)


#: Longest time in which a loop whose node has failed stops the arm, s.
LONGEST_STOP = 120.0


@contextmanager
def control_process(argv: Sequence[str] | None = None) -> Iterator[LoopProcess]:
    """The process of a control loop, to be made before ROS is; at the end of the context it ends too.

    Parameters
    ----------
    argv
        As for `process.run`.
    """
    ours, theirs = Link.pair(PATIENCE)
    gc.collect()
    gc.freeze()  # what both share is not written to by collections
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
    """The life of the loop's process; does not return."""
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
