from __future__ import annotations

import argparse
import io
from pathlib import Path

import numpy as np
import pytest
from support.urdf_text import ARM, arm, joint, link, robot

from rne_dynamics.cli.arguments import load_robot, robot_source
from rne_dynamics.cli.own_arm.info import describe
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.layout import ROTOR


def test_the_sample_arm_in_numbers() -> None:
    info = describe(load_urdf(ARM))
    (row,) = info["joints"]
    assert row == {
        "name": "shoulder", "kind": "revolute", "parent": "base", "child": "upper", "lower": -1.0, "upper": 2.0,
        "velocity": 4.0, "effort": 30.0, "viscous": 0.5, "coulomb": 0.25, "rotor_inertia": 0.0,
        "gravity_effort": pytest.approx(-2.0 * 9.81 * 0.1),
    }  # fmt: skip
    assert info["links"] == [
        {"name": "base", "mass": 0.0, "com": [0.0, 0.0, 0.0], "moves_with": None},
        {"name": "upper", "mass": 2.0, "com": [0.1, 0.0, 0.0], "moves_with": "shoulder"},
    ]


def test_a_robot_as_table_and_json(figures, run_rne, tmp_path: Path) -> None:
    model, text, report = load_urdf("scara"), run_rne("info", "scara").out, figures("info", "scara")
    assert all(joint_name in text for joint_name in model.joint_names)
    assert f"total mass: {model.mass:.6g} kg" in text
    assert report["mass"] == model.mass
    np.testing.assert_allclose([j["gravity_effort"] for j in report["joints"]], gravity_torque(model, model.neutral))
    np.testing.assert_allclose([j["rotor_inertia"] for j in report["joints"]], model.parameters[:, ROTOR], rtol=1e-15)
    (tmp_path / "arm.urdf").write_text(arm(("revolute", "continuous")))
    info = figures("info", tmp_path / "arm.urdf")
    assert info["joints"] == [{
        "name": "shoulder", "kind": "continuous", "parent": "base", "child": "upper", "lower": None, "upper": None,
        "velocity": 4.0, "effort": 30.0, "viscous": 0.5, "coulomb": 0.25, "rotor_inertia": 0.0,
        "gravity_effort": pytest.approx(-2.0 * 9.81 * 0.1),
    }]  # fmt: skip
    assert info["links"][1] == {"name": "upper", "mass": 2.0, "com": [0.1, 0.0, 0.0], "moves_with": "shoulder"}


def test_mimics_planar_and_floating_joints_have_their_rows(tmp_path: Path, run_rne) -> None:
    path = tmp_path / "tree.urdf"
    path.write_text(
        robot(
            link("a"), link("b"), link("c"), link("d"), link("e"),
            joint("j", "a", "b"), joint("k", "b", "c", inside='<mimic joint="j" multiplier="-2" offset="0.5"/>'),
            joint("p", "a", "d", "planar"), joint("f", "a", "e", "floating"),
        )
    )  # fmt: skip
    text = run_rne("info", path, "--base", "floating").out
    words = ("-2 x j +0.5", "p/theta", "f/rot_x", "a/trans_z", "floating base", "16 coordinates")
    assert all(word in text for word in words)


def test_standard_input_of_any_encoding_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = '<?xml version="1.0" encoding="latin-1"?>' + robot(link("grüner_arm"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode("latin-1"))))
    args = argparse.Namespace(robot="-", lenient=False, mappings=[])
    assert load_robot(args).link_names == ("grüner_arm",)
    assert robot_source(args).data == data.encode("latin-1")  # commands that need the text too
