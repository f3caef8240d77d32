"""A simulated arm that somebody plays with: a control law, a hand, pushes, pause, steps, moves. No browser."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.felt_inertia import joint_inertia
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.cartesian_impedance import CartesianImpedance
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.streaming.limits import default_acceleration
from rne_dynamics.control.streaming.pose_following import PoseFollower, PoseLimits
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic, at_rest, quintic_duration
from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.dynamics.kinematics.inverse_kinematics import frame_row
from rne_dynamics.errors import ArgumentError, SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.surroundings import Scene
from rne_dynamics.simulation.runs.push import Push, load
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.viewer.scene import Kinematics, moving_links

# The spring is scaled with the inertia Λ = (J M⁻¹ Jᵀ)⁻¹ that the hand feels, f = Λ (ω² e − 2 ω v), so that a light
# wrist and a heavy shoulder follow alike, and neither shakes.

#: ω, 1/s; the second of arms with flexible links, which a stiff hand would shake.
STIFFNESS, SOFT = 15.0, 4.0
#: Largest force over the robot's weight.
STRONGEST = 2.0
#: Largest felt inertia over the robot's mass: a stretched arm resists along itself like a wall.
HEAVIEST = 3.0


class Hand:
    """The spring, ω in 1/s, at one link; `feel` the posture now and then, ask for `force` in every step."""

    def __init__(self, robot: RigidRobot, link: str, stiffness: float = STIFFNESS) -> None:
        self.robot, self.link, self._stiffness = robot, link, stiffness
        self._strongest = STRONGEST * 9.81 * robot.mass
        #: Where the hand is, in the root link's frame, m; `None` while it lets go.
        self.target: Array | None = None

    def feel(self, q: Array, rotation: Array, position: Array) -> None:
        """Take the posture: joint positions (n,), the link's ``R_WL`` (3, 3) and ``p_WL`` (3,)."""
        self._q, self._turn, self._point = q, rotation, position
        # of any robot, by virtual work: a force f on the link gives the joints Jᵀ f, unit forces give the rows of J
        self._jacobian = np.array([load(self.robot, q, Push(self.link, rotation.T @ axis, 0.0, 0.0))
                                   for axis in np.eye(3)])  # fmt: skip
        compliance: Array = np.eye(3) / (HEAVIEST * max(self.robot.mass, 1e-3))
        with contextlib.suppress(np.linalg.LinAlgError):  # a joint that moves no inertia; the ceiling alone counts
            compliance = compliance + self._jacobian @ np.linalg.solve(mass_matrix(self.robot, q), self._jacobian.T)
        self._inertia = np.asarray(np.linalg.inv(compliance), dtype=np.float64)

    def force(self, q: Array, qd: Array) -> Array:
        """Force on the link's origin, N, in the axes of the root link, (3,); zero while the hand lets go."""
        if self.target is None:
            return np.zeros(3)
        error = self.target - self._point - self._jacobian @ (q - self._q)
        w = self._stiffness
        pull: Array = self._inertia @ (w * w * error - 2.0 * w * self._jacobian @ qd)
        return pull * min(1.0, self._strongest / max(float(np.linalg.norm(pull)), 1e-9))

    def wrench(self, force: Array) -> Array:
        """The wrench of a force in the root's axes as simulations take it: force and moment in the link's, (6,)."""
        return np.concatenate([self._turn.T @ force, np.zeros(3)])


#: Joints from which on the turn of the target counts; fewer cannot have any pose.
TURNING = 6


class FollowedTarget:
    """The law of a link of an open arm, and the reference to its target within `speed`, (n,), every `step`, s."""

    def __init__(self, robot: RobotModel, link: str, speed: Array, step: float) -> None:
        acceleration = default_acceleration(robot, speed, robot.effort_limit)
        bounds = np.array([robot.lower, robot.upper, speed, acceleration])
        self._follower = PoseFollower(robot, PoseLimits(link, turns=robot.n >= TURNING), bounds)
        self._step, self._aimed = step, False
        self.law = CartesianImpedance(robot, link, rate=1.0 / step)

    def place(self, q: Array) -> None:
        """Begin at rest at a posture, (n,), without a target."""
        self._follower.place(q, np.zeros(len(q)))
        self._aimed = False

    def aim(self, R: Array, p: Array) -> None:
        """Follow a pose of the link in the root link's frame: turn (3, 3), place (3,), m."""
        self._follower.aim(frame_row(R, p))
        self._aimed = True

    def reference(self) -> Reference:
        """The reference one step later."""
        before = self._follower.qd.copy()
        if self._aimed:
            self._follower.step(self._step)
        qd = self._follower.qd.copy()
        return Reference(self._follower.q.copy(), qd, (qd - before) / self._step)

    def text(self, q: Array) -> str:
        """How it goes with the joints at `q`, (n,): also which limits bind; empty without a target."""
        if not self._aimed:
            return ""
        return self._follower.outcome(q)[1] if self._follower.resting else "moving to the target"


