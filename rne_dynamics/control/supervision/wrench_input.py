"""Target wrenches of a controller: taken where the law in force applies wrenches, and ended by time or mode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rne_dynamics.control.streaming.target_wrench import BASE_AXES, LINK_AXES, WrenchFade, limited
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import HOLDING, TRACKING
from rne_dynamics.control.thresholds import LONGEST_GAP, LONGEST_STEP
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


class WrenchInput:
    """Takes target wrenches; `machine`: of the controller.

    `fade`: what is applied; `advance` is to be called while it is active.
    """

    def __init__(self, machine: StateMachine) -> None:
        self._machine, self.fade = machine, WrenchFade()
        self._until = self._at = -math.inf

    def take(self, wrench: Array, frame: str, now: float) -> str:
        """Apply force and moment, (6,), in axes of the root link or the law's; what was limited."""
        settings, law = self._machine.settings, self._law()
        if law is None:
            name = getattr(settings.tracking, "name", type(settings.tracking).__name__)
            raise ControlError(f"the law in force ({name}) applies no wrench; change to cartesian_impedance")
        if not np.isfinite(wrench).all():
            raise ControlError(f"a target wrench has numbers that are not finite: {wrench.tolist()}")
        root = settings.robot.tree.root
        if frame not in ("", root, law.link):
            raise ControlError(
                f"frame {frame!r} of a target wrench is neither the root link {root!r} nor the law's link {law.link!r}"
            )
        self._machine.ready()
        if now - self._at > LONGEST_GAP:
            self.fade.end(at_once=True)
            self._at = now
        allowed, said = limited(wrench, law.force_limit, law.moment_limit)
        self.fade.aim(allowed.tolist(), LINK_AXES if frame == law.link else BASE_AXES)
        self._until = now + settings.wrench.timeout
        return said

    def advance(self, now: float) -> None:
        """Let the wrench move on to its target at the time `now`, before the law is evaluated."""
        machine, dt, self._at = self._machine, now - self._at, now
        if dt > LONGEST_GAP:  # a hand had the arm, or nobody
            self.fade.end(at_once=True)
        if now >= self._until or machine.mode not in (HOLDING, TRACKING) or self._law() is None:
            self.fade.end()
        self.fade.advance(min(max(dt, 0.0), LONGEST_STEP), machine.settings.wrench)
        machine.torques.change.apply_wrench(self.fade.rows)

    def text(self) -> str:
        """What is applied, for reports; empty for nothing."""
        if not self.fade.active:
            return ""
        force, moment = (math.hypot(*part) for part in self.fade.rows.sum(axis=0).reshape(2, 3))
        return f"{force:.3g} N, {moment:.3g} N m"

    def _law(self) -> Any:
        """The law in force, or to come, if it applies wrenches."""
        law = self._machine.settings.tracking
        return law if hasattr(law, "apply_wrench") else None
