"""Joint states lost at random instants of random motions, on arms that are not the controller's model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from support.altered import altered
from support.foreign_episodes import STIFF, TICK, ForeignEpisode, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.moving_bases import Swell

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, FLOATING, STOPPING
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.ros.parameters.tracking import tracking_settings
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

#: The arms of `arms`, in its order; the pantograph; a PUMA on a ship.
NAMES = ("homemade", "planar2", "puma560", "panda", "ur10", "four_joint_arm", "pantograph", "puma560 on a ship")
#: Between two measurements of the links' speed after a loss, s.
STEP = 2e-3


class Loss(NamedTuple):
    """What the links did; speeds in velocity limits, the largest of all joints.

    Parameters
    ----------
    at
        When the states were lost.
    braked, peak
        The largest until braking was over, and until the states were back or the release began.
    end
        At the end of that.
    """

    at: float
    braked: float
    peak: float
    end: float


@cache
def pantograph() -> Mechanism:
    """As the controller knows it."""
    robot = rne.load_model("pantograph")
    assert isinstance(robot, Mechanism)
    return robot


def controlled(name: str) -> RigidRobot:
    """The controller's model of one of `NAMES`."""
    return pantograph() if name == "pantograph" else arms()[2 if name.endswith("ship") else NAMES.index(name)][1]


@dataclass
class LostStates(ForeignEpisode):
    """One loss, with the node's settings.

    Parameters
    ----------
    name
        Of `NAMES`.
    mass
        Largest deviation of each link's mass, as a part of it.
    """

    name: str = "puma560"
    mass: float = 0.5

    def new_rig(self) -> ForeignRig:
        """The arm with its deviations, and messages that take up to 6 ms both ways together."""
        rng, self.period, self.robot = self.rng, TICK, controlled(self.name)
        late, self.delay = (float(rng.choice([0.0, 1e-3, 3e-3])) for _ in range(2))
        line = Line(float(rng.choice([1e-3, 2e-3, 4e-3])), late)
        friction = float(rng.choice([0.0, 1.0, 3.0, rng.uniform(0.0, 3.0)]))
        factors, start = 1.0 + self.mass * rng.uniform(-1.0, 1.0, 40), self.start()
        self.declared = self.delay + late if rng.random() < 0.5 else 0.0
        self.story.append(f"{self.name}: {line}, efforts {self.delay:g} s late, friction {friction:.2f}")
        base = Swell() if self.name.endswith("ship") else None
        rig = ForeignRig(self.robot, start, self.new_settings(), period=TICK, line=line, rng=rng, base=base)
        if base is None and not self.robot.loops:
            gears = float(rng.choice([np.inf, np.inf, rng.uniform(STIFF, 60.0)]))
            deviation = Deviation(tuple(factors), friction, frequency=gears, command_delay=self.delay)
            rig.simulator = ForeignArm(arms()[NAMES.index(self.name)][0], start, TICK, deviation)
        else:
            rig.line = line._replace(delay=late + self.delay)
            plant: Any = altered(self.robot.open_tree, factors, friction)
            plant = replace(self.robot, robot=plant) if self.robot.loops else plant
            rig.simulator = Simulator(
                ArmPlant(plant, base_motion=base), start, dt=TICK, command_timeout=0.2, hold_until_command=True
            )
        return rig

    def new_settings(self) -> Settings:
        """As the node makes them of its parameters."""
        parameters: dict[str, Any] = {
            "startup_check.duration": 0.0, "start.ramp_time": 0.1,
            "stop.policy": str(self.rng.choice(["ramp", "release"])),
        }  # fmt: skip
        if self.name.endswith("ship"):
            parameters["base_motion.topic"] = "imu"
        elif not self.robot.loops:
            parameters["command_delay"] = self.declared
        return tracking_settings(self.robot, controller_values(self.robot, parameters))

    @property
    def fast(self) -> float:
        """The largest true speed, in velocity limits."""
        return float((np.abs(self.rig.speeds[-1]) / self.rig.supervisor.settings.limits.velocity).max())

    def loss(self) -> Loss | None:
        """Hold, move or guide the arm, and lose the states; None where it was stopped or too fast before."""
        rig, rng, supervisor = self.rig, self.rng, self.rig.supervisor
        rig.run(0.3)
        kind = rng.choice(["held", "moving", "guided"], p=[0.15, 0.75, 0.1])
        if kind == "guided" and supervisor.mode in DRIVING:
            supervisor.hand_guide(True)
            rig.run(rng.uniform(0.1, 0.5), wrenches={end_links(self.robot.open_tree)[-1]: rng.uniform(-10.0, 10.0, 6)})
        elif kind == "moving":
            while not self._request(self.does_move):
                pass
            rig.run(rng.uniform(0.02, 0.8))
        at = braked = peak = end = self.fast
        if supervisor.mode not in DRIVING or at > 1.0:
            return None
        lost = float(rng.choice([np.inf, np.inf, rng.uniform(0.03, 0.5)]))
        self.story.append(f"{kind} at {at:.2f}: lost for {lost:.3f} s")
        began, brake = rig.now, supervisor.settings.states.timeout + supervisor.settings.stop.brake_time
        while rig.now - began < lost and supervisor.mode in {STOPPING, FLOATING, *DRIVING}:
            if rig.now >= supervisor.machine.stop.down_from:
                break
            rig.run(STEP, corrupt=lambda state: None)
            end = self.fast
            peak = max(peak, end)
            braked = peak if rig.now - began < brake else braked
        return Loss(at, braked, peak, end)
