"""ROS 2 messages without ROS: definitions, and the bytes of whole series of messages; needs rosbags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.model.inertia import Array

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

JOINT_STATE, FLOATS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
CONTROLLER_STATE = "control_msgs/msg/JointTrajectoryControllerState"
NANOSECONDS = 1_000_000_000
INSTALL = "pip install 'rne_dynamics[record]'"


@cache
def typestore() -> Typestore:
    """The message types of ROS 2; raises `MissingDependencyError` without rosbags."""
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingDependencyError(f"recordings of ROS messages need rosbags: {INSTALL}") from None
    return get_typestore(Stores.ROS2_JAZZY)


def definition(kind: str) -> str:
    """The definition of a message type with all types that it contains, as MCAP's schema encoding ``ros2msg``."""
    return typestore().generate_msgdef(kind, ros_version=2)[0]


def joint_states(
    names: Sequence[str], stamps: NDArray[np.int64], **lists: Array
) -> list[bytes]:
    """Serialised sensor_msgs/JointState messages.

    Parameters
    ----------
    names
        Of the joints, length n.
    stamps
        ns; shape (rows,).
    **lists
        Any of `position`, `velocity`, `effort`; each of shape (rows, n).
    """
    types = typestore().types
    header, time, message = (
        types[name] for name in ("std_msgs/msg/Header", "builtin_interfaces/msg/Time", JOINT_STATE)
    )

    def made(stamp: tuple[int, int], number: float) -> bytes:
        filled = {
            name: np.full(len(names) if name in lists else 0, number) for name in ("position", "velocity", "effort")
        }
        return _bytes(message(header=header(time(*stamp), ""), name=list(names), **filled), JOINT_STATE)

    seconds, rest = np.divmod(stamps, NANOSECONDS)
    order = [lists[name] for name in ("position", "velocity", "effort") if name in lists]
    fields = [seconds.astype("<i4")[:, None], rest.astype("<u4")[:, None], *(a.astype("<f8") for a in order)]
    return _rows(made, fields)


def float_arrays(names: Sequence[str], values: Array) -> list[bytes]:
    """Serialised std_msgs/Float64MultiArray messages with the names as the label of their dimension.

    Parameters
    ----------
    names
        Length n.
    values
        Shape (rows, n).
    """
    types = typestore().types
    layout, dimension, message = (
        types[f"std_msgs/msg/{name}"] for name in ("MultiArrayLayout", "MultiArrayDimension", "Float64MultiArray")
    )
    n = len(names)
    place = layout(dim=[dimension(label=",".join(names), size=n, stride=n)], data_offset=0)

    def made(stamp: tuple[int, int], number: float) -> bytes:
        return _bytes(message(layout=place, data=np.full(n, number)), FLOATS)

    return _rows(made, [values.astype("<f8")])


def _bytes(message: Any, kind: str) -> bytes:
    return bytes(typestore().serialize_cdr(message, kind))


def _rows(made: Callable[[tuple[int, int], float], bytes], fields: list[NDArray[Any]]) -> list[bytes]:
    """One message a row of the fields, which fill the bytes that differ between two messages.

    The two have all these bits 0 and 1, so the bytes are the stamp and the numbers, in their order. This is some
    hundred times faster than to serialise each message.
    """
    ones = np.frombuffer(b"\xff" * 8).item()  # a NaN
    zero = np.frombuffer(made((0, 0), 0.0), np.uint8)
    places = np.flatnonzero(zero != np.frombuffer(made((-1, 2**32 - 1), ones), np.uint8))
    octets = np.concatenate([np.ascontiguousarray(field).view(np.uint8) for field in fields], axis=1)
    table = np.tile(zero, (len(octets), 1))
    table[:, places] = octets
    return [row.tobytes() for row in table]