Law = Literal["gravity compensation", "computed torque", "no effort", "Cartesian impedance"]
LAWS: tuple[Law, ...] = get_args(Law)
CARTESIAN = LAWS[-1]
#: Simulation step and control period, s.
STEP = 1e-3
#: Steps between two updates of what the hand feels.
FEEL = 16
#: Damping of gravity compensation over the inertia that a joint feels, 1/s.
DAMPING = 2.0
#: Bandwidth of computed torque, 1/s; with flexible links, whose vibrations it must not excite, the second.
BANDWIDTH, SOFT_BANDWIDTH = 25.0, 4.0
#: Part of the velocity limits that moves use; speed where there is no limit, rad/s or m/s.
SCALE, UNLIMITED = 0.4, 1.0


class SimulatedArm:
    """An arm from q (n,) on, with friction, stops and effort limits (0: none), the law that drives it, a scene.

    `SimulationError`: a robot with floating joints; a start outside the limits; others as `Simulator`.
    """

    def __init__(self, robot: Robot, q: ArrayLike, scene: Scene | None = None) -> None:
        if not 0 < robot.n == robot.nq:
            raise SimulationError(
                f"robot {robot.name!r} has no joint or a floating one; the viewer drives joints of one freedom"
            )
        self.robot = robot.with_effort_limit(np.where(robot.effort_limit == 0.0, np.inf, robot.effort_limit))
        limit = robot.velocity_limit
        self._speed = np.where(np.isfinite(limit) & (limit > 0.0), limit, UNLIMITED)
        scene = scene or Scene()
        plant = ArmPlant(self.robot, surroundings=scene.surroundings)
        self.simulator = Simulator(plant, q, dt=STEP, hold_until_command=False, mismatch=scene.mismatch(None))
        rigid = self.robot.rigid
        inertia = np.maximum(joint_inertia(rigid, self.simulator.state.q).felt, 0.0)
        self._guide = GravityCompensation(rigid, DAMPING * np.where(np.isfinite(inertia), inertia, 0.0))
        self._track = ComputedTorque(
            rigid, Gains.critically_damped(robot.n, SOFT_BANDWIDTH if self.robot.modes else BANDWIDTH),
            FrictionCompensation(),
        )
        self._kinematics = Kinematics(self.robot)
        self.law: Law = LAWS[0]
        #: Laws for such a robot; and the link whose pose the Cartesian law controls from the next `choose` on.
        self.laws = LAWS if robot.kind == "arm" else LAWS[:-1]
        self.tool = moving_links(robot)[-1]
        self._target_at = cache(lambda link: FollowedTarget(self.robot.open_tree, link, self._speed, STEP))
        self._followed: FollowedTarget | None = None
        self.paused = False
        self.terms: TorqueTerms | None = None
        self.reference: Reference | None = None
        #: Forces that act, N: link, and vector in the root link's axes; for drawing.
        self.forces: dict[str, Array] = {}
        self.hand: Hand | None = None
        self._pushes: list[tuple[Hand, Array, float]] = []
        self._move: tuple[Quintic, float] | None = None
        self._steps = 0

    @property
    def state(self) -> State:
        """The present state."""
        return self.simulator.state

    def choose(self, law: str) -> None:
        """Drive the arm by another one of `laws`; those with a reference hold it where it is."""
        if law not in self.laws:
            raise ArgumentError(f"law is {law!r}; it must be one of {', '.join(self.laws)}")
        self.law = law
        self._hold()

    def reset(self) -> None:
        """Return to the start, at rest; the hand lets go and pushes end."""
        self.simulator.reset()
        self.drag(None)
        self._pushes.clear()
        self.forces = {}
        self._hold()

    def place(self, q: Array) -> None:
        """Put the arm elsewhere, at rest; raises as `Simulator.place`."""
        self.simulator.place(q)
        self._hold()

    def move(self, goal: Array) -> None:
        """Move to `goal`, (n,), by a quintic under computed torque, from where the reference is."""
        self.law = "computed torque"
        start = self.state.q if self.reference is None else self.reference.q
        goal = np.clip(goal, self.robot.lower, self.robot.upper)
        if np.abs(goal - start).max() < 1e-9:
            return
        duration = max(quintic_duration(start, goal, self._speed, scale=SCALE), 0.5)
        self._move = Quintic(start, goal, duration), self.state.t

    def aim(self, R: Array, p: Array) -> None:
        """Move the tool to a pose in the root link's frame under the Cartesian law: turn (3, 3), place (3,), m."""
        if self.law != CARTESIAN:
            self.choose(CARTESIAN)
        self._following().aim(R, p)

    @property
    def target_text(self) -> str:
        """As of `FollowedTarget`; empty under other laws."""
        return "" if self._followed is None else self._followed.text(self.state.q)

    def _following(self) -> FollowedTarget:
        if self._followed is None:
            self._followed = self._target_at(self.tool)
            self._followed.place(self.state.q)
        return self._followed

    def drag(self, link: str | None, target: Array | None = None) -> None:
        """Pull a link's origin to a point in the root link's frame; `None` lets go."""
        if link is None or target is None:
            self.hand = None
            return
        if self.hand is None or self.hand.link != link:
            self.hand = Hand(self.robot.rigid, link, SOFT if self.robot.modes else STIFFNESS)
            self._feel(self.hand)
        self.hand.target = target

    def push(self, link: str, force: Array, seconds: float) -> None:
        """Push a link's origin with a force, N, in the root link's axes, (3,)."""
        hand = Hand(self.robot.rigid, link)
        self._feel(hand)
        self._pushes.append((hand, force, self.state.t + seconds))

    def advance(self, steps: int = 1) -> None:
        """Let simulated time pass; raises as `Simulator.advance`, and then pauses."""
        try:
            for _ in range(steps):
                self._step()
        except Exception:
            self.paused = True
            raise

    def _hold(self) -> None:
        self._move, self.reference, self.terms, self._followed = None, None, None, None

    def _feel(self, hand: Hand) -> None:
        state, names = self.state, self.robot.link_names
        poses = self._kinematics.poses(state.q, posture=state.posture, delta=state.delta)
        k = names.index(hand.link)
        hand.feel(state.q, poses.rotation[k], poses.position[k])

    def _step(self) -> None:
        state, plant = self.state, self.simulator.plant
        self.simulator.command(self._effort(state))
        self._pushes = [push for push in self._pushes if push[2] > state.t]
        if self._steps % FEEL == 0:
            for hand in {*([self.hand] if self.hand else []), *(hand for hand, _, _ in self._pushes)}:
                self._feel(hand)
        self._steps += 1
        acting = [(hand, force) for hand, force, _ in self._pushes]
        if self.hand is not None:
            acting.append((self.hand, self.hand.force(state.q, state.qd)))
        wrenches: dict[str, Array] = defaultdict(lambda: np.zeros(6))
        self.forces = defaultdict(lambda: np.zeros(3))
        for hand, force in acting:
            wrenches[hand.link] += hand.wrench(force)
            self.forces[hand.link] += force
        self.simulator.advance(1, wrenches=wrenches or None)
        if plant.surroundings is not None:
            for point, force in zip(plant.surroundings.points(plant.tree), plant.touch_forces(self.state), strict=True):
                if force.any():
                    self.forces[point.link] += force

    def _effort(self, state: State) -> Array:
        terms = None
        if self.law == "gravity compensation":
            terms = self._guide.law(state.q, state.qd, posture=state.posture)
        elif self.law == CARTESIAN:
            followed = self._following()
            self.reference = followed.reference()
            terms = followed.law.law(state.q, state.qd, self.reference)
        elif self.law == "computed torque":
            self.reference = self.reference or at_rest(state.q)
            if self._move is not None:
                path, began = self._move
                self.reference = path.sample(min(state.t - began, path.duration))
            terms = self._track.law(state.q, state.qd, self.reference, posture=state.posture)
        self.terms = terms
        return np.zeros(self.robot.n) if terms is None else terms.total
