"""Ways to falsify a stream of joint states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from faults.driver import Falsify
from sensor_msgs.msg import JointState

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.ros.messages.publishers import stamp_of, write_stamp

#: Changes a joint state in place.
Change = Callable[[JointState], None]


def every(change: Change, nth: int = 1, most: float = math.inf) -> Falsify:
    """Change each `nth` joint state, `most` of them at most."""
    seen = changed = 0

    def falsify(message: JointState) -> Iterable[JointState]:
        nonlocal seen, changed
        seen += 1
        if seen % nth == 0 and changed < most:
            changed += 1
            change(message)
        return (message,)

    return falsify


def silence(message: JointState) -> Iterable[JointState]:
    """Send nothing."""
    return ()


def value(label: str, joint: int, number: float) -> Change:
    """Another number in the list `label` of the message."""

    def change(message: JointState) -> None:
        getattr(message, label)[joint] = number

    return change


def moved(joint: int, by: float) -> Change:
    """Another position of one joint, rad."""

    def change(message: JointState) -> None:
        message.position[joint] += by

    return change


def later(seconds: float) -> Change:
    """A stamp later by so many seconds; earlier if negative."""

    def change(message: JointState) -> None:
        write_stamp(message.header, stamp_of(message) + round(seconds * NANOSECONDS))

    return change

