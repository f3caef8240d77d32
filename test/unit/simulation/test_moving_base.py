"""Simulated arms on a base in prescribed motion (document 000, section 2.1.2), against independent computations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from support.errors import relative_error
from support.moving_bases import Lift, Swell, Turntable

import rne_dynamics as rne
from rne_dynamics.closed_chain.tree_dynamics import tree_terms
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Hold, Quintic
from rne_dynamics.description.share import share_file
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.base_motion import check_base_trajectory
from rne_dynamics.simulation.plant.coordinates import State, checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout, simulate
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import integrate, step

SWELL = Swell()
PUMA = rne.load_urdf("puma560")
START = np.array([0.3, -0.8, 0.5, 0.2, 0.4, -0.1])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def smooth(robot, base, **given) -> ArmPlant:
    return ArmPlant(robot, friction=False, stops=False, limit_effort=False, base_motion=base, **given)


def held_up(robot: RobotModel) -> np.ndarray:
    return 0.9 * rne.gravity_torque(robot, START)


def test_motion_and_order_of_the_step_against_pinocchio_with_a_driven_free_flyer():
    """Pinocchio's free flyer is driven along the motion; the joints' rows of its equations are integrated by SciPy."""
    pin = pytest.importorskip("pinocchio")
    from support.pinocchio_oracle import Oracle

    floating = rne.load_urdf("puma560", base="floating")
    oracle = Oracle(floating, share_file("urdf/puma560.urdf"))
    tau = held_up(PUMA)

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        base = SWELL.motion(t)
        R, w, v = base.rotation, base.angular_velocity, base.linear_velocity
        place = np.concatenate([SWELL.position(t), pin.Quaternion(R).coeffs()])
        q, qd = np.concatenate([place, x[:6]]), np.concatenate([v, w, x[6:]])
        # the rate of a twist's components: v̇ = a − ω × v
        given = np.concatenate([base.linear_acceleration - np.cross(w, v), base.angular_acceleration, np.zeros(6)])
        bias = oracle.inverse_dynamics(q, qd, given)[6:]
        return np.concatenate([x[6:], np.linalg.solve(oracle.mass_matrix(q)[6:, 6:], tau - bias)])

    expected = solve_ivp(rate, (0.0, 0.5), np.concatenate([START, np.zeros(6)]), rtol=1e-12, atol=1e-13).y[:, -1]
    error = []
    for dt in (0.01, 0.005, 0.001):
        log = free_motion(smooth(PUMA, SWELL), START, seconds=0.5, dt=dt, effort=tau)
        error.append(np.abs(np.concatenate([log.q[-1], log.qd[-1]]) - expected).max())
    assert error[2] < 1e-9 * np.abs(expected).max()
    assert 12.0 < error[0] / error[1] < 20.0, "fourth order: the base is taken at the times of the stages"


def test_energy_balance_with_the_power_of_the_base():
    tau = held_up(PUMA)
    log = free_motion(smooth(PUMA, SWELL), START, seconds=1.0, effort=tau)
    moments = [SWELL.motion(t) for t in log.time.tolist()]
    fields = ("linear_acceleration", "angular_velocity", "angular_acceleration", "linear_velocity", "rotation")
    base = BaseMotion(*(np.array([getattr(moment, name) for moment in moments]) for name in fields))
    qdd = rne.forward_dynamics(PUMA, log.q, log.qd, tau, base_motion=base)
    # what the base gives to the first joint; the root link's own inertia is the base's
    first = rne.joint_reactions(PUMA, log.q, log.qd, qdd, base_motion=base)[PUMA.joint_names[0]]
    pose = rne.forward_kinematics(PUMA, log.q)[PUMA.tree.joints[0].child]
    force = np.einsum("tij,tj->ti", pose[:, :3, :3], first[:, :3])
    moment = np.einsum("tij,tj->ti", pose[:, :3, :3], first[:, 3:]) + np.cross(pose[:, :3, 3], force)
    power = (force * base.linear_velocity + moment * base.angular_velocity).sum(axis=1) + log.qd @ tau
    work = cumulative_simpson(power, x=log.time, initial=0.0)
    change = log.energy - log.energy[0]
    assert np.abs(change).max() > 5.0, "the base does work"
    assert np.abs(change - work).max() < 1e-8 * log.kinetic.max()


def machine(name: str):
    return rne.load_model(name) if name in ("pantograph", "flexible_arm6") else rne.load_urdf(name)


def begin_at(robot, rng: np.random.Generator) -> dict[str, np.ndarray]:
    q = np.array(robot.neutral) + (0.0 if isinstance(robot, Mechanism) else rng.uniform(-0.3, 0.3, robot.n))
    bent = {"delta": 1e-3 * rng.normal(size=robot.modes)} if isinstance(robot, FlexibleArm) else {}
    return {"q": q, "qd": 0.2 * rng.normal(size=robot.n), **bent}


@pytest.mark.parametrize(
    ("name", "method"),
    [("puma560", "semi_implicit"), ("pantograph", "rk4"), ("flexible_arm6", "gauss")],
)
def test_a_base_with_constant_acceleration_is_another_gravity(name, method, rng):
    robot, a = machine(name), np.array([0.7, -0.4, 1.1])
    start = begin_at(robot, rng)
    moved = free_motion(smooth(robot, Lift(a)), **start, seconds=0.05, method=method)
    lighter = robot.with_gravity(robot.gravity - a)
    still = free_motion(smooth(lighter, None), **start, seconds=0.05, method=method)
    assert relative_error(moved.qd, still.qd) < 1e-9
    plain = free_motion(smooth(robot, None), **start, seconds=0.05, method=method)
    assert relative_error(plain.qd, still.qd) > 1e-3


@pytest.mark.parametrize(
    ("name", "method", "close"),
    [("puma560", "rk4", 1e-9), pytest.param("flexible_arm6", "gauss", 1e-6, marks=pytest.mark.slow)],
)
def test_a_base_that_turns_about_the_first_axis_is_that_joint_turned(name, method, close, rng):
    """Every force of a rotating frame acts: centrifugal, Coriolis, Euler. Nothing drives the first joint."""
    robot, table = without_rotors(machine(name)), Turntable()
    start = begin_at(robot, rng)
    moved = free_motion(smooth(robot, table), **start, seconds=0.2, method=method)
    angles = np.array([table.angle(t) for t in moved.time.tolist()])
    turned = {key: value.copy() for key, value in start.items()}
    turned["q"][0] += angles[0, 0]
    turned["qd"][0] += angles[0, 1]
    still = free_motion(smooth(robot, None), **turned, seconds=0.2, method=method)
    size = max(still.kinetic.max(), 1.0)
    assert np.abs(moved.kinetic - still.kinetic).max() < close * size
    assert np.abs(np.diff(moved.potential - still.potential)).max() < close * size
    still.q[:, 0] -= angles[:, 0]
    still.qd[:, 0] -= angles[:, 1]
    assert relative_error(moved.q, still.q) < close
    assert relative_error(moved.qd, still.qd) < close


@pytest.mark.slow
def test_a_mechanism_stepped_in_its_tree_is_on_the_base_too(rng):
    """The same motion in the coordinates of the whole tree, which singular postures and idle freedoms take."""
    mechanism = machine("pantograph")
    plant, start = smooth(mechanism, SWELL), begin_at(mechanism, rng)
    state = checked_state(mechanism, start["q"], start["qd"])
    usual = tree = state
    for _ in range(50):
        usual = step(plant, usual, np.zeros(3), 1e-3)
        tree = step(plant, replace(tree, in_tree=True), np.zeros(3), 1e-3)
    np.testing.assert_allclose(tree.q, usual.q, rtol=1e-9)
    np.testing.assert_allclose(tree.qd, usual.qd, rtol=1e-8)
    still = state
    for _ in range(50):
        still = step(smooth(mechanism, None), replace(still, in_tree=True), np.zeros(3), 1e-3)
    assert relative_error(still.qd, usual.qd) > 1e-3


def test_mechanisms_without_actuated_coordinates_feel_the_base():
    """Over-actuated and undetermined mechanisms: terms in tree coordinates, against inverse dynamics."""
    mechanism = machine("pantograph")
    base, q, still = SWELL.motion(0.4), np.array(mechanism.neutral), np.zeros(3)
    posture, velocity = np.array(mechanism.posture), np.zeros(mechanism.robot.n)
    packed = base.packed(mechanism.robot.gravity)
    _, turning, gravity, _ = tree_terms(mechanism, velocity, packed, posture, velocity, still[None], still[None])
    expected = rne.inverse_dynamics(mechanism, q, still, still, base_motion=base)
    assert relative_error(turning + gravity, expected) < 1e-9


def without_rotors(robot):
    if isinstance(robot, FlexibleArm):
        return replace(robot, robot=without_rotors(robot.robot))
    return rne.assemble(robot.tree.without_rotors(), gravity=robot.gravity)


def test_static_friction_holds_until_the_base_has_tilted_far_enough():
    """A block on a slope that gets steeper evenly: it slides from m g sin(rate·t) = 2 N on."""
    xml = """<robot name="block"><link name="slope"/><link name="block"><inertial><mass value="1.0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="slide" type="prismatic"><parent link="slope"/><child link="block"/><axis xyz="1 0 0"/>
    <limit lower="-100" upper="100" effort="1" velocity="1"/><dynamics damping="0" friction="2.0"/></joint></robot>"""

    class Slope:
        def position(self, t: float) -> np.ndarray:
            return np.zeros(3)

        def motion(self, t: float) -> BaseMotion:
            c, s = np.cos(0.5 * t), np.sin(0.5 * t)
            return BaseMotion(angular_velocity=(0, 0.5, 0), rotation=[[c, 0, s], [0, 1, 0], [-s, 0, c]])

    log = free_motion(ArmPlant(rne.load_urdf(xml), base_motion=Slope()), [0.0], seconds=0.6)
    breaks = np.arcsin(2.0 / 9.81) / 0.5
    held = log.time <= breaks
    assert (log.qd[held] == 0.0).all()
    assert (log.qd[log.time > breaks + 0.002] > 0.0).all()
    t = log.time[-1] - breaks  # ẍ = g sin(θ) − 2, θ̇ = 0.5
    speed = 9.81 / 0.5 * (np.cos(0.5 * breaks) - np.cos(0.5 * (breaks + t))) - 2.0 * t
    assert log.qd[-1, 0] == pytest.approx(speed, rel=0.01)


def test_all_ways_to_simulate_agree():
    plant, tau = smooth(PUMA, SWELL), held_up(PUMA)
    log = free_motion(plant, START, seconds=0.2, effort=tau)
    exact = integrate(plant, State(0.0, START, np.zeros(6)), tau, [0.2])[0]
    np.testing.assert_allclose(log.q[-1], exact.q, rtol=1e-9)
    simulator = Simulator(plant, START, hold_until_command=False)
    simulator.command(tau)
    np.testing.assert_array_equal(simulator.advance(200).q, log.q[-1])
    np.testing.assert_allclose(log.base_position[-1], SWELL.position(0.2))
    np.testing.assert_allclose(log.base_rotation[-1], SWELL.motion(0.2).rotation)
    assert {"base_position/z", "base_rotation/xy"} <= set(log.columns())


def test_a_controller_that_knows_the_base_tracks_as_on_land():
    controller = ComputedTorque(PUMA, Gains.critically_damped(6, 30.0), None)
    move = Quintic(START, START + 0.2, 0.3)
    error = {}
    for name, base, known in (("land", None, True), ("sea", SWELL, True), ("unknown", SWELL, False)):
        plant = ArmPlant(PUMA, friction=False, stops=False, limit_effort=False, base_motion=base)
        error[name] = np.abs(simulate(plant, controller, move, seconds=0.3, base_known=known).error).max()
    assert error["sea"] < 1.5 * error["land"] + 5e-5  # the torque is held for 1 ms while the base goes on
    assert error["unknown"] > 3.0 * error["sea"]


def test_a_mechanism_on_a_known_base_tracks_too():
    mechanism = rne.load_model("pantograph")
    controller = ComputedTorque(mechanism, Gains.critically_damped(3, 30.0))
    move = Quintic(mechanism.neutral, mechanism.neutral + 0.1, 0.2)
    known, unknown = (
        np.abs(simulate(smooth(mechanism, SWELL), controller, move, base_known=known).error).max()
        for known in (True, False)
    )
    assert 10.0 * known < unknown, (known, unknown)


def test_the_terms_on_a_moving_base_add_up_to_inverse_dynamics(rng):
    q, qd, qdd = rng.normal(size=(3, 6))
    base = SWELL.motion(0.4)
    reference = Reference(q, qd, qdd)
    gains = Gains(np.zeros(6), np.zeros(6), np.zeros(6))
    terms = ComputedTorque(PUMA, gains, None).law(q, qd, reference, base_motion=base)
    assert relative_error(terms.total, rne.inverse_dynamics(PUMA, q, qd, qdd, base_motion=base)) < 1e-13
    mechanism = rne.load_model("pantograph")
    for robot, at, speed in ((PUMA, q, qd), (mechanism, np.array(mechanism.neutral), np.zeros(3))):
        floating, still = GravityCompensation(robot, 0.0).law(at, speed, base_motion=base), np.zeros(robot.n)
        expected = rne.inverse_dynamics(robot, at, still, still, base_motion=base)
        assert relative_error(floating.total, expected) < 1e-10
        assert relative_error(rne.gravity_torque(robot, at), expected) > 0.01


def test_floating_bases_and_samples_refuse_a_base_motion():
    with pytest.raises(SimulationError, match="floating base, whose motion is simulated"):
        ArmPlant(rne.load_urdf("puma560", base="floating"), base_motion=SWELL)
    law = ComputedTorque(PUMA, Gains.critically_damped(6, 30.0))
    rollout = Rollout(smooth(PUMA, SWELL), law, Hold(START), seconds=0.1)
    assert not rollout.compiled
    with pytest.raises(SimulationError, match="on a base at rest"):
        rollout.samples(3)


@pytest.mark.parametrize("wrong", ["linear_velocity", "angular_acceleration"])
def test_a_base_motion_in_the_axes_of_the_world_is_refused(wrong):
    class Mistaken(Swell):
        def motion(self, t: float) -> BaseMotion:
            motion = super().motion(t)
            return replace(motion, **{wrong: motion.rotation @ getattr(motion, wrong)})

    check_base_trajectory(SWELL, 0.0, 10.0)
    with pytest.raises(SimulationError, match=f"base motion: {wrong} is .* in the root link's axes"):
        free_motion(smooth(PUMA, Mistaken()), START, seconds=5.0)
