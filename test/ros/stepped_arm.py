"""A simulated arm behind a `SteppedPeer`: its time goes on as the controller follows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

from .peer import START


class SteppedArm:
    """A controller's process and its arm; a step of time for each joint state."""

    #: Wrenches on links, in their axes.
    wrenches: Mapping[str, np.ndarray] | None = None

    def __init__(self, process: Any, peer: Any, robot: RobotModel, start: np.ndarray, rate: float) -> None:
        self.process, self.peer, self.period = process, peer, 1.0 / rate
        self.simulator = Simulator(ArmPlant(robot), start, dt=self.period, command_timeout=1.0, hold_until_command=True)

    @property
    def q(self) -> np.ndarray:
        return self.simulator.state.q

    def received(self, state: State) -> None:
        """Called in each step, when the controller has answered this state."""

    def run(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds / self.period)):
            state = self.simulator.state
            self.peer.state(state.q, state.qd)
            efforts = self.peer.efforts()
            if efforts:
                self.simulator.command(np.array(efforts[-1]))
            self.received(state)
            self.simulator.advance(1, self.wrenches)
            self.peer.pass_time(self.period)

    def until(self, condition: Callable[[], object], seconds: float = np.inf) -> None:
        """Let time pass until a condition holds, `seconds` of it at most."""
        deadline, passed = time.monotonic() + START, 0.0
        while not condition():
            assert time.monotonic() < deadline, self.process.output()
            assert passed < seconds, self.process.output()
            self.run(0.02)
            passed += 0.02
