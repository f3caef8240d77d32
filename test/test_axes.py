"""Frames laid along an axis keep all digits at any tilt: of joints, beams and principal axes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin

from rne_dynamics.model.bodies import align_z
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.principal import Symmetry, principal_axes
from rne_dynamics.model.solids import hollow_sphere, tube

#: Tilts of an axis from ±x, ±y, ±z, rad; at 2e-6 a formula that divides by 1 + z has lost eleven digits.
TILTS = (1e-1, 1e-4, 1.4e-6, 1e-8, 1e-15, 1e-170, 1e-310)
SCALES = (1.0, 7.3, 1e-6, 1e9)  # descriptions need not give unit vectors


def tilted(tilt: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Six axes, each at `tilt` from one of ±x, ±y, ±z, in a direction drawn at random."""
    axes = []
    for k in range(3):
        for sign in (1.0, -1.0):
            axis = np.roll([*rng.normal(size=2), 0.0], k + 1)
            axis *= np.sin(tilt) / np.linalg.norm(axis)
            axis[k] = sign * np.cos(tilt)
            axes.append(axis)
    return axes


def rotation(rng: np.random.Generator) -> np.ndarray:
    return pin.Quaternion(rng.normal(size=4)).normalized().toRotationMatrix()


def inertia(rng: np.random.Generator) -> Inertia:
    turn, moments = rotation(rng), np.diag([0.02, 0.03, 0.04] * rng.uniform(0.8, 1.2, 3))
    turned = turn @ moments @ turn.T
    return Inertia(rng.uniform(0.5, 2.0), rng.normal(size=3) * 0.2, 0.5 * (turned + turned.T))


def arms(tilt: float, scale: float, seed: int) -> tuple[RobotModel, pin.Model]:
    """A six-joint arm with these axes, revolute and prismatic: ours, and Pinocchio's with unit axes of its own."""
    rng = np.random.default_rng(seed)
    links, joints, model = [TreeLink("l0")], [], pin.Model()
    for k, axis in enumerate(tilted(tilt, rng)):
        kind = JointKind.PRISMATIC if (k + seed) % 3 == 0 else JointKind.REVOLUTE
        R, p, body = rotation(rng), rng.normal(size=3), inertia(rng)
        links.append(TreeLink(f"l{k + 1}", body))
        joints.append(TreeJoint(f"j{k}", kind, f"l{k}", f"l{k + 1}", R, p, axis * scale))
        made = pin.JointModelPrismaticUnaligned if kind is JointKind.PRISMATIC else pin.JointModelRevoluteUnaligned
        index = model.addJoint(k, made(axis / np.linalg.norm(axis)), pin.SE3(R, p), f"j{k}")
        model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return assemble(KinematicTree("tilted", tuple(links), tuple(joints))), model


