"""Model files that build on another one, and friction in model files."""

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
BASE = """\
urdf: arm.urdf
friction:
  shoulder: {viscous: 1, coulomb: 2}
  elbow: {viscous: 3, coulomb_forward: 4, coulomb_backward: 2}
rotors: {shoulder: 0.5, elbow: 0.25}
payload: {link: forearm, mass: 2}
gravity: [0, 0, -1.62]
"""
OWN = """\
based_on: robots/base.yaml
friction:
  elbow: {viscous: 1.2, coulomb: 3.4, offset: 0.2, threshold: 0.05, stribeck: 0.8, stribeck_velocity: 0.15}
payload: {link: forearm, mass: 0.5}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots/arm.urdf").write_text(ARM)
    (tmp_path / "robots/base.yaml").write_text(BASE)
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path


def test_entries_of_the_other_file_hold_where_there_are_no_own_ones(folder: Path) -> None:
    base, own = rne.load_model(folder / "robots/base.yaml"), rne.load_model(folder / "own.yaml")
    assert own.joint_names == base.joint_names == ("shoulder", "elbow")
    assert own.mass == pytest.approx(base.mass - 1.5)
    assert own.gravity.tolist() == [0.0, 0.0, -1.62]
    found = joint_friction(own)
    assert found.viscous.tolist() == [1.0, 1.2]
    assert (found.coulomb[1], found.offset[1]) == pytest.approx((3.4, 0.2))
    assert (found.stribeck[1], found.stribeck_velocity[1], found.threshold[1]) == (0.8, 0.15, 0.05)
    assert own.tree.joint("elbow").rotor_inertia == 0.25
    assert urdf_source(folder / "own.yaml").name == str((folder / "robots/arm.urdf").resolve())
    (folder / "heavy.urdf").write_text(ARM.replace('<mass value="2"/>', '<mass value="20"/>'))
    (folder / "third.yaml").write_text("based_on: own.yaml\nrotors: none\nurdf: heavy.urdf\n")
    third = rne.load_model(folder / "third.yaml")
    assert joint_friction(third).stribeck.max() == 0.8
    assert not any(joint.rotor_inertia for joint in third.tree.joints)
    assert third.mass == pytest.approx(own.mass + 18.0)


def test_files_build_on_files_that_build_on_files(folder: Path) -> None:
    (folder / "third.yaml").write_text("based_on: own.yaml\nrotors: none\n")
    third = rne.load_model(folder / "third.yaml")
    assert joint_friction(third).stribeck.max() == 0.8
    assert not any(joint.rotor_inertia for joint in third.tree.joints)


def test_another_urdf_takes_the_place_of_the_first(folder: Path) -> None:
    (folder / "heavy.urdf").write_text(ARM.replace('<mass value="2"/>', '<mass value="20"/>'))
    (folder / "own.yaml").write_text("based_on: robots/base.yaml\nurdf: heavy.urdf\n")
    assert rne.load_model(folder / "own.yaml").mass > 2.0 * rne.load_model(folder / "robots/base.yaml").mass


def test_models_that_ship_can_be_built_on() -> None:
    plain = rne.load_model("four_bar")
    heavy = rne.load_model("based_on: four_bar\npayload: {link: rocker, mass: 1}\n")
    assert heavy.loops[0].name == plain.loops[0].name
    assert heavy.mass == pytest.approx(plain.mass + 1.0)
    loops = rne.load_model(
        "based_on: four_bar\nloops:\n- {name: pin, kind: revolute, a: {link: rocker, xyz: [0.3, 0, 0]}, "
        "b: {link: coupler, xyz: [0.35, 0, 0]}}\n"
    ).loops
    assert [loop.name for loop in loops] == [*(loop.name for loop in plain.loops), "pin"]


@pytest.mark.parametrize(("text", "base", "words"), [
    ("based_on: no.yaml\n", BASE, r"own.yaml:1: based_on: .*no.yaml does not exist"),
    ("based_on: robots/arm.urdf\n", BASE, r"own.yaml:1: based_on: 'robots/arm.urdf' is no model file"),
    (OWN, BASE + "colour: red\n", r"own.yaml:1: based_on: .*base.yaml:8: the file: key 'colour' is unknown"),
    (OWN, "urdf: [\n", r"own.yaml:1: based_on: .*base.yaml:\d: the file: is no YAML"),
    (OWN, BASE.replace("shoulder: {v", "sholder: {v"), r"own.yaml:1: friction of robots/base.yaml: .* named 'sholder'"),
    (OWN, "based_on: ../own.yaml\n", r"own.yaml:1: .*circle: own.yaml -> base.yaml -> own.yaml"),
    ("based_on: own.yaml\n", BASE, r"circle: own.yaml -> own.yaml"),
    (OWN.replace("stribeck_velocity", "stribeck_speed"), BASE, r"own.yaml:3: .*'stribeck_speed' is unknown"),
    (OWN.replace(", stribeck_velocity: 0.15", ""), BASE, r"own.yaml:3: .*stribeck is 0.8 without a stribeck_velocity"),
    (OWN.replace("coulomb: 3.4", "coulomb_forward: 3.4"), BASE, r"offset and coulomb_forward are both given"),
    (OWN.replace("offset: 0.2", "offset: nan"), BASE, r"own.yaml:3: friction 'elbow' offset"),
    (OWN.replace("threshold: 0.05", "threshold: -0.05"), BASE, r"own.yaml:3: friction 'elbow' threshold: is -0.05"),
])  # fmt: skip
def test_faults_are_named_with_both_files(folder: Path, text: str, base: str, words: str) -> None:
    (folder / "own.yaml").write_text(text)
    (folder / "robots/base.yaml").write_text(base)
    with pytest.raises(DescriptionError, match=words):
        rne.load_model(folder / "own.yaml")


def test_an_offset_may_be_larger_than_coulomb_friction() -> None:
    robot = rne.load_model("urdf: puma560\nfriction: {joint1: {coulomb: 0.1, offset: -0.4}}\n")
    assert (joint_friction(robot).offset[0], joint_friction(robot).coulomb[0]) == pytest.approx((-0.4, 0.1))
    assert rne.friction_torque(robot, np.zeros(6))[0] == pytest.approx(-0.3)  # the least that holds it
    with pytest.raises(rne.RneDynamicsError, match=r"coulomb_forward is -2\.0; it must be finite and not negative"):
        _ = rne.TreeJoint("j", rne.JointKind.REVOLUTE, "a", "b", friction=Friction(0.0, -2.0, 1.0))


def test_regressors_add_up_to_inverse_dynamics_and_friction() -> None:
    friction = "{viscous: 1, coulomb: 2, offset: -0.1, threshold: 0.05, stribeck: 0.8, stribeck_velocity: 0.1}"
    text = "urdf: puma560\nfriction:\n" + "".join(f"  joint{k}: {friction}\n" for k in range(1, 4))
    robot = rne.load_model(text)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 50, 6)) * [[[1.0]], [[0.2]], [[1.0]]]
    expected = rne.inverse_dynamics(robot, q, qd, qdd) + rne.friction_torque(robot, qd)
    own = (rne.joint_regressor(robot, qd, qdd) * rne.joint_parameters(robot)).sum(axis=-1)
    found = rne.regressor(robot, q, qd, qdd) @ rne.inertial_parameters(robot) + own
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    fitted = rne.joint_regressor(robot, qd, qdd, threshold=0.1, stribeck_velocity=0.3)
    x = np.clip(qd / 0.1, -1.0, 1.0)
    np.testing.assert_allclose(fitted[..., 3], x * (3.0 - x**2) / 2.0, rtol=1e-14)
    np.testing.assert_allclose(fitted[..., 4], fitted[..., 3] * np.exp(-((qd / 0.3) ** 2)), rtol=1e-13)
