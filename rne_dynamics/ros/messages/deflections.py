"""Deflections of the ends of flexible links: a topic, and a warning where they exceed the range of the theory."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.theory_range import deflections, range_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.publishers import EveryNth
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.simulation.plant.state import State

#: Components of a deflection: displacement, m, and small rotation, rad, in the link's frame.
COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")


class BendingWatch:
    """Largest deflection since the last report; findings where links exceed the range of the theory."""

    def __init__(self, arm: FlexibleArm) -> None:
        self._arm, self._part = arm, 0.0
        self._worst: State | None = None

    def note(self, state: State) -> None:
        """Note one state of the simulation."""
        assert state.delta is not None
        part = float(deflections(self._arm, state.delta).max())
        if self._worst is None or part > self._part:
            self._part, self._worst = part, state

    def findings(self, now: State) -> tuple[str, ...]:
        """As `range_findings`, for the state of largest deflection since the last call and for the present one."""
        states = [state for state in (self._worst, now) if state is not None]
        self._part, self._worst = 0.0, None
        delta = np.array([state.delta for state in states])
        q, qd, times = (np.array([getattr(state, name) for state in states]) for name in ("q", "qd", "t"))
        return range_findings(self._arm, q, delta, qd, times)


class DeflectionsPublisher:
    """Publishes the ends of flexible links on ``~/deflections`` every `divisor`-th period, if there are subscribers.

    Names are ``<link>/x`` and so on, see `COMPONENTS`; `position` has displacements and rotations, `velocity` their
    rates.

    `divisor`: periods between two messages; 0 for none at all.
    """

    def __init__(self, node: ArmNode, arm: FlexibleArm, divisor: int) -> None:
        self._arm = arm
        names = [f"{link.link}/{component}" for link in arm.flexible_links for component in COMPONENTS]
        message = JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names))
        self._ends = EveryNth(node, "~/deflections", message, divisor, "position", "velocity")
        self._motion(np.zeros(arm.modes), np.zeros(arm.modes))  # so that the first message is as fast as the others

    def publish(self, stamp: int, delta: Array, deltad: Array) -> None:
        """Send the deflections at the modes' amplitudes and rates, (modes,) each; `stamp` of the state, ns."""
        if self._ends.due():
            self._ends.publish(stamp, *self._motion(delta, deltad))

    def _motion(self, delta: Array, deltad: Array) -> tuple[Array, Array]:
        """Deflections of the ends and their rates, link by link."""
        # deflections are quadratic in δ, so that this difference over any step is their rate exactly
        tips = tip_deflections(self._arm, np.stack([delta, delta + deltad, delta - deltad])).reshape(3, -1)
        return tips[0], 0.5 * (tips[1] - tips[2])
