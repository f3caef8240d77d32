"""Age of this process."""

from __future__ import annotations

import os
import time
from pathlib import Path


def seconds_since_start() -> float:
    """Age of this process, s, including the interpreter's start and imports; 0 where the system does not report it."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
