"""The mechanisms that ship: loops close over the workspace, geometry as the headers say, what is level stays level."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.mechanisms import SHIPPED

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.coordinates import mobility, motion_map
from rne_dynamics.closed_chain.independence import evaluated
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.share import share_file
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import JointKind

#: Degrees of freedom, redundant constraints, joints of the tree and loops: the kinematic pairs where loops are pairs.
COUNTS = {
    "pantograph": (3, 0, 8 + 5),
    "four_bar": (1, 3, 4),
    "slider_crank": (1, 0, 4),
    "five_bar": (2, 0, 5),
    "delta": (3, 3, 21),
}
#: Masses that the headers give, kg.
MASS = {
    "pantograph": 8 + 3 * 2 + 2.6 + 0.8 + 7.2 + 0.001,
    "four_bar": 0.4 + 1.0 + 0.8,
    "slider_crank": 0.5 + 0.3 + 0.6,
    "five_bar": 2 * (0.8 + 0.5),
    "delta": 3 * (1.0 + 2 * 0.12 + 2 * 0.06) + 0.3,
}
L1 = 0.5


def inside(machine: Mechanism, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Random positions of the actuated joints within their limits; a turn where there are none."""
    lower = np.where(np.isfinite(machine.lower), machine.lower, -math.pi)
    upper = np.where(np.isfinite(machine.upper), machine.upper, math.pi)
    return rng.uniform(lower, upper, (rows, machine.n))


def gap(machine: Mechanism, posture: np.ndarray) -> float:
    packed = pack(machine)
    return float(np.abs(evaluated(packed, workspace(packed), posture).residual).max())


def test_all_that_ship_are_tested_here() -> None:
    assert set(COUNTS) == set(MASS) == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_posture_freedoms_and_masses_are_those_of_the_header(name: str) -> None:
    machine = rne.load_model(name)
    assert gap(machine, machine.posture) < 1e-13
    np.testing.assert_allclose(assembled(machine).posture, machine.posture, rtol=0, atol=1e-13)
    assert machine.mass == pytest.approx(MASS[name], abs=1e-12)
    found = mobility(machine)
    moving = sum(joint.kind is not JointKind.FIXED for joint in machine.robot.tree.joints)
    assert (found.freedoms, found.redundant, moving + len(machine.loops)) == COUNTS[name]
    assert (found.freedoms, found.missing_actuators, found.surplus_actuators) == (machine.n, 0, 0)
    findings = lint(share_file(f"urdf/{name}.urdf")).findings
    assert all(f.message.startswith("effort is 0") for f in findings), "of motors that are not there"


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] if name == "delta" else []) for name in COUNTS
])  # fmt: skip
def test_over_the_whole_range_loops_close_passive_joints_keep_their_limits_and_motors_hold(name: str) -> None:
    machine = rne.load_model(name)
    rows = inside(machine, np.random.default_rng(11), 150)
    postures = assemble(machine, rows)
    assert max(gap(machine, row) for row in postures) < 1e-11
    assert (motion_map(machine, postures).smallest > 0.01).all()
    if name == "pantograph":
        flat = machine.robot.joint_names.index("jointL")
        lower, upper = machine.robot.lower[flat], machine.robot.upper[flat]
        reached = (postures[:, flat] > lower) & (postures[:, flat] < upper)
        rows, postures = rows[reached], postures[reached]
        assert len(postures) > 100
    assert ((postures >= machine.robot.lower - 1e-9) & (postures <= machine.robot.upper + 1e-9)).all()
    assert (machine.robot.effort_limit[machine.passive] == 0.0).all()
    assert (machine.effort_limit > 0.0).all()
    assert (np.abs(rne.gravity_torque(machine, rows)) < 0.8 * machine.effort_limit).all()


@pytest.mark.parametrize("name", COUNTS)
def test_the_open_tree_has_nothing_to_fix_but_motors_that_are_not_there(name: str) -> None:
    findings = lint(share_file(f"urdf/{name}.urdf")).findings
    assert all(f.message.startswith("effort is 0") for f in findings), findings


def test_pantograph_joints_follow_the_papers_constraint_equations() -> None:
    machine = rne.load_model("pantograph")
    names = machine.robot.joint_names
    q = inside(machine, np.random.default_rng(14), 100)
    q = q[np.sin(q[:, 1] + q[:, 2]) < -0.05]
    a, b = q[:, 1], q[:, 1] + q[:, 2]
    joints = assemble(machine, q)
    for name, expected in (("L", -b), ("M", math.pi + b), ("A", -a), ("B", math.pi + a), ("C", a)):
        np.testing.assert_allclose(joints[:, names.index(f"joint{name}")], expected, rtol=0, atol=1e-11, err_msg=name)


