"""Random episodes with everything at once: as `support.law_episodes`, with pose targets, contact and loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.foreign_episodes import controller_values
from support.law_episodes import LAWS, LawEpisode
from support.pose_episodes import PoseTargets
from support.robots import deepest

import rne_dynamics as rne
from rne_dynamics.control.contact_watch import REACTIONS
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.parameters.tracking import COMPLIANT, fitting, tracking_settings

#: Part of the effort limits that holds a load, in any of so many random postures.
RATED, POSTURES = 0.1, 30
#: Time after which the controller of a healthy arm has a load, s: soft springs of a light arm sink far with it.
SOON = 0.05


class MixedEpisode(PoseTargets, LawEpisode):
    """One run under a law that may change, of an arm that is sent to poses, touched and loaded."""

    #: Whether it has a load that its controller does not know.
    unknown = False
    laws = (*LAWS, "pd_gravity")

    def new_settings(self) -> Settings:
        """As there, with a link that follows poses and a reaction to contact."""
        rng, self.model, self.contacts = self.rng, self.robot, 0
        self.pending: list[tuple[float, Callable[[], None]]] = []
        self.link = deepest(self.robot)
        self.more: dict[str, Any] = {
            "target_pose.link": self.link, "target_pose.speed": float(rng.choice([0.2, 1.0])),
            "contact.reaction": str(rng.choice(REACTIONS)), "contact.model_error": float(rng.choice([0.05, 0.5])),
            "prepared_laws": (COMPLIANT,),
        }  # fmt: skip
        self.story.append(f"{self.more}")
        return super().new_settings()

    def _adapted(self, settings: Settings) -> Settings:
        """As the node makes them, of the present law and load."""
        given = self.parameters | self.changes | self.more | {"law": self.law}
        values = fitting(controller_values(self.robot, given), "computed_torque", self.robot.joint_names)
        return tracking_settings(self.model, values)

    def happenings(self) -> list[Callable[[], None]]:
        """Those of this class often."""
        return [*super().happenings(), self.does_pose, self.does_pose, self.does_load, self.does_change_law]

    def does_change_law(self) -> None:
        """Another law; one that is refused is not adopted."""
        before, self.law = self.law, str(self.rng.choice(self.laws))
        try:
            self.rig.supervisor.adopt(self._adapted(self.rig.supervisor.settings))
        except RneDynamicsError:
            self.law = before
            raise

    def does_load(self) -> None:
        """A load is picked up or lost; the controller of a healthy arm soon receives it, others later or never."""
        rng, arm = self.rng, self.rig.simulator
        load = arm.load(float(rng.uniform(0.0, 1.0)) * self._rating(arm.load(0.0)) if rng.random() < 0.7 else 0.0)
        self._say(f"    {load}")
        self.unknown = True
        if self.requests_only or rng.random() < 0.7:
            late = SOON if self.requests_only else 0.5
            self.pending.append((self.rig.now + late * rng.random(), lambda: self._receive(load)))
            self.pending.sort(key=lambda due: due[0])

    def _receive(self, load: Payload) -> None:
        self.model = self.robot.with_payload(load) if load.mass > 0.0 else self.robot
        self._say("its controller has the load")
        self.unknown = False
        self.rig.supervisor.adopt(self._adapted(self.rig.supervisor.settings))

    def _rating(self, at: Payload) -> float:
        """The mass, kg, that `RATED` of the efforts holds there."""
        heavier, most = self.robot.with_payload(Payload(at.link, 1.0, at.com)), np.zeros(self.robot.n)
        for _ in range(POSTURES):
            q: Array = rne.random_configuration(self.robot, self.rng)
            most = np.maximum(most, np.abs(rne.gravity_torque(heavier, q) - rne.gravity_torque(self.robot, q)))
        return float((RATED * self.robot.effort_limit / np.maximum(most, 1e-9)).min())

    def _judge(self, before: Mode) -> None:
        peak = self.peak
        super()._judge(before)
        if self.unknown and self.rig.mode is Mode.FLOATING:  # what nobody leads falls with a load of which nobody knows
            self.peak = peak

    def _cycle(self) -> None:
        super()._cycle()
        contact = self.rig.supervisor.contact
        while self.pending and self.pending[0][0] <= self.rig.now:
            self._request(self.pending.pop(0)[1])
        if contact.count > self.contacts:
            self.contacts = contact.count
            self._say(f"contact: {self.more['contact.reaction']}")
            if self.more["contact.reaction"] == "comply":
                self.law = COMPLIANT
                self.rig.supervisor.adopt(self._adapted(self.rig.supervisor.settings))
