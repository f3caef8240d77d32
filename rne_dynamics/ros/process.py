"""Main function of a node process: start, spin, clean stop on SIGINT and SIGTERM, exit code."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.compiling.compiler_pages import drop_compiler_pages
from rne_dynamics.compiling.jit import UNCOMPILED
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.first_use import import_type_support
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.parameter_files import lost_settings
from rne_dynamics.ros.private_parts import report_missing
from rne_dynamics.ros.stop_signal import StopSignal, end_with_parent

if TYPE_CHECKING:
    from rne_dynamics.ros.lifecycle import ArmNode

#: Turns of the executor, one thing each, before a process ends: at most about 10 ms.
LAST_TURNS = 20


def run(
    make: Callable[[], ArmNode], argv: Sequence[str] | None = None, signals: StopSignal | None = None
) -> int:
    """Run one node until a signal, a shutdown transition or its own end.

    Parameters
    ----------
    make
        Makes the node.
    argv
        Command line without the program; this process's own by default.
    signals
        Notes SIGINT and SIGTERM; by default one for a process that ends with the node.

    Returns
    -------
    int
        The node's exit code after SIGINT, SIGTERM, a shutdown transition or when it has finished; 1 where it could
        not start (one line has the reason); 130 after SIGINT before it had started, 0 after SIGTERM.
    """
    with signals or StopSignal() as stop:
        node: ArmNode | None = None
        executor: NodeExecutor | None = None
        code = 1
        try:
            end_with_parent()
            import_type_support()
            arguments = None if argv is None else [sys.argv[0], *argv]
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            executor = NodeExecutor()
            node = make()
            node.signalled_again, node.about_to_drive = lambda: stop.repeated, stop.defer
            if UNCOMPILED:
                node.get_logger().warning(UNCOMPILED)
            for warning in lost_settings(arguments or sys.argv, node.get_name(), node.get_namespace()):
                node.get_logger().warning(warning)
            report_missing(node)
            executor.add_node(node)
            started = node.start()
            stop.defer()
            if started:
                settle()
                node.apply_scheduling()
                while not stop.requested and not node.finished and rclpy.ok():
                    node.turn(executor)
                code = node.exit_code
        except (KeyboardInterrupt, ExternalShutdownException):
            code = 0
        except RneDynamicsError as error:
            if stop.early is None:
                print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            if stop.early is None:  # otherwise something has failed because it was cut short
                log_error(node, "the process ends because of an internal error")
        finally:
            with suppress(KeyboardInterrupt):
                stop.defer()
            try:
                if node is not None and rclpy.ok() and stop.early is None:  # only a complete node can be stopped
                    node.stop()
                    if executor is not None:
                        serve_last_requests(executor)
            except Exception:  # noqa: BLE001 logged, and the arm is stopped
                log_error(node, "the arm could not be stopped as planned because of an internal error")
                code = 1
            if node is not None:
                code = 1 if node.failed else code
                node.destroy_node()
            if executor is not None:
                executor.shutdown(timeout_sec=0.0)
            rclpy.try_shutdown()
        return code if stop.early is None else stop.code_if_early()


def log_error(node: ArmNode | None, what: str) -> None:
    """Log the exception that is being handled, with its traceback."""
    text = f"{what}: {traceback.format_exc()}"
    if node is None:
        print(text, file=sys.stderr)
    else:
        node.get_logger().fatal(text)


def serve_last_requests(executor: Executor) -> None:
    """Serve requests that wait for the stop, such as for the result of an action's goal."""
    for _ in range(LAST_TURNS):
        executor.spin_once(timeout_sec=0.0)


def settle() -> None:
    """Prepare for the control loop when all is compiled: what only the start needs leaves memory.

    Garbage collection is kept out of the loop: all present objects are frozen; later garbage is collected by the node's
    diagnostics timer, once a second, right after an effort was sent.
    """
    drop_compiler_pages()
    gc.collect()
    gc.freeze()
    gc.disable()
