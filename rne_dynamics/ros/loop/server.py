"""The process of a control loop: commands in, reports out, and the loop's turns between."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Sequence

import rclpy
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.control.supervision.state_stream import warm_up_general
from rne_dynamics.ros.loop.control_loop import ControlLoop
from rne_dynamics.ros.loop.link import Link, LinkClosedError
from rne_dynamics.ros.loop.messages import Command
from rne_dynamics.ros.node.process import settle

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
        warm_up_general()
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
    answer = loop.execute(command)
    if answer.crash:
        outbox.report("log", "error", f"an internal error in {command.name!r}: {answer.crash}")
        loop.rescue(f"an error in {command.name!r}")
    elif answer.refusal and not command.number:
        outbox.report("log", "error", f"{command.name} is refused: {answer.refusal}")
    if command.number:
        outbox.send(answer)
    return not answer.crash


def _end_alone(loop: ControlLoop, since: float) -> None:
    """Stop the arm, since no node is left to request it."""
    if loop.cycle is None:
        return
    plan = loop.supervisor.settings.stop
    why = "the controller's own node has ended"
    if not loop.clock.simulated and since > plan.brake_time + plan.hold_time + plan.ramp_time + ALONE_OVERTIME:
        loop.call("hurry", why)
    loop.stop(why, ending=True)
