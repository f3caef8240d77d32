"""`rne demo` as a user runs it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it with these arguments; whatever its exit code."""
    # its own choice, with the middleware's shared memory, which test/conftest.py excludes
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return subprocess.run(
        [sys.executable, "-m", "rne_dynamics.cli.main", "demo", *arguments],
        capture_output=True, text=True, timeout=900, env=environment, check=False,
    )
