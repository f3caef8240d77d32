"""A node's process: scheduling, memory, start, spin, clean stop on SIGINT and SIGTERM, exit code."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED
from rne_dynamics.errors import ArgumentError, RneDynamicsError
from rne_dynamics.interrupted import EXIT_INTERRUPTED, report_interrupted
from rne_dynamics.ros.loop.hot_loop import NodeExecutor
from rne_dynamics.ros.node.private_parts import report_missing
from rne_dynamics.ros.parameters.files import Parameter, Values, lost_settings

if TYPE_CHECKING:
    from rne_dynamics.ros.node.lifecycle import ArmNode


# What is not permitted is logged and left unchanged: a controller with a longer latency is better than none.

#: Flags of mlockall(2): present and future pages.
_CURRENT, _FUTURE = 1, 2

SCHEDULING: tuple[Parameter, ...] = (
    Parameter("realtime_priority", 0, "Priority of the process under SCHED_FIFO, where permitted; 0 leaves the "
              "scheduler unchanged.", "", 0, 98, read_only=True),
    Parameter("cpu_affinity", (), "CPUs on which the process may run; empty for no change.", "", 0, 4095, kind=int,
              read_only=True),
    Parameter("lock_memory", False, "Keep all memory of the process resident, where permitted.",
              read_only=True),
)


def apply_scheduling(values: Values) -> Iterator[str]:
    """Set the scheduling of all threads of this process, the middleware's too; yields a text per refusal."""
    priority, wanted = values["realtime_priority"], {int(cpu) for cpu in values["cpu_affinity"]}
    for thread in [int(task.name) for task in Path("/proc/self/task").iterdir()]:
        try:
            if wanted:
                os.sched_setaffinity(thread, wanted)
        except ProcessLookupError:
            continue  # it has ended meanwhile
        except OSError as error:
            there = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
            yield f"cpu_affinity {sorted(wanted)} is not possible ({error.strerror}); this process may use {there}"
            wanted = set()
        try:
            if priority:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
        except ProcessLookupError:
            continue
        except OSError as error:
            yield (
                f"realtime_priority {priority} is not permitted ({error.strerror}); fix: a line "
                f"'@realtime - rtprio {priority}' in /etc/security/limits.conf, and this user in that group"
            )
            priority = 0
    if values["lock_memory"]:
        yield from _lock()


def _lock() -> Iterator[str]:
    # Under a limit the lock itself may succeed and a later allocation fail, in the middle of a motion.
    limited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY and os.geteuid() != 0
    libc = ctypes.CDLL(None, use_errno=True)
    if limited or libc.mlockall(_CURRENT | _FUTURE) != 0:
        why = "there is a limit" if limited else os.strerror(ctypes.get_errno())
        yield (
            f"lock_memory is not permitted ({why}); fix: a line '@realtime - memlock unlimited' in "
            "/etc/security/limits.conf, and this user in that group"
        )


def seconds_since_start() -> float:
    """Age of this process, s, including the interpreter's start and imports; 0 where the system does not report it."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


#: In the file names of libraries that are needed only to compile, and in those of all.
COMPILER, LIBRARIES = "libllvmlite", ".so"
_DONT_NEED = 4


def drop_compiler_pages(libraries: str = COMPILER) -> int:
    """Take LLVM's instructions, some 60 MB, and what was freed out of this process's resident memory.

    With `LIBRARIES` the instructions of all libraries go. Returns the number of bytes that they may fill.

    They come back from the library's file, page by page, if they are executed again. Only on Linux; elsewhere, and
    where memory is locked, nothing happens.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "malloc_trim"):  # in glibc
        libc.malloc_trim(0)
    advise = libc.madvise
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    dropped = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, access, *_, name = line.split(maxsplit=5)
        # instructions are never written to; other parts of a library may have been
        if access == "r-xp" and libraries in Path(name).name:
            first, end = (int(address, 16) for address in place.split("-"))
            if advise(first, end - first, _DONT_NEED) == 0:
                dropped += end - first
    return dropped


#: The code generator of ROS messages, with its parsers. Nodes generate nothing.
GENERATOR = "rosidl_generator_py.generate_py_impl"
#: What the machine code of an arm needs; programs without it do not.
LATE = "rne_dynamics.straight_line.state_code"


def import_type_support() -> None:
    """Import what loads the type support of messages, without the generator of their code: 50 modules less."""
    # `rosidl_generator_py` works without its generator where that cannot be imported; None in `sys.modules` says so
    if "rosidl_generator_py" in sys.modules or GENERATOR in sys.modules:
        return
    sys.modules[GENERATOR] = None  # type: ignore[assignment]
    try:
        import_module("rosidl_generator_py")
    except ImportError:  # a release without this module: its messages import what they need
        return
    finally:
        del sys.modules[GENERATOR]


