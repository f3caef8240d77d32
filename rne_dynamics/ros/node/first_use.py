"""What libraries do at their first use, done when it costs a start the least."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

from rne_dynamics.compiling.jit import COMPILED

#: The code generator of ROS messages, with its parsers. Nodes generate nothing.
GENERATOR = "rosidl_generator_py.generate_py_impl"
#: What the machine code of an arm needs; programs without it do not.
LATE = "rne_dynamics.straight_line.state_code"


def import_type_support() -> None:
    """Import what loads the type support of messages, without the generator of their code: 50 modules less.

    `rosidl_generator_py` works without its generator where that cannot be imported, as its ``__init__`` says; None in
    `sys.modules` is Python's way to say so. The generator can be imported afterwards.
    """
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


def prepare_logging() -> None:
    """Find the files of all modules, as rclpy's logger does for its first line, 40 ms: while the loop is built."""
    frame = inspect.currentframe()
    if frame is not None:
        inspect.getframeinfo(frame)
