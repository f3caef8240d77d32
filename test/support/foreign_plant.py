"""An arm that is not the controller's model: MuJoCo's links behind elastic gears, and efforts that act late.

Links and stops are MuJoCo's, from the same URDF with other masses; so is friction, where the gears are rigid.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import pytest

pytest.importorskip("mujoco", reason="the plant is MuJoCo's: pip install '.[test]'")

import mujoco
import numpy as np
from support.elastic_gears import Gears, Motors

import rne_dynamics as rne
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Payload

#: Longest step of MuJoCo, s: with gears, which are stiff, and without.
ELASTIC_STEP, RIGID_STEP = 2.5e-4, 1e-3


@dataclass(frozen=True, eq=False)
class Deviation:
    """How an arm differs from its model; nothing by default.

    Parameters
    ----------
    mass
        Of each link of the URDF, in its order, as a factor, inertia included; one for all others.
    friction
        Of all joints, as a factor.
    dry
        Coulomb friction that the model does not have, as a part of each effort limit.
    frequency
        Lowest frequency at which the arm swings on its gears with its motors held, Hz; infinite for rigid gears.
    rotor
        Inertia of each motor behind its gear, as a part of what its joint feels.
    backlash
        Play of each gear, rad or m.
    at_motor
        Whether encoders are at the motors instead of the links.
    resolution
        Step of the encoders, rad or m; 0 for none.
    command_delay
        From a command until its effort acts, s.
    """

    mass: tuple[float, ...] = ()
    friction: float = 1.0
    dry: float = 0.0
    frequency: float = np.inf
    rotor: float = 0.5
    backlash: float = 0.0
    at_motor: bool = True
    resolution: float = 0.0
    command_delay: float = 0.0


class Measured(NamedTuple):
    """What the encoders say at a time."""

    t: float
    q: Array
    qd: Array


class ForeignArm:
    """The arm, with the interface of a `Simulator` as far as the tests need it.

    Parameters
    ----------
    urdf
        Text of a URDF of an open arm.
    q
        Start, at rest, with brakes until the first command; shape (n,).
    dt
        Step of `advance`, s.
    deviation
        What differs from the URDF.
    command_timeout
        Age from which on an effort counts as zero, s.
    """

    def __init__(
        self, urdf: str, q: Array, dt: float, deviation: Deviation, command_timeout: float = 0.2
    ) -> None:
        self.robot, self.deviation, self.dt = _model(urdf), deviation, dt
        self.elastic = np.isfinite(deviation.frequency)
        self.steps = int(np.ceil(dt / (ELASTIC_STEP if self.elastic else RIGID_STEP) - 1e-9))
        self.model = _links(self.robot, urdf, deviation, dt / self.steps, self.elastic)
        self._bodies = {self.model.body(k).name: k for k in range(self.model.nbody)}
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = q
        mujoco.mj_forward(self.model, self.data)
        self._motors = self._geared(q)
        self._timeout, self._effort, self._given_at = command_timeout, np.zeros(len(q)), -np.inf
        self._commands: deque[tuple[float, Array]] = deque()
        self.braked, self._pushed, self._load = True, False, 0.0

    def _geared(self, q: Array) -> Motors | None:
        """Motors that hold the arm through their gears."""
        n, deviation, inertia = self.robot.n, self.deviation, np.zeros((self.robot.n, self.robot.n))
        if not self.elastic:
            return None
        mujoco.mj_fullM(self.model, self.data, inertia)
        friction = friction_of(self.robot, deviation)
        gears = Gears.swinging(inertia, deviation.frequency, deviation.rotor, deviation.backlash, *friction)
        return Motors(gears, q, self.data.qfrc_bias[:n].copy())

    @property
    def state(self) -> Measured:
        """Time, positions and velocities that the encoders give."""
        motors, step = self._motors, self.deviation.resolution
        q, qd = self.data.qpos.copy(), self.data.qvel.copy()
        if motors is not None and self.deviation.at_motor:
            q, qd = motors.position.copy(), motors.velocity.copy()
        return Measured(self.data.time, step * np.rint(q / step) if step > 0.0 else q, qd)

    @property
    def speed(self) -> Array:
        """True velocities of the links, rad/s or m/s; shape (n,)."""
        return self.data.qvel.copy()

    @property
    def applied_effort(self) -> Array:
        """Present effort of the motors, N·m or N; shape (n,)."""
        return np.zeros_like(self._effort) if self.braked else self._effort.copy()

    def command(self, effort: Array) -> None:
        """An effort that acts after the delay, until the next one."""
        limit = self.robot.effort_limit
        self._commands.append((self.data.time + self.deviation.command_delay, np.clip(effort, -limit, limit)))

    def advance(self, steps: int = 1, wrenches: Mapping[str, Array] | None = None) -> None:
        """Let `steps` steps pass; wrenches by link, force and moment at its mass centre in the world's axes.

        A link that is fixed to another one is a part of that in MuJoCo: its wrench acts on the last body.
        """
        data, model, motors = self.data, self.model, self._motors
        step, applied, q, qd = model.opt.timestep, data.qfrc_applied, data.qpos, data.qvel
        if wrenches or self._pushed:
            data.xfrc_applied[:] = 0.0
            for link, wrench in (wrenches or {}).items():
                data.xfrc_applied[self._bodies.get(link, model.nbody - 1)] = wrench
            self._pushed = bool(wrenches)
        for _ in range(steps * self.steps):
            self._take()
            if self.braked:
                data.time += step
                continue
            applied[:] = self._effort if motors is None else motors.turn(step, self._effort, q, qd)
            mujoco.mj_step(model, data)

    def load(self, mass: float) -> Payload:
        """Let the last body have a load of this mass, kg, at its mass centre, instead of the one before."""
        last = self.model.nbody - 1
        self.model.body_mass[last] += mass - self._load
        self._load = mass
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        return Payload(self.model.body(last).name, mass, self.model.body_ipos[last].copy())

    def _take(self) -> None:
        """The commands that act by now."""
        now = self.data.time + 1e-9
        while self._commands and self._commands[0][0] <= now:
            self._given_at, self._effort = self._commands.popleft()
            self.braked = False
        if now - self._given_at >= self._timeout:
            self._effort = np.zeros_like(self._effort)


@cache
def _model(urdf: str) -> RobotModel:
    return rne.load_urdf(urdf)


def friction_of(robot: RobotModel, deviation: Deviation) -> tuple[Array, Array]:
    """Viscous and Coulomb friction of the joints, N·m·s/rad or N·s/m, N·m or N; shape (n,) each."""
    viscous, forward, backward, *_ = (np.asarray(part) for part in joint_friction(robot))
    dry = deviation.friction * 0.5 * (forward + backward) + deviation.dry * robot.effort_limit
    return deviation.friction * viscous, dry


def _links(robot: RobotModel, urdf: str, deviation: Deviation, step: float, elastic: bool) -> mujoco.MjModel:
    """MuJoCo's model of the URDF with other masses and without shapes, so that nothing touches."""
    root = ET.fromstring(urdf)
    heavy = iter(deviation.mass)
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
        factor, inertial = next(heavy, 1.0), link.find("inertial")
        if inertial is None:
            continue
        for part in inertial:
            for name in {"mass": ("value",), "inertia": part.keys()}.get(part.tag, ()):
                part.set(name, repr(float(factor) * float(part.attrib[name])))
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.timestep = step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    viscous, dry = friction_of(robot, deviation)
    rotors = {joint.name: joint.rotor_inertia for joint in robot.tree.joints}
    model = spec.compile()
    assert [model.joint(j).name for j in range(model.njnt)] == list(robot.joint_names)
    model.dof_damping[:], model.dof_frictionloss[:] = (0.0, 0.0) if elastic else (viscous, dry)
    model.dof_armature[:] = [rotors[name] for name in robot.joint_names]
    mujoco.mj_setConst(model, mujoco.MjData(model))  # how hard friction is depends on the inertia, rotors included
    return model
