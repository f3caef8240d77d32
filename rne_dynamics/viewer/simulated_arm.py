"""A simulated arm that somebody plays with: a control law, a hand, pushes, pause, steps, moves. No browser."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.felt_inertia import joint_inertia
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic, at_rest, quintic_duration
from rne_dynamics.errors import ArgumentError, SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.surroundings import Scene
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.viewer.followed_target import FollowedTarget
from rne_dynamics.viewer.hand import SOFT, STIFFNESS, Hand
from rne_dynamics.viewer.kinematics import Kinematics, moving_links

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
        if robot.nq != robot.n:
            raise SimulationError(f"robot {robot.name!r} has a floating joint; the viewer drives joints of one freedom")
        limit = np.where(robot.effort_limit == 0.0, np.inf, robot.effort_limit)
        self.robot = robot.with_effort_limit(limit)
        scene = scene or Scene()
        plant = ArmPlant(self.robot, surroundings=scene.surroundings)
        self.simulator = Simulator(plant, q, dt=STEP, hold_until_command=False, mismatch=scene.mismatch(None))
        rigid = self.robot.rigid
        inertia = np.maximum(joint_inertia(rigid, self.simulator.state.q).felt, 0.0)
        self._guide = GravityCompensation(rigid, DAMPING * np.where(np.isfinite(inertia), inertia, 0.0))
        soft = self.robot.modes > 0
        self._track = ComputedTorque(
            rigid, Gains.critically_damped(robot.n, SOFT_BANDWIDTH if soft else BANDWIDTH), FrictionCompensation()
        )
        self._kinematics = Kinematics(self.robot)
        self.law: Law = LAWS[0]
        #: Laws for such a robot; and the link whose pose the Cartesian law controls.
        self.laws = LAWS if robot.kind == "arm" else LAWS[:-1]
        self.tool = moving_links(robot)[-1]
        self._targets: dict[str, FollowedTarget] = {}
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

    def hold_tool(self, link: str) -> None:
        """Let the Cartesian law control another link."""
        self.tool = link
        if self.law == CARTESIAN:
            self._hold()

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
            if self.tool not in self._targets:
                self._targets[self.tool] = FollowedTarget(self.robot.open_tree, self.tool, self._speed, STEP)
            self._followed = self._targets[self.tool]
            self._followed.place(self.state.q)
        return self._followed

    @property
    def _speed(self) -> Array:
        limit = self.robot.velocity_limit
        return np.where(np.isfinite(limit) & (limit > 0.0), limit, UNLIMITED)

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
        state = self.state
        self.simulator.command(self._effort(state))
        self._pushes = [push for push in self._pushes if push[2] > state.t]
        forces: list[tuple[Hand, Array]] = [(hand, force) for hand, force, _ in self._pushes]
        if self._steps % FEEL == 0:
            for hand in {id(h): h for h in (self.hand, *(h for h, _ in forces)) if h is not None}.values():
                self._feel(hand)
        self._steps += 1
        if self.hand is not None:
            forces.append((self.hand, self.hand.force(state.q, state.qd)))
        wrenches: dict[str, Array] = {}
        self.forces = {}
        for hand, force in forces:
            wrenches[hand.link] = wrenches.get(hand.link, np.zeros(6)) + hand.wrench(force)
            self.forces[hand.link] = self.forces.get(hand.link, np.zeros(3)) + force
        self.simulator.advance(1, wrenches=wrenches or None)
        plant = self.simulator.plant
        if plant.surroundings is not None:
            forces_there = plant.touch_forces(self.state)
            for point, force in zip(plant.surroundings.points(plant.tree), forces_there, strict=True):
                if force.any():
                    self.forces[point.link] = self.forces.get(point.link, np.zeros(3)) + force

    def _effort(self, state: State) -> Array:
        if self.law == "no effort":
            self.terms = None
            return np.zeros(self.robot.n)
        if self.law == "gravity compensation":
            self.terms = self._guide.law(state.q, state.qd, posture=state.posture)
            return self.terms.total
        if self.law == CARTESIAN:
            followed = self._following()
            self.reference = followed.reference()
            self.terms = followed.law.law(state.q, state.qd, self.reference)
            return self.terms.total
        if self.reference is None:
            self.reference = at_rest(state.q)
        if self._move is not None:
            path, began = self._move
            self.reference = path.sample(min(state.t - began, path.duration))
        self.terms = self._track.law(state.q, state.qd, self.reference, posture=state.posture)
        return self.terms.total
