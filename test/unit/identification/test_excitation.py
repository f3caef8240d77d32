"""Motions that excite all parameters: rest at both ends, derivatives of the cost, limits, refusals, the controller."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from support.arms import chain
from support.robots import with_own_code
from support.supervised import Rig, settings, table
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules, accept_table
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.identification.excitation import EFFORT, Design, Evaluations, Excitation, Reach, excite, series
from rne_dynamics.model.tree import Friction, Limits

UR5 = "ur5_robot.urdf"


@cache
def motion(name: str, scale: float = 0.8) -> Excitation:
    """A motion after a short search."""
    box = {} if name != UR5 else {"elbow_joint": (-1.0, 2.0)}
    return excite(with_own_code(name), scale=scale, budget=Evaluations(50), box=box)


def design(name: str, *, rotors: bool = False) -> Design:
    robot = with_own_code(name)
    n, middle = robot.n, np.clip(robot.neutral, robot.lower + 0.3, robot.upper - 0.3)
    reach = Reach(middle, middle - 0.3, middle + 0.2, np.full(n, 1.0), 0.3 * robot.effort_limit)
    return Design(robot, reach, 8.0, 4, rotors)


def test_the_series_is_at_rest_at_both_ends_and_consistent():
    ends = series(7.0, 5, np.array([0.0, 7.0]))
    assert np.abs(np.array(ends)).max() < 1e-13
    t, h = np.linspace(0.1, 6.9, 50), 1e-5
    before, here, after = (series(7.0, 5, t + shift) for shift in (-h, 0.0, h))
    for k in (0, 1):
        np.testing.assert_allclose((after[k] - before[k]) / (2.0 * h), here[k + 1], atol=1e-8)
    assert np.linalg.matrix_rank(here[0]) == 8, "all independent"


@pytest.mark.parametrize(("name", "rotors", "size"), [("scara", True, 0.3), (UR5, False, 1.5)])
def test_derivatives_of_the_cost(name, rotors, size):
    """Inside the bounds and, with larger amplitudes, far outside, where exceeding them costs."""
    made, rng = design(name, rotors=rotors), np.random.default_rng(0)
    x, way = size * made.widened(rng.normal(size=made.size)), rng.normal(size=made.size)
    difference = (made.cost(x + 1e-5 * way)[0] - made.cost(x - 1e-5 * way)[0]) / 2e-5
    assert made.cost(x)[1] @ way == pytest.approx(difference, rel=1e-4)


def test_the_condition_number_is_that_of_the_columns_of_a_fit():
    made = design("puma560", rotors=True)
    robot, x = made.robot, made.widened(np.random.default_rng(1).normal(size=made.size))
    q, qd, qdd = made.states(x)
    sign = np.where(np.abs(qd) < 0.05, 30.0 * qd - 4000.0 * qd**3, np.sign(qd))
    own = np.stack((qdd, np.ones_like(qd), qd, sign, 0.0 * qd), axis=-1)[:, :, None] * np.eye(6)[..., None]
    whole = np.concatenate((rne.regressor(robot, q, qd, qdd), own.reshape(len(q), 6, -1)), axis=2)
    columns = whole[:, :, made.kept].reshape(-1, 40 + 18)
    expected = np.linalg.cond(columns / np.linalg.norm(columns, axis=0))
    assert made.condition(x) == pytest.approx(expected, rel=1e-6)
    # for large p the cost is the logarithm of this number
    assert made.cost(0.5 * x)[0] == pytest.approx(np.log(made.condition(0.5 * x)), abs=0.1)


def test_the_motion_keeps_every_limit_between_its_points_too():
    found, robot = motion(UR5), with_own_code(UR5)
    q, qd, qdd = np.moveaxis(found.trajectory.samples(np.linspace(0.0, 10.0, 1001)), 1, 0)
    model = pin.buildModelFromUrdf(str(wheel_urdf(UR5)))
    data = model.createData()
    effort = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    assert (np.abs(effort) <= EFFORT * robot.effort_limit).all()
    assert (np.abs(qd) <= 0.8 * robot.velocity_limit).all()
    assert np.abs(q - q[0]).max() <= 0.8 * np.pi
    assert -1.0 < q[:, 2].min() < q[:, 2].max() < 2.0
    assert (q[:, 2].min(), q[:, 2].max()) != pytest.approx((-1.0, 2.0), abs=0.1), "the scale is of the box too"
    np.testing.assert_allclose(q[-1], q[0], atol=1e-15)
    assert np.abs([qd[[0, -1]], qdd[[0, -1]]]).max() < 1e-12


def test_the_search_is_the_same_for_a_seed_and_improves():
    robot = with_own_code("scara")
    random = [excite(robot, budget=1e-6, seed=seed) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(random[0].trajectory.positions, random[1].trajectory.positions)
    assert random[0].condition != random[2].condition
    assert excite(robot, budget=Evaluations(150), seed=3).condition < 0.8 * random[0].condition


def test_what_is_refused():
    """Boxes outside the limits, robots without parameters to identify, and weak ones."""
    scara = with_own_code("scara")
    for robot, box, said in (
        (scara, {"joint1": (-9.0, 1.0)}, "inside the limits"), (scara, {"joint1": (1.0, 1.0)}, "inside the limits"),
        (scara, {"elbow": (0.0, 1.0)}, "elbow"), (rne.load_model("four_bar"), {}, "no open arm on a fixed base"),
        (with_own_code(UR5, "floating"), {}, "no open arm on a fixed base"),
        (chain(2, limits=Limits(0.2, 0.2)), {}, "joint 'joint1' cannot move: its limits are both 0.2"),
        (with_own_code("panda").with_effort_limit(np.full(7, 0.5)), {}, "at the start"),
    ):
        with pytest.raises((ArgumentError, ModelError), match=said):
            excite(robot, budget=1e-6, box=box)


def test_robots_without_parameters_to_identify_and_weak_ones_are_refused():
    for robot in (rne.load_model("four_bar"), rne.load_model("flexible_arm"), with_own_code(UR5, "floating")):
        with pytest.raises(ModelError, match="no open arm on a fixed base"):
            excite(robot, budget=1e-6)
    with pytest.raises(ModelError, match=r"joint 'joint1' cannot move: its limits are both 0.2; .* or make it fixed"):
        excite(chain(2, limits=Limits(0.2, 0.2)), budget=1e-6)
    with pytest.raises(ModelError, match="at the start"):
        excite(with_own_code("panda").with_effort_limit(np.full(7, 0.5)), budget=1e-6)


@pytest.mark.parametrize(("name", "scale"), [(UR5, 0.8)])
def test_the_controller_accepts_the_motion(name, scale):
    path, robot = motion(name, scale).trajectory, with_own_code(name)
    given = settings(robot)
    rest = Reference(path.positions[0], np.zeros(robot.n), np.zeros(robot.n))
    rules = Rules(MotionLimits(robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, 0.05), 0.3,
                  EffortDemand(given.tracking, given.limits, given.compensated))  # fmt: skip
    points = table(path.times, path.positions, path.velocities, path.accelerations)
    taken = accept_table(points, 10**18, CurrentMotion(10**18, lambda stamp: rest), rules)
    assert taken.warning == ""


@pytest.mark.slow
def test_wrong_friction_ends_the_first_motion_before_the_arm_wanders():
    """The wrist of a real arm has friction that its description lacks."""
    robot = with_own_code(UR5)
    path = motion(UR5, 0.3).trajectory
    joints = tuple(
        joint if joint.name not in robot.joint_names else rne.TreeJoint(**{
            **vars(joint), "friction": Friction(viscous=0.5, coulomb_forward=1.5, coulomb_backward=1.5),
            "rotor_inertia": 0.05,
        })
        for joint in robot.tree.joints
    )  # fmt: skip
    real = rne.assemble(rne.KinematicTree(robot.name, robot.tree.links, joints))

    rig = Rig(robot, path.positions[0].copy(), settings(robot), real=real)
    rig.run(0.3)
    follow = Motion(path, rig.supervisor.stamp, Tolerances(robot.joint_names, path=0.1), blend_time=0.2)
    rig.supervisor.follow(follow, lambda ending, text: rig.endings.append((ending, text)))
    begun, errors = rig.now, []
    while not rig.endings:
        rig.run(0.05)
        errors.append(np.abs(rig.simulator.state.q - path.sample(rig.now - begun).q).max())
    assert [ending for ending, _ in rig.endings] == [Ending.PATH]
    assert rig.now < begun + 3.0
    assert max(errors) < 0.12
    rig.run(1.0)
    assert rig.mode is Mode.HOLDING
    assert np.abs(rig.simulator.state.qd).max() < 1e-3


@pytest.mark.soak
def test_the_condition_number_after_ten_seconds():
    assert excite(with_own_code("panda"), budget=10.0).condition < 7.5
