"""Measurement of a payload while a controller holds the arm: rest in some postures, without and with it."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from rne_dynamics.control.static_payload import estimate_payload
from rne_dynamics.control.supervision.payload_estimate import end_bodies, outermost_link
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dynamics.declared.arguments import check_open_arm
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.ros.loop.messages import Snapshot

#: Time that is averaged, s, and least snapshots in it.
AVERAGING, LEAST_SNAPSHOTS = 1.0, 10
#: Largest displacement in that time, and largest distance between postures that count as one, rad or m.
LEAST_MOTION, SAME_POSTURE = 2e-3, 0.02


#: An arm at rest: mean positions and reported efforts, (n,).
Rest = tuple[Array, Array]


class PayloadMeasurement:
    """Rests without and with a payload, and the payload that they show."""

    def __init__(self) -> None:
        self._newest: deque[Snapshot] = deque(maxlen=200)
        self._empty: list[Rest] = []
        self._loaded: list[Rest] = []
        #: What the last request led to.
        self.said = ""

    def take(self, snapshot: Snapshot) -> None:
        """Take the present state."""
        self._newest.append(snapshot)

    def tare(self) -> None:
        """Measure without the payload; raises as `measure`."""
        self._empty.append(self._rest())
        self.said = f"{len(self._empty)} measured without payload"

    def measure(self) -> None:
        """Measure with the payload; `ControlError` where the arm is not at rest, or reports no efforts."""
        self._loaded.append(self._rest())
        self.said = f"{len(self._loaded)} measured with payload"

    def estimate(self, robot: Robot, link: str) -> None:
        """Say which payload at `link`, empty for the only end, they show, and forget those with it. ControlError."""
        check_open_arm(robot)
        arm = robot.open_tree  # itself
        ends = [outermost_link(arm, body) for body in end_bodies(arm)]
        refuse(
            ControlError,
            (not link and len(ends) != 1,
             f"which link carries the payload? set payload.link, for instance {', '.join(ends)}"),
            (not self._loaded,
             "nothing was measured with the payload: call payload/measure in three postures or more"),
        )
        q, efforts = map(np.array, zip(*self._loaded, strict=True))
        found = estimate_payload(arm, link or ends[0], q, efforts, tare=self._tare() if self._empty else None)
        self._loaded = []
        mass, spread, (x, y, z) = found.payload.mass, found.mass_deviation, np.asarray(found.payload.com).round(4)
        if not np.isfinite(found.com_deviation).all():
            self.said = f"no payload is seen: {mass:.3f} +- {spread:.3f} kg"
            return
        unsure = ", ".join(f"{deviation:.4f}" for deviation in found.com_deviation)
        self.said = (
            f"{mass:.3f} +- {spread:.3f} kg, its mass centre +- [{unsure}] m: set payload.link: {link or ends[0]}, "
            f"payload.mass: {mass:.3f}, payload.com: [{x:g}, {y:g}, {z:g}]"
        )

    def _tare(self) -> Array:
        """Efforts without the payload in the postures with it; (postures, n)."""
        rows = []
        for k, (q, _) in enumerate(self._loaded):
            same = [effort for empty, effort in self._empty if np.abs(empty - q).max() < SAME_POSTURE]
            if not same:
                raise ControlError(
                    f"posture {k + 1} with the payload was not measured without it (within {SAME_POSTURE:g} rad or m): "
                    "call payload/tare there, or begin anew by clean-up and configure"
                )
            rows.append(np.mean(same, axis=0))
        return np.array(rows)

    def _rest(self) -> Rest:
        newest = [x for x in self._newest if x.stamp >= self._newest[-1].stamp - AVERAGING * NANOSECONDS]
        gaps = [b.stamp - a.stamp for a, b in pairwise(newest)]
        if len(newest) < LEAST_SNAPSHOTS or max(gaps) > 0.5 * AVERAGING * NANOSECONDS:
            raise ControlError(f"the arm must be held for {AVERAGING:g} s before it is measured")
        q, effort = np.array([x.q for x in newest]), np.array([x.reported for x in newest])
        moved = float(np.ptp(q, axis=0).max())
        refuse(
            ControlError,
            (moved > LEAST_MOTION,
             f"a joint moved by {moved:.2g} rad or m in {AVERAGING:g} s, more than {LEAST_MOTION:g}: wait"),
            (not np.isfinite(effort).all(),
             "joint_states has no efforts of all joints; without them no payload can be measured"),
        )
        return q.mean(axis=0), effort.mean(axis=0)
