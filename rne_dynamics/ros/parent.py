"""A node that ends with the process that started it.

`ros2 launch` passes SIGINT on, but dies of SIGTERM (what systemd and docker send) and of SIGKILL without a word to
its nodes: https://github.com/ros2/launch/issues/666. A controller would drive the arm on with nobody to look after it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

#: Set to 1 in the environment of a node that shall end with its parent; the launch files do.
VARIABLE = "RNE_DYNAMICS_ENDS_WITH_PARENT"
#: From linux/prctl.h.
PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Where the environment asks for it, have the kernel send SIGINT to this process when its parent dies.

    Linux only; elsewhere, and without the variable, nothing happens.
    """
    if os.environ.get(VARIABLE) != "1" or not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != parent:  # it died in between, unheard
        os.kill(os.getpid(), signal.SIGINT)
