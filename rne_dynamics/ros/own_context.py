"""ROS contexts of commands, which take nothing from the command line of `rne`."""

from __future__ import annotations

import rclpy
from rclpy.context import Context


def own_context() -> Context:
    """An initialised context without ROS arguments.

    By default rclpy passes on this process's command line, where rcl takes every ``NAME:=VALUE`` for a remapping, also
    the arguments of xacro (``--arg joint_states:=merged``).
    """
    context = Context()
    rclpy.init(args=[], context=context)
    return context
