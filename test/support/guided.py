"""An arm that a hand leads, under a node's default parameters and with one period of delay, without ROS messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros import gravity_compensation
from rne_dynamics.ros.parameters import tracking
from rne_dynamics.ros.parameters.controller import controller_settings
from rne_dynamics.ros.parameters.files import JOINT, Value, Values, per_joint
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

NODES = {"hand guiding": tracking.SCHEMA, "gravity compensation": gravity_compensation.SCHEMA}
#: Longest step of the simulated arm, s.
STEP = 1e-3
#: The hand: how fast it leads each joint, rad/s and m/s, and the natural frequency of its grip, rad/s.
SPEED, GRIP = 0.3, 10.0


def defaults(node: str, joints: Sequence[str], **changes: Value) -> Values:
    """All parameters of a controller as it declares them; dots of changed names are two underscores."""
    values: dict[str, Value] = {}
    for p in NODES[node]:
        for joint in joints if JOINT in p.name else ("",):
            values[p.name.replace(JOINT, joint)] = p.default
    given = {name.replace("__", "."): value for name, value in changes.items()}
    assert given.keys() <= values.keys(), f"no parameters {sorted(given.keys() - values.keys())}"
    return {**values, **given}


def node_settings(node: str, robot: RigidRobot, **changes: Value) -> Settings:
    """What a controller makes of its default parameters."""
    joints = robot.joint_names
    values = defaults(node, joints, **changes)
    if node == "gravity compensation":
        return controller_settings(robot, values, law=None, damping="gains.{joint}.d")
    columns = [np.array(per_joint(values, f"gains.{{joint}}.{k}", joints)) for k in ("p", "i", "d", "i_clamp")]
    law = ComputedTorque(robot, Gains(*columns, joints))
    return controller_settings(robot, values, law=law, damping="hand_guiding.{joint}.damping")


def inside(robot: RigidRobot) -> Array:
    """A posture away from all stops, bent, with gravity to carry; of a mechanism its own."""
    neutral = np.array(robot.neutral)
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    if not isinstance(robot, rne.RobotModel):
        return neutral
    bent = neutral + 0.4 * (-1.0) ** np.arange(robot.n)
    away = 0.25 * (upper - lower)
    return np.clip(bent, lower + away, upper - away)


@dataclass
class Guided:
    """The loop: states at `rate`, efforts that act one period later and are held for one."""

    node: str
    robot: RigidRobot
    rate: float
    friction: bool
    changes: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = node_settings(self.node, self.robot, **self.changes)
        self.supervisor = Supervisor(self.settings)
        self.substeps = max(round(1.0 / (self.rate * STEP)), 1)
        self.simulator = Simulator(
            ArmPlant(self.robot, friction=self.friction), inside(self.robot), dt=1.0 / (self.rate * self.substeps),
            command_timeout=0.2, hold_until_command=True,
        )
        self.now, self.number = 100.0, 0
        self.acting: Array | None = None  # last command of the motors
        self.under_way: Array | None = None  # what was computed from the last state
        self.fastest = 0.0
        self.supervisor.activate(self.now)

    def start(self) -> None:
        """Until the arm floats; nothing is clamped from then on."""
        self.run(1.8)
        if self.node == "hand guiding":
            assert self.supervisor.mode is Mode.HOLDING, self.supervisor.cause
            self.supervisor.hand_guide(True)
        assert self.supervisor.mode is Mode.FLOATING, (self.supervisor.mode, self.supervisor.cause)
        self.supervisor.counters.clamped = 0
        self.fastest = 0.0

    def run(self, seconds: float, hand: Array | None = None) -> None:
        """Let time pass; a `hand` moves the joints at these speeds, rad/s or m/s, shape (n,), from where they are."""
        simulator, supervisor = self.simulator, self.supervisor
        begun, q0 = simulator.state.t, np.array(simulator.state.q)
        grip = np.diag(mass_matrix(self.robot, q0)) if hand is not None else None
        for _ in range(round(seconds * self.rate)):
            for _ in range(self.substeps):
                if hand is not None and self.acting is not None:
                    state = simulator.state
                    behind = q0 + hand * (state.t - begun) - state.q
                    simulator.command(self.acting + grip * (GRIP**2 * behind + 2.0 * GRIP * (hand - state.qd)))
                simulator.advance(1)
            self.now += 1.0 / self.rate
            self.number += 1
            if self.under_way is not None:
                self.acting = self.under_way
                simulator.command(self.acting)
            state = simulator.state
            self.fastest = max(self.fastest, float(np.abs(state.qd).max()))
            reported = self.acting if self.acting is not None else np.zeros(self.robot.n)
            if supervisor.observe(
                round(1e9 * state.t) + 10**18, self.now, np.array(state.q), np.array(state.qd), np.array(reported),
                sequence=self.number,
            ):
                effort = supervisor.effort(supervisor.stamp, self.now)
                self.under_way = None if effort is None else effort.command

    @property
    def energy(self) -> float:
        """Kinetic energy, J."""
        state = self.simulator.state
        M = mass_matrix(self.robot, state.q)
        return float(0.5 * state.qd @ M @ state.qd)

    def speeds(self) -> Array:
        """How fast the hand leads each joint: within a third of its limit and 3 % of its range a second."""
        robot = self.robot
        span = np.where(np.isfinite(robot.upper - robot.lower), robot.upper - robot.lower, 2.0 * np.pi)
        limit = np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)
        return np.minimum(np.minimum(SPEED, limit / 3.0), 0.05 * span) * (-1.0) ** np.arange(robot.n)

    def quiet(self) -> None:
        """What must hold: the arm floats, and no effort was clamped."""
        supervisor = self.supervisor
        assert supervisor.mode is Mode.FLOATING, (supervisor.mode, supervisor.cause)
        assert supervisor.counters.clamped == 0, supervisor.machine.output.clamp_text()


