"""A node that ends with the process that started it.

`ros2 launch` passes SIGINT on, but SIGTERM (from systemd and docker) and SIGKILL end it silently, without its nodes:
https://github.com/ros2/launch/issues/666. A controller would go on driving the arm unattended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

#: 1 in the environment of a node that ends with its parent; set by the launch files.
VARIABLE = "RNE_DYNAMICS_ENDS_WITH_PARENT"
#: From linux/prctl.h.
PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """If `VARIABLE` is 1, have the kernel send SIGINT to this process when its parent ends.

    Linux only; elsewhere, and without the variable, nothing happens.
    """
    if os.environ.get(VARIABLE) != "1" or not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before prctl
        os.kill(os.getpid(), signal.SIGINT)