def import_shared() -> None:
    """Import what both processes of a controller need, before the fork: once, into memory that they share."""
    import_type_support()
    if COMPILED:
        import_module(LATE)
    note_files()


def note_files() -> None:
    """Note which module each file is, for rclpy's logger: `inspect` would resolve all paths, 40 ms."""
    modules: dict[str, str] = getattr(inspect, "modulesbyfile", {})
    if __file__ in modules:  # before the fork: a second time would write to all modules' reference counts
        return
    for name, module in list(sys.modules.items()):
        if file := getattr(module, "__file__", None):
            modules[file] = name


#: 1 in the environment of a node that ends with its parent; set by the launch files.
VARIABLE = "RNE_DYNAMICS_ENDS_WITH_PARENT"
#: From linux/prctl.h.
PR_SET_PDEATHSIG = 1


class StopSignal:
    """SIGINT and SIGTERM as a flag.

    rclpy's own handlers shut the context down at once, after which nothing can be published: the last effort would stay
    applied. So these handlers only note the signal, and the node stops the arm first. Before `defer` is called, while
    nothing moves yet, the first signal raises KeyboardInterrupt as usual. A second signal cuts the stop of the arm
    short: efforts go to zero at once.

    `restored`: whether the handlers before are in force again after the context. Otherwise signals are ignored then,
    since the process only has to be cleaned up.
    """

    def __init__(self, *, restored: bool = False) -> None:
        self.count = 0
        #: The signal that came before `defer` was called; None for none.
        self.early: int | None = None
        self._restored = restored
        self._deferred = False
        self._previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> StopSignal:
        for number in self._previous:
            signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._previous.items():
            signal.signal(number, before if self._restored else signal.SIG_IGN)

    @property
    def requested(self) -> bool:
        """Whether the process is to end."""
        return self.count > 0

    def defer(self) -> None:
        """From now on only note signals; KeyboardInterrupt if one came before, and that exception was dropped."""
        self._deferred = True
        if self.early is not None:
            raise KeyboardInterrupt

    def code_if_early(self) -> int:
        """Exit code where a signal came before `defer`; prints the line of a process that ends with its node."""
        if self.early != signal.SIGINT:
            return 0
        return EXIT_INTERRUPTED if self._restored else report_interrupted()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._deferred and self.early is None:
            self.early = number
            raise KeyboardInterrupt


def end_with_parent() -> None:
    """If `VARIABLE` is 1, have the kernel send SIGINT to this process when its parent ends; Linux only."""
    # `ros2 launch` passes SIGINT on, but SIGTERM (from systemd and docker) and SIGKILL end it without its nodes:
    # https://github.com/ros2/launch/issues/666. A controller would go on driving the arm unattended.
    if os.environ.get(VARIABLE) != "1" or not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before prctl
        os.kill(os.getpid(), signal.SIGINT)


# -- main function of a node process: start, spin, clean stop on SIGINT and SIGTERM, exit code -------------------------


#: Turns of the executor, one thing each, before a process ends: at most about 10 ms.
LAST_TURNS = 20


def run(make: Callable[[], ArmNode], argv: Sequence[str] | None = None, signals: StopSignal | None = None) -> int:
    """Run one node until a signal, a shutdown transition or its own end; the exit code."""
    # the node's; 1 where it could not start (one line has the reason); 130 after SIGINT before, 0 after SIGTERM
    with signals or StopSignal() as stop:
        node: ArmNode | None = None
        executor: NodeExecutor | None = None
        code = 1
        try:
            end_with_parent()
            import_type_support()
            note_files()
            arguments = initialise(argv)
            executor = NodeExecutor()
            node = make()
            node.signalled_again, node.about_to_drive = lambda: stop.count > 1, stop.defer
            if UNCOMPILED:
                node.get_logger().warning(UNCOMPILED)
            for warning in lost_settings(arguments, node.get_name(), node.get_namespace()):
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
        except (RneDynamicsError, InvalidParameterTypeException) as error:  # the second: of parameters of rclpy's own
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


def initialise(argv: Sequence[str] | None) -> list[str]:
    """Initialise ROS with arguments, by default those of this process; returns all words of the command line.

    `ArgumentError` for ROS arguments or parameter files that cannot be read.
    """
    arguments = sys.argv if argv is None else [sys.argv[0], *argv]
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rclpy's own for them is private
        raise ArgumentError(f"ROS does not start: {str(error).partition(', at /')[0]}") from None
    return arguments


def log_at(log: Any, level: str, text: str) -> None:
    """Log a text as "info", "warning" or "error"."""
    if level == "error":  # one line for each severity: rclpy identifies calls by their line
        log.error(text)
    elif level == "warning":
        log.warning(text)
    else:
        log.info(text)


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
    """Freeze all present objects for the control loop, drop what only the start needs, and collect no garbage in it."""
    gc.collect()
    drop_compiler_pages()
    gc.freeze()
    gc.disable()
