"""The life of one node process: start, spin, stop cleanly on SIGINT and SIGTERM, exit code."""

from __future__ import annotations

import gc
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.compiling.jit import UNCOMPILED
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.parameter_files import lost_settings
from rne_dynamics.ros.parent import end_with_parent
from rne_dynamics.ros.private_parts import report_missing

if TYPE_CHECKING:
    from rne_dynamics.ros.lifecycle import ArmNode

#: Turns of the executor, one thing each, before a process ends: for at most some 10 ms.
LAST_TURNS = 20


class StopSignal:
    """SIGINT and SIGTERM as a flag.

    rclpy's own handlers shut the context down at once, after which nothing can be published any more: an arm would
    be left with its last effort. So these handlers only note the wish, and the node stops the arm first.
    Before `defer` is called, while nothing moves yet, a signal raises KeyboardInterrupt as usual. A second signal cuts
    the stop of the arm short: efforts go to zero at once.
    """

    def __init__(self) -> None:
        self.count = 0
        self._deferred = False
        self._previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> StopSignal:
        for number in self._previous:
            signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._previous:  # what is left to do is only tearing down
            signal.signal(number, signal.SIG_IGN)

    @property
    def requested(self) -> bool:
        """Whether the process is to end."""
        return self.count > 0

    @property
    def pressed(self) -> bool:
        """Whether that was said more than once."""
        return self.count > 1

    def defer(self) -> None:
        """From now on only note signals."""
        self._deferred = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._deferred:
            raise KeyboardInterrupt


def run(make: Callable[[], ArmNode], argv: Sequence[str] | None = None) -> int:
    """Run one node until it is told to stop.

    Parameters
    ----------
    make
        Makes the node.
    argv
        Command line without the program; this process's own by default.

    Returns
    -------
    int
        The node's exit code after SIGINT, SIGTERM, a shutdown transition or when it has finished; 1 where it could
        not start (one line tells why).
    """
    with StopSignal() as stop:
        node: ArmNode | None = None
        executor: NodeExecutor | None = None
        code = 1
        try:
            end_with_parent()
            arguments = None if argv is None else [sys.argv[0], *argv]
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            executor = NodeExecutor()
            node = make()
            node.pressed, node.about_to_drive = lambda: stop.pressed, stop.defer
            if UNCOMPILED:
                node.get_logger().warning(UNCOMPILED)
            for warning in lost_settings(arguments or sys.argv, node.get_name(), node.get_namespace()):
                node.get_logger().warning(warning)
            report_missing(node)
            executor.add_node(node)
            started = node.start()
            stop.defer()
            if started:
                pause_garbage_collection()
                node.settle()
                while not stop.requested and not node.finished and rclpy.ok():
                    node.turn(executor)
                code = node.exit_code
        except (KeyboardInterrupt, ExternalShutdownException):
            code = 0
        except RneDynamicsError as error:
            print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            log_error(node, "the process ends because of an error that should not be")
        finally:
            stop.defer()
            try:
                if node is not None and rclpy.ok():
                    node.stop()
                    if executor is not None:
                        serve_last_requests(executor)
            except Exception:  # noqa: BLE001 logged, and the arm is stopped
                log_error(node, "the arm could not be stopped as usual because of an error that should not be")
                code = 1
            if node is not None:
                code = 1 if node.failed else code
                node.destroy_node()
            if executor is not None:
                executor.shutdown(timeout_sec=0.0)
            rclpy.try_shutdown()
        return code


def log_error(node: ArmNode | None, what: str) -> None:
    """Log the exception that is being handled, with its traceback."""
    text = f"{what}: {traceback.format_exc()}"
    if node is None:
        print(text, file=sys.stderr)
    else:
        node.get_logger().fatal(text)


def serve_last_requests(executor: Executor) -> None:
    """Answer those who wait for what the stop has brought about, as for the result of an action's goal."""
    for _ in range(LAST_TURNS):
        executor.spin_once(timeout_sec=0.0)


def pause_garbage_collection() -> None:
    """Keep garbage collection out of the control loop.

    Everything alive now is set aside for good; what arises later is collected by the node's diagnostics timer,
    once a second, right after an effort went out.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
