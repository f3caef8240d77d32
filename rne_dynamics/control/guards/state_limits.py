"""Plausible range of a robot's joint states, and the memory of their checks.

`whole` holds integers, `clock` times in s and the figures of a refusal for its message, `table` one column a joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.parameters import frozen_vector, of_node
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array, read_only, set_fields
from rne_dynamics.model.layout import columns


@dataclass(frozen=True, eq=False)
class StateLimits:
    """Plausible range of joint states, for `StateFilter`; `ControlError` for values outside these ranges."""

    #: Velocity limit of each joint, rad/s or m/s, greater than 0; inf where it is not known, which leaves jumps and
    #: velocities of that joint unjudged. Shape (n,).
    velocity: Array
    #: Joints without position limits, whose positions may wrap; shape (n,).
    continuous: NDArray[np.bool_]
    timeout: float = field(metadata=of_node(
        "state_timeout", 0.1, "Age at which the last usable joint state is stale and the arm is stopped; 0 for never.",
        "s", 0.0, 60.0,
    ))
    filter_frequency: float = field(metadata=of_node(
        "velocity_filter", 50.0, "Corner frequency of the velocity estimate, if joint states have no velocities.",
        "Hz", 0.1, 10000.0,
    ))
    #: Names for messages; n of them.
    joints: tuple[str, ...]
    #: What the gains tolerate, where that is less than `timeout`; kept as infinity for 0.
    lateness: float = field(default=0.0, metadata=of_node(
        "state_lateness", 0.0, "Largest delay of a joint state, compared with earlier ones; 0 for state_timeout. For "
        "drivers whose stamps follow this computer's clock.", "s", 0.0, 60.0,
    ))
    #: Coulomb friction of each joint, N·m or N, not negative; zero by default. Shape (n,).
    coulomb: Array | None = None

    def __post_init__(self) -> None:
        n, names = len(self.joints), self.joints
        smallest = float(np.finfo(np.float64).tiny)
        velocity = frozen_vector(self.velocity, n, "velocity limit", lowest=smallest, finite=False, names=names)
        coulomb = np.zeros(n) if self.coulomb is None else self.coulomb
        coulomb = frozen_vector(coulomb, n, "Coulomb friction", lowest=0.0, names=names)
        continuous = np.array(self.continuous, dtype=np.bool_)

        set_fields(
            self, velocity=velocity, coulomb=coulomb, continuous=read_only(continuous),
            lateness=self.lateness or math.inf,
        )
        refuse(
            ControlError,
            (continuous.shape != (n,), f"continuous has shape {continuous.shape}; there are {n} joints"),
            (not self.timeout >= 0.0, f"state timeout is {self.timeout} s; it must not be negative (0 is never)"),
            (not self.lateness > 0.0,
             f"tolerated lateness is {self.lateness} s; it must not be negative (0 or inf is any)"),
            (not (math.isfinite(self.filter_frequency) and self.filter_frequency > 0.0),
             f"velocity filter is {self.filter_frequency} Hz; it must be finite and greater than 0"),
        )


# -- memory of the joint-state checks: three arrays, so that one compiled call takes them all --------------------------


# whole: stamp of the last good state (ns), whether it came with one; whether its place and whether the clock that it
# came with are known; publication number of the sender followed; that of the last message out of its sequence, how many
# of those came in a row, whether the last message was one, how often the sender changed; how often in a row the stamps
# ran ahead; how many states in a row were refused for a velocity; joint that a refusal is about (-1: none); how many
# states in a row have come since a stamp that was set back, and that stamp (ns)
(
    STAMP, STAMPED, KNOWN, CLOCKED, SEQUENCE, OTHER, RUN, TURN, CHANGES, RUSHES, EXCESSES, JOINT, BACK, BACK_STAMP,
    WHOLE,
) = columns(*[1] * 14)  # fmt: skip
# clock: arrival of the last good state, of the first, and of the first of its time base; of the last message of the
# sender followed, of the last out of its sequence, and of the last that proved a second sender; how late the last good
# state was; the least lateness since LEAST_AT and since EARLIER_AT one window before, and how fast it grows (inf: not
# known yet); the least of the whole time base, and windows in a row in which the clock was slow; how much later the
# last state was than that least (0: not known); whether states are judged by that; when the law last said what it
# expects, and when an effort was last limited; found, allowed and dt of a refusal; tolerated lateness (inf: any), and
# 1/T of the velocity estimate (1/s); shortest step of the stamps of late (0: none); arrival of the first state since a
# stamp that was set back, how late it is, and by how much it is later than the one before; how fast the sender's clock
# is being slowed down
(
    ARRIVAL, BEGAN, BASED, FOLLOWED_AT, STRAY_AT, OTHER_AT, LATE, LEAST, LEAST_AT, EARLIER, EARLIER_AT, DRIFT,
    LOWEST, SLOW, LATER, STRICT, EXPECTED_AT, DOUBTED_AT, FOUND, ALLOWED, STEP, LATENESS, RATE, PACE, BACK_AT,
    BACK_LATE, BACK_BY, SLEWED, SIZE,
) = columns(*[1] * 28)  # fmt: skip
# table: velocity limit, whether continuous, acceleration that Coulomb friction can withstand; position and velocity of
# the last good state, velocity reported in it (NaN: none), estimate from positions; where a refused jump led to (NaN:
# nowhere); mismatch of velocity and positions, distance travelled, whether the reported velocity is not used any more
LIMIT, CONTINUOUS, WITHSTOOD, PLACE, SPEED, REPORTED, ESTIMATE, JUMPED, MISMATCH, TRAVEL, DISTRUSTED = range(11)
# smallest step of the position; states and time (s) since its last step, how many states a reading of the moving joint
# usually stays; what the law last said: velocity and acceleration of the reference, and acceleration by feedback and
# friction compensation; direction of the reference (0: at rest) and how far the joint has come in it
FINEST, STILL, STILL_TIME, HABIT, EXPECTED, ASKED, PUSH, SIDE, ALONG = range(11, 20)
# in that direction: what PUSH usually is while the joint moves, and the most of it since the last step of the reading;
# the speed at that step, the speed that the joint likely has, and what PUSH was on average while it moved; the least
# speed and distance that PUSH must have caused since the last step; whether the reading is frozen; what unwrapping has
# added to the position that is reported, rad
USUAL, MOST, BEFORE, LIKELY, BORNE, GAINED, DISTANCE, DEAD, UNWRAPPED = range(20, 29)
# of the state at hand: mismatch, travel, estimate, the velocity used and what unwrapping adds; position in the first
# state since a stamp that was set back
NEXT_MISMATCH, NEXT_TRAVEL, NEXT_ESTIMATE, USED, NEXT_UNWRAPPED, BACK_PLACE, TABLE = range(29, 36)

#: Answers of `check_state`; from NOT_FINITE on the state is refused.
GOOD, NEW_BASE, WRONG_SHAPE = 0, 1, 2
NOT_FINITE, OUT_OF_RANGE, NO_STAMP, DUPLICATE, OUT_OF_ORDER, DELAYED, JUMP, FAST, SENDERS, STRAY, RUSH, FROZEN = range(
    3, 15
)

#: Columns of `table` that are forgotten with the place.
MOTION = (
    MISMATCH, TRAVEL, STILL, STILL_TIME, HABIT, EXPECTED, ASKED, PUSH, SIDE, ALONG, USUAL, MOST, BEFORE, LIKELY, BORNE,
    GAINED, DISTANCE, UNWRAPPED, NEXT_UNWRAPPED,
)  # fmt: skip