@pytest.mark.parametrize("tilt", TILTS)
def test_align_z_is_a_rotation_onto_the_axis_at_any_tilt(tilt):
    """Orthonormal in exact arithmetic on the entries, not only as far as doubles can see."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        for axis in tilted(tilt, rng):
            R = align_z(axis)
            assert np.abs(R[:, 2] - axis).max() < 1e-300
            exact = np.array([[Fraction(float(x)) for x in row] for row in R], dtype=object)
            off = (exact.T @ exact - np.eye(3, dtype=int)).astype(np.float64)
            assert np.abs(off).max() < 2e-15
            assert np.linalg.det(R) == pytest.approx(1.0, abs=2e-15)


@pytest.mark.parametrize("tilt", TILTS[:11])
def test_dynamics_about_axes_at_any_tilt(tilt):
    """ID, M, g and bias as Pinocchio has them, relative to the largest entry; FD there and back."""
    for seed, scale in enumerate(SCALES):
        robot, model = arms(tilt, scale, seed)
        data, rng = model.createData(), np.random.default_rng(seed)
        q, qd, qdd = rng.normal(size=(3, 6))
        M = np.triu(pin.crba(model, data, q))
        M = M + np.triu(M, 1).T
        assert relative_error(rne.mass_matrix(robot, q), M) < 1e-14
        assert relative_error(rne.gravity_torque(robot, q), pin.computeGeneralizedGravity(model, data, q)) < 1e-14
        assert relative_error(rne.bias_torque(robot, q, qd), pin.nonLinearEffects(model, data, q, qd)) < 1e-14
        tau = pin.rnea(model, data, q, qd, qdd)
        assert relative_error(rne.inverse_dynamics(robot, q, qd, qdd), tau) < 1e-14
        assert relative_error(rne.forward_dynamics(robot, q, qd, tau), qdd) < 1e-12


@pytest.mark.parametrize("tilt", TILTS[:11])
def test_planar_joints_stay_in_planes_at_any_tilt(tilt):
    """The body slides across the normal and turns about it, as one planar joint whose normal is given would."""
    for normal in tilted(tilt, np.random.default_rng(9)):
        links = TreeLink("a"), TreeLink("b", inertia(np.random.default_rng(8)))
        robot = assemble(KinematicTree("p", links, (TreeJoint("j", JointKind.PLANAR, "a", "b", axis=normal),)))
        pose = rne.forward_kinematics(robot, [0.7, -0.4, 0.9])["b"]
        R, unit = pose[:3, :3], robot.tree.joint("j").axis
        assert abs(pose[:3, 3] @ unit) < 4e-16
        assert np.linalg.norm(pose[:3, 3]) == pytest.approx(np.hypot(0.7, 0.4), rel=1e-15)
        assert np.abs(R - rotation_about(unit, 0.9)).max() < 2e-15
        assert rne.mass_matrix(robot, np.zeros(3))[2, 2] == pytest.approx(unit @ links[1].inertia.about_origin @ unit)


def test_axes_of_any_length_are_directions():
    for size in (1e-11, 1e160, 1e308):
        joint = TreeJoint("j", JointKind.REVOLUTE, "a", "b", axis=np.array([0.6, 0.0, -0.8]) * size)
        assert np.abs(joint.axis - [0.6, 0.0, -0.8]).max() < 3e-16


@pytest.mark.parametrize("tilt", [1e-1, 1e-4, 1e-6, 1e-8])
def test_the_axes_of_a_beam_are_square_however_close_its_normal_is_to_its_axis(tilt):
    for seed in range(10):
        axis, aside = np.random.default_rng(seed).normal(size=(2, 3))
        R = Beam("l", 1.0, 1.0, 1.0, 1.0, axis=axis, normal=axis + tilt * aside).rotation
        assert np.abs(R.T @ R - np.eye(3)).max() < 1e-15


@pytest.mark.parametrize("gap", [1e-1, 1e-4, 1e-7, 3e-9, 1e-10, 0.0])
def test_principal_axes_of_moments_that_nearly_agree(gap):
    """A rotation to round-off at any gap; it makes the inertia diagonal as far as equal moments are distinguished."""
    rng = np.random.default_rng(4)
    for moments in ([1.0, 1.0 + gap, 1.5], [1.0, 1.5 - gap, 1.5], [1.0, 1.0 + gap, 1.0 + 2.0 * gap]):
        for _ in range(10):
            R = rotation(rng)
            inertia = R @ np.diag(moments) @ R.T
            inertia = 0.5 * (inertia + inertia.T)
            found = principal_axes(inertia)
            assert np.abs(found.axes.T @ found.axes - np.eye(3)).max() < 2e-15
            assert np.abs(found.moments - moments).max() < 3e-15
            distinguished = found.symmetry is Symmetry.NONE
            turned = found.axes.T @ inertia @ found.axes - np.diag(found.moments)
            assert np.abs(turned).max() < (3e-15 if distinguished else 3e-9)


def test_thin_walls_keep_their_digits():
    wall, r = 2.0**-40, 0.5  # exact in double precision, and so is the inner radius
    square = Fraction(r) ** 2 - Fraction(r - wall) ** 2
    cube = Fraction(r) ** 3 - Fraction(r - wall) ** 3
    assert tube(r, r - wall, 1.0, density=1.0).mass == pytest.approx(np.pi * float(square), rel=1e-15)
    assert hollow_sphere(r, r - wall, density=1.0).mass == pytest.approx(4.0 / 3.0 * np.pi * float(cube), rel=1e-15)