def test_pantograph_wrist_stays_level_and_hangs_where_the_header_says() -> None:
    machine = rne.load_model("pantograph")
    q = inside(machine, np.random.default_rng(15), 50)
    q = q[np.sin(q[:, 1] + q[:, 2]) < -0.05]
    wrist = rne.forward_kinematics(machine.robot, assemble(machine, q))["wrist"]
    a, b, c, s = q[:, 1], q[:, 1] + q[:, 2], np.cos(q[:, 0]), np.sin(q[:, 0])
    level = np.stack([c, -s, 0 * c, s, c, 0 * c, 0 * c, 0 * c, 1 + 0 * c], axis=1).reshape(-1, 3, 3)
    out = L1 * (np.cos(a) + np.cos(b))
    np.testing.assert_allclose(wrist[:, :3, :3], level, rtol=0, atol=1e-11)
    place = np.stack([c * out, s * out, L1 * (np.sin(a) + np.sin(b))], axis=1)
    np.testing.assert_allclose(wrist[:, :3, 3], place, rtol=0, atol=1e-11)


def test_pantograph_is_nowhere_singular() -> None:
    machine = rne.load_model("pantograph")
    # q2 = 0, where the paper's second oscillation starts, and q2 + q3 = 0: one parallelogram lies flat
    for q in ([0.0, 0.0, math.radians(50.0)], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]):
        assert motion_map(machine, assemble(machine, q)).smallest > 0.6


def test_pantograph_with_its_pins() -> None:
    """The paper's eleven pairs; bar C, redundant elsewhere, carries the upper parallelogram through flat."""
    machine = rne.load_model(Path(__file__).parents[2] / "examples" / "pantograph_pins.yaml")
    found = mobility(machine)
    moving = sum(joint.kind is not JointKind.FIXED for joint in machine.robot.tree.joints)
    assert (found.freedoms, found.redundant, moving + len(machine.loops)) == (3, 1, 11)
    q = [0.0, 0.0, math.radians(50.0)]
    joints = assemble(machine, q)
    np.testing.assert_allclose(joints, assemble(rne.load_model("pantograph"), q), atol=1e-11)
    assert motion_map(machine, joints).smallest > 0.05
    flat = assemble(machine, [0.0, -0.5, 0.49])
    assert motion_map(machine, flat).smallest < 0.02


def test_pantograph_is_at_rest_hanging_down() -> None:
    machine = rne.load_model("pantograph")
    np.testing.assert_allclose(machine.neutral, [0.0, -math.pi / 2, 0.0])
    np.testing.assert_allclose(rne.gravity_torque(machine, machine.neutral), 0.0, atol=1e-12)
    around = machine.neutral + 0.01 * np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    assert (rne.potential_energy(machine, around) > rne.potential_energy(machine, machine.neutral)).all()


@pytest.mark.slow
def test_delta_platform_never_turns() -> None:
    machine = rne.load_model("delta")
    postures = assemble(machine, inside(machine, np.random.default_rng(16), 50))
    platform = rne.forward_kinematics(machine.robot, postures)["platform"]
    assert np.abs(platform[:, :3, :3] - np.eye(3)).max() < 1e-10
    assert (np.ptp(platform[:, :3, 3], axis=0) > 0.2).all()
    # its three arms are alike
    q = np.array([0.1, 0.5, 0.9])
    M = rne.mass_matrix(machine, q)
    turned = rne.mass_matrix(machine, q[[2, 0, 1]])
    np.testing.assert_allclose(turned, M[np.ix_([2, 0, 1], [2, 0, 1])], rtol=1e-9)
    g = rne.gravity_torque(machine, q)
    np.testing.assert_allclose(rne.gravity_torque(machine, q[[2, 0, 1]]), g[[2, 0, 1]], rtol=1e-9)


def test_slider_crank_stroke() -> None:
    machine = rne.load_model("slider_crank")
    angle = np.linspace(0.0, 2.0 * math.pi, 50)
    slider = assemble(machine, angle[:, None])[:, machine.robot.joint_names.index("slider_joint")]
    expected = 0.05 * np.cos(angle) + np.sqrt(0.15**2 - (0.05 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(slider, expected, rtol=0, atol=1e-12)


def test_four_bar_turns_right_round() -> None:
    machine, theta = rne.load_model("four_bar"), np.linspace(0.0, 2.0 * math.pi, 50)
    rocker = assemble(machine, theta[:, None])[:, machine.robot.joint_names.index("rocker_joint")]
    assert (rocker > 0.2).all()  # Freudenstein: the open branch
    crank, coupler, ground, arm = 0.1, 0.35, 0.4, 0.3
    end = np.stack([ground + arm * np.cos(rocker), arm * np.sin(rocker)])
    pin = crank * np.stack([np.cos(theta), np.sin(theta)])
    np.testing.assert_allclose(np.linalg.norm(end - pin, axis=0), coupler, rtol=1e-12)


def test_five_bar_tip_is_where_both_forearms_end() -> None:
    machine = rne.load_model("five_bar")
    tip = rne.forward_kinematics(machine.robot, machine.posture)["tool0"]
    np.testing.assert_allclose(tip[:3, 3], [0.0, 0.0, -0.38], rtol=0, atol=1e-12)
