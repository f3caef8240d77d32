"""What a run of an arm measured, and what its controller reported; causes of what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from rne_dynamics.model.inertia import Array


class Cause(Enum):
    """Why a joint does not move or track."""

    STOPPED = "the controller stopped the arm"
    ABORTED = "the controller aborted a trajectory"
    REFUSED = "the controller refused a trajectory"
    PAUSED = "the speed scaling was 0"
    SATURATED = "its effort was at its limit"
    OTHER_SATURATED = "another joint's effort was at its limit"
    POSITION_LIMIT = "it was at its position limit"
    LIMITED = "the controller limited efforts"
    FRICTION = "its friction is larger than the reach of its gain"
    UNKNOWN_EFFORT = "its model lacks an effort"
    NO_FEEDFORWARD = "its law has no feedforward"
    LATE = "replies were late"
    GOAL_MISSED = "the controller reports a missed goal, and nothing that was measured shows why"
    UNKNOWN = "nothing that was measured or reported shows why"


@dataclass(frozen=True)
class Reports:
    """What a controller reported about the motion.

    Parameters
    ----------
    stopped, aborted, refused, missed
        Its own words on the first stop or fault, and on the first trajectory that it aborted, that it refused, or whose
        goal was missed; empty for none.
    limited, limit
        Number of efforts that it limited, and its words on the last one.
    speed
        Speed scaling, 0 to 1.
    """

    stopped: str = ""
    aborted: str = ""
    refused: str = ""
    missed: str = ""
    limited: int = 0
    limit: str = ""
    speed: float = 1.0

    @property
    def failure(self) -> tuple[Cause, str] | None:
        """Why the motion was not followed to its end, and the controller's words; None if it was."""
        given = (Cause.STOPPED, self.stopped), (Cause.ABORTED, self.aborted), (Cause.REFUSED, self.refused)
        found = next(((cause, words) for cause, words in given if words), None)
        return (Cause.PAUSED, "") if found is None and self.speed == 0.0 else found


@dataclass(frozen=True, eq=False)
class Run:
    """What a run measured, row by row.

    Parameters
    ----------
    time
        s; shape (rows,).
    q, qd, error, effort
        Position, velocity, desired less measured position, applied effort; rad or m, per s, N·m or N; shape (rows, n).
    rms
        Root mean square of the error, as the caller counts it; shape (n,).
    asked
        Travel of the motion as it was sent, largest less smallest position; shape (n,).
    effort_limit
        Infinite where there is none; shape (n,).
    terms
        The law's torque terms by name, at the same rows: "feedback", "friction" and "gravity" are used.
    missed
        Share of replies that were missed, 0 to 1.
    reports
        Of the controller.
    """

    time: Array
    q: Array
    qd: Array
    error: Array
    effort: Array
    rms: Array
    asked: Array
    effort_limit: Array
    terms: Mapping[str, Array] = field(default_factory=dict)
    missed: float = 0.0
    reports: Reports = field(default_factory=Reports)

    @property
    def made(self) -> Array:
        """Travel that was made, largest less smallest position, rad or m; shape (n,)."""
        made: Array = np.ptp(self.q, axis=0)
        return made
