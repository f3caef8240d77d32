"""A simulated arm, a controller and an `EffortGate` in one loop, without ROS: every effort that is sent is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from support.compliant import text_of
from support.episode_arms import homemade_urdf

import rne_dynamics as rne
from rne_dynamics.control.effort_gate import EffortGate
from rne_dynamics.control.gate_parts import GateEffort, GateMode, GateSettings
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

#: Largest change of the effort in these tests, of the effort limit per second.
RATE = 60.0
#: Of the stop plan in these tests, s.
HOLD, RAMP = 0.3, 0.4


def gate_settings(robot: RobotModel, **changes: Any) -> GateSettings:
    """Plain settings of a gate for `robot`; whatever is given replaces a field of the same name."""
    plain = GateSettings(
        robot=robot,
        limits=EffortLimits(
            effort=robot.effort_limit, rate=RATE * robot.effort_limit, velocity=robot.velocity_limit,
            lower=robot.lower, upper=robot.upper, margin=np.zeros(robot.n), joints=robot.joint_names,
        ),
        states=StateLimits(robot.velocity_limit, np.zeros(robot.n, dtype=bool), 0.1, 50.0, robot.joint_names),
        stop=StopPlan(hold_time=HOLD, ramp_time=RAMP),
        hand_back_time=0.2,
    )
    return replace(plain, **changes)


def holding(robot: RobotModel, place: Array, bandwidth: float = 10.0) -> Callable[[Array, Array], Array]:
    """A plain controller that holds `place`: gravity, and feedback through the mass matrix."""

    def law(q: Array, qd: Array) -> Array:
        feedback = mass_matrix(robot, q) @ (bandwidth**2 * (place - q) - 2.0 * bandwidth * qd)
        effort: Array = gravity_torque(robot, q) + feedback
        return effort

    return law


@dataclass
class GateRig:
    """The loop; time passes only in `run`. The drives keep the last effort for ever, as most forward controllers do."""

    robot: RobotModel
    start: Array
    settings: GateSettings
    period: float = 2e-3
    friction: bool = True
    qd: Array | None = None
    now: float = 100.0
    sent: list[GateEffort] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    modes: list[GateMode] = field(default_factory=list)
    speeds: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate = EffortGate(self.settings, lambda mode, cause: self.modes.append(mode))
        self.plant = ArmPlant(self.robot, friction=self.friction)
        self.simulator = Simulator(self.plant, self.start, self.qd, dt=self.period, hold_until_command=self.qd is None)
        self.sequence = 0
        self.gate.activate(self.now)

    @property
    def mode(self) -> GateMode:
        return self.gate.mode

    def run(
        self, seconds: float, controller: Callable[[Array, Array], Array | None] | None = None, *,
        states: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda state: state,
        drive: Callable[[Array], Array] = lambda effort: effort,
    ) -> None:
        """Let time pass; `states` may change or swallow the joint states, `drive` is what the motors make of efforts.

        The controller's effort for a state comes half a period after it.
        """
        for _ in range(round(seconds / self.period)):
            self.simulator.advance(1)
            self.now += 0.5 * self.period
            state = self.simulator.state
            self.sequence += 1
            self.speeds.append(state.qd.copy())
            message = states({
                "stamp": round(1e9 * state.t) + 10**18, "q": state.q.copy(), "qd": state.qd.copy(),
                "velocity_missing": False, "sequence": self.sequence,
            })
            if message is not None:
                stamp, q, qd = (message.pop(key) for key in ("stamp", "q", "qd"))
                self.take(self.gate.observe(stamp, self.now, q, qd, **message), drive)
            self.take(self.gate.tick(self.now), drive)
            self.now += 0.5 * self.period
            effort = None if controller is None else controller(state.q.copy(), state.qd.copy())
            if effort is not None:
                self.take(self.gate.command(self.now, effort), drive)
            self.take(self.gate.tick(self.now), drive)

    def take(self, effort: GateEffort | None, drive: Callable[[Array], Array]) -> None:
        if effort is not None:
            self.sent.append(effort)
            self.times.append(self.now)
            self.simulator.command(drive(effort.command))

    def check(self) -> Array:
        """What must hold of every effort that was sent; returns them, shape (efforts, n)."""
        sent, limits = np.array([e.command for e in self.sent]).reshape(-1, self.robot.n), self.settings.limits
        assert np.isfinite(sent).all()
        assert (np.abs(sent) <= limits.effort * (1 + 1e-12)).all()
        steps = np.diff(np.vstack([np.zeros(self.robot.n), sent]), axis=0)
        gaps = np.minimum(np.diff(self.times, prepend=-np.inf), 0.01)[:, None]
        assert (np.abs(steps) <= limits.rate * gaps * (1 + 1e-9) + 1e-9).all()
        return sent


ROBOT = rne.load_urdf("puma560")
Q = np.array([0.2, -0.4, 0.3, 0.1, 0.5, 0.0])
WAITING, PASSING, STOPPING, RELEASED, FAULT, INACTIVE = (
    GateMode.WAITING, GateMode.PASSING, GateMode.STOPPING, GateMode.RELEASED, GateMode.FAULT, GateMode.INACTIVE
)
#: Time that a take-over may need beyond its configured times: the way to zero at the effort rate, and some periods, s.
SLACK = 1.0 / RATE + 0.02


@cache
def arm(name: str) -> RobotModel:
    if name == "homemade":
        return rne.load_urdf(homemade_urdf())
    return ROBOT if name == "puma560" else rne.load_urdf(text_of(name))


def middle(robot: RobotModel) -> np.ndarray:
    """A posture away from the stops, bent so that gravity pulls."""
    lower, upper = np.maximum(robot.lower, -1.5), np.minimum(robot.upper, 1.5)
    return lower + np.resize([0.55, 0.35, 0.7], robot.n) * (upper - lower)


def passing(
    robot: RobotModel = ROBOT, start: np.ndarray = Q, *, friction: bool = True, **changes: object
) -> tuple[GateRig, object]:
    """A rig that passes the efforts of a controller that holds the arm."""
    rig = GateRig(robot, start, gate_settings(robot, **changes), friction=friction)
    controller = holding(robot, start)
    rig.run(0.2, controller)
    assert rig.mode is PASSING
    return rig, controller
