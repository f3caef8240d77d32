"""Scheduling and age of a node's process: real-time priority, CPUs, memory that is never swapped out.

What is not permitted is logged and left unchanged: a controller with a longer latency is better than none.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from rne_dynamics.ros.parameters.schema import Parameter, Values

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
