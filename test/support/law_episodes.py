"""Random episodes on foreign arms as `support.foreign_episodes`, under all laws, which change while the arm moves.

In the folder `test`, `python -m support.law_episodes --from 0 --to 300` searches and sums up.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.episodes import BrokenError
from support.foreign_episodes import THROWN, ForeignEpisode, controller_values, kind_of

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


def search(
    first: int, last: int, kind: type[LawEpisode] = LawEpisode, show: Callable[[str], None] = lambda line: None,
) -> tuple[int, list[str], Counter[str]]:
    """Healthy arms; what was wrong: broken invariants and thrown arms; causes of stops of healthy ones."""
    healthy, wrong, causes = 0, [], Counter[str]()
    for number in range(first, last):
        known, episode = len(wrong), kind(number)
        try:
            episode.run()
        except BrokenError as error:
            wrong.append(f"{number}: {error}")
        except Exception as error:  # noqa: BLE001 the search goes on, and the episode is one command away
            wrong.append(f"{number}: {type(error).__name__}: {error}")
        if episode.judged:
            healthy += 1
            if episode.peak >= THROWN:
                wrong.append(f"{number}: thrown, {episode.peak:.2f}: {episode.stopped}")
            if episode.stopped:
                causes[f"{number}: {kind_of(episode.stopped)}"] += 1
                show(f"{number} ({episode.robot.name}): stopped: {episode.stopped}")
        for line in wrong[known:]:
            show(line)
    return healthy, wrong, causes


def main(kind: type[LawEpisode] = LawEpisode) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", help="run this one and print its story")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=300)
    options = parser.parse_args()
    if options.number is not None:
        episode = kind(options.number)
        try:
            episode.run()
        finally:
            print("\n".join(episode.story))
            print(f"peak {episode.peak:.2f}, stopped: {episode.stopped or 'no'}, mode {episode.rig.mode}")
        return
    began = time.monotonic()
    healthy, wrong, causes = search(options.first, options.last, kind, lambda line: print(line, flush=True))
    print(f"{options.last - options.first} episodes, {len(wrong)} broken, ", end="")
    print(f"{healthy} healthy, stopped: {dict(causes)}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
