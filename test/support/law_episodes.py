"""Random episodes on foreign arms as `support.foreign_episodes`, under all laws, which change while the arm moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.foreign_episodes import ForeignEpisode, controller_values

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.ros.parameters.tracking import fitting, tracking_settings

LAWS = ("joint_impedance", "cartesian_impedance", "computed_torque")


class LawEpisode(ForeignEpisode):
    """One run under a law that may change."""

    #: Laws of the start, and those that follow.
    first_laws, laws = LAWS[:2], LAWS

    def new_settings(self) -> Settings:
        """As there, with a law and random springs."""
        rng, self.declared = self.rng, False
        before = super().new_settings()
        rate = 0.8 / self.line.period
        self.law = str(rng.choice(self.first_laws))
        ratio, stiff = float(rng.uniform(0.3, 1.2)), float(rng.choice([0.3, 1.0, 3.0]))
        self.changes: dict[str, Any] = {
            "min_rate": rate, "joint_impedance.{joint}.damping_ratio": ratio,
            "cartesian_impedance.damping_ratio": (ratio,) * 6,
            "cartesian_impedance.mode": str(rng.choice(["impedance", "impedance", "operational_space"])),
            "cartesian_impedance.axes": str(rng.choice(["base", "tool"])),
            "cartesian_impedance.bandwidth": (float(rng.uniform(5.0, min(25.0, rate / 10.0))),) * 6,
            "cartesian_impedance.stiffness": (stiff * 300.0,) * 3 + (stiff * 20.0,) * 3,
            "cartesian_impedance.force_limit": float(rng.choice([0.0, 80.0])),
        }
        bandwidth = min(15.0, rate / 8.0)
        for law in ("gains", "disturbance_observer"):
            self.changes |= {f"{law}.{{joint}}.p": bandwidth**2, f"{law}.{{joint}}.d": 2.0 * bandwidth}
        self.changes["disturbance_observer.bandwidth"] = 0.4 * bandwidth
        self.story.append(f"law {self.law} {self.changes}")
        return self._adapted(before)

    def _adapted(self, settings: Settings) -> Settings:
        """Settings with the present law and its tolerances."""
        values = controller_values(self.robot, self.changes | {"law": self.law})
        made = tracking_settings(self.robot, fitting(values, "computed_torque", self.robot.joint_names))
        return replace(settings, tracking=made.tracking, holding_error=made.holding_error, command_delay=0.0,
                       assumed_rate=made.assumed_rate)  # fmt: skip

    def happenings(self) -> list[Callable[[], None]]:
        """Now and then another law."""
        return [*super().happenings(), self.does_change_law, self.does_change_law]

    def does_change_law(self) -> None:
        """Another law, or other springs of the same."""
        self.law = str(self.rng.choice(self.laws))
        if self.rng.random() < 0.3:
            self.changes["joint_impedance.{joint}.damping_ratio"] = float(self.rng.uniform(0.3, 1.2))
        self.rig.supervisor.adopt(self._adapted(self.rig.supervisor.settings))
