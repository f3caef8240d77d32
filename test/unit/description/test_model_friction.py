"""Friction in model files, and faults of a model file that its messages name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.urdf_text import arm_and, joint, link

import rne_dynamics as rne
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.tree import Friction

ARM = arm_and(link("forearm") + joint("elbow", "upper", "forearm"))
OWN = """\
urdf: robots/arm.urdf
friction:
  elbow: {viscous: 1.2, coulomb: 3.4, offset: 0.2, threshold: 0.05, stribeck: 0.8, stribeck_velocity: 0.15}
  shoulder: {viscous: 1, coulomb_forward: 4, coulomb_backward: 2}
rotors: {shoulder: 0.5, elbow: 0.25}
gravity: [0, 0, -1.62]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots/arm.urdf").write_text(ARM)
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path


def test_friction_rotors_and_gravity_are_those_of_the_file(folder: Path) -> None:
    own = rne.load_model(folder / "own.yaml")
    assert own.gravity.tolist() == [0.0, 0.0, -1.62]
    found, j = joint_friction(own), own.joint_names.index("elbow")
    assert found.viscous.tolist() == [1.0, 1.2] if j else [1.2, 1.0]
    assert (found.coulomb[j], found.offset[j]) == pytest.approx((3.4, 0.2))
    assert (found.coulomb[1 - j], found.offset[1 - j]) == pytest.approx((3.0, 1.0))
    assert (found.stribeck[j], found.stribeck_velocity[j], found.threshold[j]) == (0.8, 0.15, 0.05)
    np.testing.assert_array_equal(own.tree.joint("elbow").rotor_inertia, 0.25)
    assert Path(urdf_source(folder / "own.yaml").name).resolve() == (folder / "robots/arm.urdf").resolve()
    (folder / "own.yaml").write_text(OWN.replace("rotors: {shoulder: 0.5, elbow: 0.25}", "rotors: none"))
    assert not any(joint.rotor_inertia for joint in rne.load_model(folder / "own.yaml").tree.joints)


@pytest.mark.parametrize(("text", "words"), [
    ("urdf: no.yaml\n", r"own.yaml:1: urdf: .*'no.yaml' is a model file, which cannot be the URDF"),
    ("urdf: [\n", r"own.yaml:\d: the file: is no YAML"),
    (OWN.replace("shoulder: {v", "sholder: {v"), r"own.yaml:4: friction: .* named 'sholder'"),
    (OWN.replace("stribeck_velocity", "stribeck_speed"), r"own.yaml:3: .*'stribeck_speed' is unknown"),
    (OWN.replace(", stribeck_velocity: 0.15", ""), r"own.yaml:3: .*stribeck is 0.8 without a stribeck_velocity"),
    (OWN.replace("coulomb: 3.4", "coulomb_forward: 3.4"), r"offset and coulomb_forward are both given"),
    (OWN.replace("offset: 0.2", "offset: nan"), r"own.yaml:3: friction 'elbow' offset"),
    (OWN.replace("threshold: 0.05", "threshold: -0.05"), r"own.yaml:3: friction 'elbow' threshold: is -0.05"),
])  # fmt: skip
def test_faults_are_named_with_their_line(folder: Path, text: str, words: str) -> None:
    (folder / "own.yaml").write_text(text)
    with pytest.raises(DescriptionError, match=words):
        rne.load_model(folder / "own.yaml")


def test_an_offset_may_be_larger_than_coulomb_friction() -> None:
    robot = rne.load_model("urdf: puma560\nfriction: {joint1: {coulomb: 0.1, offset: -0.4}}\n")
    assert joint_friction(robot).offset[0] == pytest.approx(-0.4)
    assert joint_friction(robot).coulomb[0] == pytest.approx(0.1)
    assert rne.friction_torque(robot, np.zeros(6))[0] == pytest.approx(-0.3)  # the least that holds it
    with pytest.raises(rne.RneDynamicsError, match=r"coulomb_forward is -2\.0; it must be finite and not negative"):
        _ = rne.TreeJoint("j", rne.JointKind.REVOLUTE, "a", "b", friction=Friction(0.0, -2.0, 1.0))


def test_regressors_add_up_to_inverse_dynamics_and_friction() -> None:
    friction = "{viscous: 1, coulomb: 2, offset: -0.1, threshold: 0.05, stribeck: 0.8, stribeck_velocity: 0.1}"
    text = "urdf: puma560\nfriction:\n" + "".join(f"  joint{k}: {friction}\n" for k in range(1, 4))
    robot, rng = rne.load_model(text), np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 50, 6)) * [[[1.0]], [[0.2]], [[1.0]]]
    expected = rne.inverse_dynamics(robot, q, qd, qdd) + rne.friction_torque(robot, qd)
    own = (rne.joint_regressor(robot, qd, qdd) * rne.joint_parameters(robot)).sum(axis=-1)
    found = rne.regressor(robot, q, qd, qdd) @ rne.inertial_parameters(robot) + own
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    fitted = rne.joint_regressor(robot, qd, qdd, threshold=0.1, stribeck_velocity=0.3)
    x = np.clip(qd / 0.1, -1.0, 1.0)
    np.testing.assert_allclose(fitted[..., 3], x * (3.0 - x**2) / 2.0, rtol=1e-14)
    np.testing.assert_allclose(fitted[..., 4], fitted[..., 3] * np.exp(-((qd / 0.3) ** 2)), rtol=1e-13)
