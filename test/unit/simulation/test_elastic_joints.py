"""Springs between motors and links: against MuJoCo, statics and closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.arms import chain

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, SimulationError
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.mismatch.different_arm import SMOOTH

ROTOR, STIFFNESS = 0.6, 800.0
ARM = chain(2, rotor=ROTOR)


@dataclass
class OpenLoop:
    """Efforts over the reference's first position, which is the time."""

    robot: Any = ARM

    def law(self, q: Any, qd: Any, reference: Any, integral: Any = None) -> Any:
        t, zero = reference.q[0], np.zeros(2)
        gravity = np.array([3.0 * np.sin(9.0 * t), -2.0 * np.sin(4.0 * t)])
        return rne.TorqueTerms(zero, zero, gravity, zero, zero)


def run(mismatch: rne.Mismatch, arm: Any = ARM, seconds: float = 1.0) -> rne.Log:
    clock = rne.SampledTrajectory([0.0, seconds], [[0.0, 0.0], [seconds, 0.0]])
    return rne.Rollout(rne.ArmPlant(arm), OpenLoop(arm), clock, mismatch=mismatch).run(np.zeros(2), np.zeros(2))


def in_mujoco(efforts: np.ndarray, start: np.ndarray, damper: float) -> np.ndarray:
    """Positions of the links: the motors are bodies on the ground, with tendons as springs."""
    mujoco = pytest.importorskip("mujoco", reason="the oracle is MuJoCo: pip install '.[test]'")
    body = '<inertial pos=".1 .02 .05" mass="1" diaginertia=".02 .03 .04"/>'
    motor = ('<body><joint name="m{0}" axis="0 0 1" armature="{1}"/>'
             '<inertial pos="0 0 0" mass="1e-9" diaginertia="1e-12 1e-12 1e-12"/></body>')  # fmt: skip
    spring = '<fixed stiffness="{1}" damping="{2}" springlength="0"><joint joint="m{0}" coef="1"/>' \
             '<joint joint="j{0}" coef="-1"/></fixed>'  # fmt: skip
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="1e-4" integrator="RK4" gravity="0 0 -9.80665"><flag contact="disable"/></option>'
        f'<worldbody><body pos=".2 0 .1"><joint name="j1" axis="0 0 1"/>{body}<body pos=".2 0 .1">'
        f'<joint name="j2" axis="1 0 0"/>{body}</body></body>{motor.format(1, ROTOR)}{motor.format(2, ROTOR)}'
        f"</worldbody><tendon>{spring.format(1, STIFFNESS, damper)}{spring.format(2, STIFFNESS, damper)}</tendon>"
        '<actuator><motor joint="m1"/><motor joint="m2"/></actuator></mujoco>'
    )
    model.opt.gravity[:] = ARM.gravity
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([np.zeros(2), start])
    rows = []
    for effort in efforts:
        rows.append(data.qpos[:2].copy())
        data.ctrl[:] = effort
        mujoco.mj_step(model, data, nstep=10)
    return np.array(rows)


def test_an_elastic_arm_moves_as_in_mujoco() -> None:
    log = run(rne.Mismatch(stiffness=STIFFNESS, spring_damping=0.02))
    start = rne.gravity_torque(ARM, np.zeros(2)) / STIFFNESS
    theirs = in_mujoco(log.effort, start, 2.0 * 0.02 * np.sqrt(STIFFNESS * ROTOR))
    assert np.abs(log.q).max() > 0.5
    assert np.abs(log.q - theirs).max() < 1.2e-5


def test_it_stays_at_rest_on_its_springs() -> None:
    held = rne.gravity_torque(ARM, np.zeros(2))
    log = rne.Rollout(
        rne.ArmPlant(ARM), rne.PdGravity(ARM, rne.Gains(np.zeros(2), np.zeros(2), np.zeros(2))), rne.Quintic(
            np.zeros(2), np.zeros(2), 0.2), mismatch=rne.Mismatch(stiffness=STIFFNESS, backlash=0.01, encoder="link"),
    ).run()  # fmt: skip
    assert np.abs(held).max() > 0.1
    assert np.abs(log.q).max() < 1e-9


def test_stiff_springs_are_an_arm_without_springs() -> None:
    law = rne.ComputedTorque(ARM, rne.Gains.critically_damped(2, 20.0))
    move = rne.Quintic(np.zeros(2), np.array([0.5, -0.4]), 0.4)
    stiff, rigid = (rne.Rollout(rne.ArmPlant(ARM), law, move, mismatch=rne.Mismatch(stiffness=k)).run()
                    for k in (1e6, np.inf))  # fmt: skip
    assert np.abs(stiff.q - rigid.q).max() < 1e-4


def test_backlash_is_what_the_link_moves_freely() -> None:
    # lying: gravity along both axes' plane does nothing
    arm = ARM.with_gravity(np.zeros(3))
    gap, n = 0.05, 2
    held = rne.PdGravity(arm, rne.Gains(np.full(n, 1e5), np.zeros(n), np.full(n, 300.0)))
    rest = rne.Quintic(np.zeros(n), np.zeros(n), 0.5)
    rollout = rne.Rollout(rne.ArmPlant(arm), held, rest, mismatch=rne.Mismatch(stiffness=1e4, backlash=gap))
    log = rollout.run(qd=np.array([0.3, 0.0]))
    assert gap < log.q[:, 0].max() < 1.5 * gap, "it touches the spring, and not before the play is over"
    free = log.time < 0.9 * gap / 0.3
    assert np.abs(log.qd[free, 0] - 0.3).max() < 0.15


def test_friction_of_the_motor_holds_it() -> None:
    arm = chain(2, rotor=ROTOR, friction=Friction(coulomb_forward=20.0, coulomb_backward=20.0))
    log = run(rne.Mismatch(stiffness=STIFFNESS), arm, seconds=0.5)
    assert np.abs(log.q).max() < 0.1, "efforts of 3 N m do not move a motor with 20 N m of friction"
    assert np.abs(log.q).max() > 0.0
    assert SMOOTH <= 1e-3


def test_what_elastic_joints_need() -> None:
    soft = rne.Mismatch(stiffness=100.0)
    with pytest.raises(ArgumentError, match=r"joint 'joint1' of robot 'chain2' has no rotor inertia.*\(rotors of"):
        run(soft, chain(2))
    tight = chain(2, rotor=ROTOR, limits=Limits(-0.01, 0.01))
    with pytest.raises(SimulationError, match="elastic joints have no stops"):
        run(soft, tight)
    assert replace(soft, stiffness=np.inf).elastic is False


def test_springs_stay_as_they_are_when_a_script_changes_the_load() -> None:
    arm, script = chain(1, rotor=ROTOR), ((0.1, {"payload": ("link1", 4.0, (0.3, 0.0, 0.0)), "rotor_scale": 1.5}),)
    frequency, inertia = 8.0, rne.mass_matrix(chain(1), [0.0])[0, 0]
    law = rne.PdGravity(arm, rne.Gains(np.full(1, 500.0), np.zeros(1), np.full(1, 30.0)))
    by_frequency, by_stiffness = (
        rne.Rollout(rne.ArmPlant(arm), law, rne.Quintic(np.zeros(1), np.full(1, 0.4), 0.4),
                    mismatch=rne.Mismatch(**spring, script=script)).run()
        for spring in ({"spring_frequency": frequency}, {"stiffness": (2.0 * np.pi * frequency) ** 2 * inertia})
    )  # fmt: skip
    assert np.abs(by_frequency.q - by_stiffness.q).max() < 1e-12
