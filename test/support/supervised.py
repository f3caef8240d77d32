"""A simulated arm and a `Supervisor` in one loop, without ROS: every effort that would be sent is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains, tolerated_delay
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.base_filter import BaseReading
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Points, Rules, accept_table
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.output import Effort
from rne_dynamics.control.supervision.settings import Settings, StartCheck
from rne_dynamics.control.supervision.states import Mode, StopPlan
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dynamics.kinematics.kinematics import rotation_quaternions
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.base_motion import BaseTrajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

#: Largest change of the effort in these tests, of the effort limit per second.
RATE = 60.0
#: Time between two measurements of a moving base, s.
BASE_PERIOD = 0.005


def settings(robot: RobotModel, *, tracking: bool = True, bandwidth: float = 20.0, **changes: Any) -> Settings:
    """Plain settings of a controller of `robot`; whatever is given replaces a field of the same name."""
    n, joints = robot.n, robot.joint_names
    friction = FrictionCompensation(1.0, 0.001)
    gains = Gains(np.full(n, bandwidth**2), np.zeros(1), np.full(n, 2.0 * bandwidth), joint_names=joints)
    plain = Settings(
        robot=robot,
        limits=EffortLimits(
            effort=robot.effort_limit, rate=RATE * robot.effort_limit, velocity=robot.velocity_limit,
            lower=robot.lower, upper=robot.upper, margin=np.zeros(n), joints=joints,
        ),
        states=StateLimits(
            robot.velocity_limit, np.zeros(n, dtype=bool), 0.1, 50.0, joints,
            lateness=tolerated_delay(gains.p, gains.i, gains.d) if tracking else np.inf,
            coulomb=joint_friction(robot).static,
        ),
        tracking=ComputedTorque(robot, gains, friction) if tracking else None,
        floating=GravityCompensation(robot, np.full(n, 0.5)),
        stop=StopPlan(hold_time=0.1, ramp_time=0.3, brake_time=0.2),
        check=StartCheck(duration=0.0),
        feedback_ramp=0.1,
    )
    return replace(plain, **changes)


def table(times: Array, *rows: Array | None) -> Points:
    """Points for all joints: positions, and velocities and accelerations where there are some, (points, n)."""
    given = np.array([row for row in rows if row is not None])
    return Points(np.arange(given.shape[2]), np.asarray(times, dtype=float), given)


def accepted(given: Settings, start: Array, points: Points) -> Accepted:
    """As a node accepts a trajectory, with the arm at rest in `start`."""
    robot = given.robot
    rest = Reference(start, np.zeros(robot.n), np.zeros(robot.n))
    limits = MotionLimits(robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, 0.05)
    demand = EffortDemand(given.tracking, given.limits, given.compensated)
    return accept_table(points, 10**18, CurrentMotion(10**18, lambda stamp: rest), Rules(limits, 0.3, demand))


@dataclass
class Rig:
    """The loop; time passes only in `run`."""

    robot: RobotModel
    start: Array
    settings: Settings
    period: float = 2e-3
    now: float = 100.0
    sent: list[Array] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    endings: list[tuple[Ending, str]] = field(default_factory=list)
    last: Effort | None = None
    #: What the motors make of a command; the identity on an arm that is in order.
    motors: Callable[[Array], Array] = lambda command: command
    #: True power of each joint's motor, W, and velocity, at each step.
    power: list[Array] = field(default_factory=list)
    speeds: list[Array] = field(default_factory=list)
    #: How the base moves, and what becomes of what its sensor measures every `BASE_PERIOD`.
    base: BaseTrajectory | None = None
    base_message: Callable[[BaseReading], BaseReading | None] = lambda reading: reading
    #: The arm where it is not `robot`, the model.
    real: RobotModel | None = None

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.settings, lambda mode, cause: self.modes.append(mode))
        self.simulator = Simulator(
            ArmPlant(self.real or self.robot, base_motion=self.base), self.start, dt=self.period, command_timeout=0.2,
            hold_until_command=True,
        )
        self.sequence = 0
        self.supervisor.activate(self.now)

    @property
    def mode(self) -> Mode:
        return self.supervisor.mode

    def move(self, goal: Array, duration: float, delay: float = 0.0, tolerances: Tolerances | None = None) -> None:
        """Send a quintic from where the reference is."""
        n = self.robot.n
        now = self.supervisor.queue.reference
        trajectory = SampledTrajectory(
            np.array([0.0, duration]), np.stack([now.q, goal]), np.zeros((2, n)), np.zeros((2, n)),
            self.robot.joint_names,
        )
        chosen = tolerances or Tolerances(self.robot.joint_names, goal=0.01, goal_time=0.2)
        motion = Motion(trajectory, self.supervisor.stamp + round(delay * 1e9), chosen, blend_time=0.2)
        self.supervisor.follow(motion, lambda ending, text: self.endings.append((ending, text)))

    def run(
        self, seconds: float, *, corrupt: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda state: state,
        command: bool = True, wrenches: Any = None,
    ) -> None:
        """Let time pass; `corrupt` may change or swallow the states."""
        for _ in range(round(seconds / self.period)):
            self.simulator.advance(1, wrenches)
            self.now += self.period
            state, applied = self.simulator.state, self.simulator.applied_effort
            self.power.append(applied * state.qd)
            self.speeds.append(state.qd.copy())
            self.sequence += 1
            self.sense(state.t)
            message = corrupt({
                "stamp": round(1e9 * state.t) + 10**18, "q": state.q.copy(), "qd": state.qd.copy(),
                "reported": applied, "velocity_missing": False, "sequence": self.sequence,
            })
            effort = None
            if message is not None:
                stamp, q, qd, reported = (message.pop(key) for key in ("stamp", "q", "qd", "reported"))
                if self.supervisor.observe(stamp, self.now, q, qd, reported, **message):
                    effort = self.supervisor.effort(self.supervisor.stamp, self.now)
            self.take(effort if effort is not None else self.supervisor.tick(self.now), command)

    def reach(self, *modes: Mode, most: float, **how: Any) -> None:
        """Run until it is in one of the modes, at most for a time, s."""
        end = self.now + most
        while self.mode not in modes and self.now < end:
            self.run(0.02, **how)

    def sense(self, t: float) -> None:
        """Hand on what a sensor at the root link measures."""
        if self.base is None or round(t / self.period) % round(BASE_PERIOD / self.period):
            return
        motion = self.base.motion(t)
        packed = motion.packed(self.robot.gravity)
        q = rotation_quaternions(np.asarray(motion.rotation)[None])[0]
        reading = self.base_message(BaseReading(round(1e9 * t) + 10**18, q, packed[3:6], packed[6:9]))
        if reading is not None:
            self.supervisor.sense_base(reading, self.now)

    def take(self, effort: Effort | None, command: bool) -> None:
        if effort is None:
            return
        self.last = effort
        self.sent.append(effort.command.copy())
        self.times.append(self.now)
        if command:
            self.simulator.command(self.motors(effort.command))

    def check(self) -> Array:
        """What must hold of every effort that was sent; returns them, shape (efforts, n)."""
        sent, limits = np.array(self.sent), self.settings.limits
        assert np.isfinite(sent).all()
        assert (np.abs(sent) <= limits.effort * (1 + 1e-12)).all()
        gaps = np.minimum(np.diff(self.times), 0.01)[:, None]
        assert (np.abs(np.diff(sent, axis=0)) <= limits.rate * gaps * (1 + 1e-9) + 1e-9).all()
        return sent
