from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.urdf_text import arm_and

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.lint.findings import Severity
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.urdf import load_urdf

JOINT = '<joint name="shoulder"/>'


def reflected(inside: str) -> float:
    return load_urdf(arm_and(f'<transmission name="t">{inside}</transmission>')).tree.joint("shoulder").rotor_inertia


@pytest.mark.parametrize(
    "inside",
    [
        f"{JOINT}<actuator><mechanicalReduction>100</mechanicalReduction><rotorInertia>2e-5</rotorInertia></actuator>",
        f"{JOINT}<actuator><mechanical_reduction>-100</mechanical_reduction><motor_inertia>2e-5</motor_inertia></actuator>",
        f'{JOINT}<actuator><drake:gear_ratio value="100"/><drake:rotor_inertia value="2e-5"/></actuator>',
        '<joint name="shoulder"><drake:gear_ratio value="100"/><drake:rotor_inertia value="2e-5"/></joint>',
        '<joint name="shoulder"><mechanicalReduction>4</mechanicalReduction></joint>'
        "<actuator><mechanicalReduction>25</mechanicalReduction><motorInertia>2e-5</motorInertia></actuator>",
        f"{JOINT}<actuator><motorInertia>2e-5</motorInertia></actuator><mechanicalReduction>100</mechanicalReduction>",
        f"{JOINT}<mechanicalReduction>100</mechanicalReduction><motorInertia> 2e-5\n</motorInertia>",
    ],
)
def test_rotor_inertia_times_ratio_squared_from_every_way_of_writing(inside: str) -> None:
    assert reflected(inside) == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize(("inside", "inertia"), [("rotorInertia", 2e-5), ("mechanicalReduction", 0.0)])
def test_the_ratio_is_one_and_the_inertia_zero_where_none_is_given(inside: str, inertia: float) -> None:
    assert reflected(f"{JOINT}<actuator><{inside}>2e-5</{inside}></actuator>") == inertia


def test_transmissions_of_ros2_control_count() -> None:
    text = arm_and(
        f"<ros2_control><transmission>{JOINT}<actuator><rotor_inertia>1e-4</rotor_inertia>"
        "<mechanical_reduction>10</mechanical_reduction></actuator></transmission></ros2_control>"
    )
    assert load_urdf(text).tree.joint("shoulder").rotor_inertia == pytest.approx(1e-2)


def test_two_drives_on_a_joint_add_up_with_a_warning() -> None:
    """Also of ros2_control; the ratio is 1 where none is given."""
    one = f"<transmission>{JOINT}<actuator><rotorInertia>1e-3</rotorInertia></actuator></transmission>"
    text = arm_and(f"{one}\n<ros2_control>{one}</ros2_control>")
    assert load_urdf(text).tree.joint("shoulder").rotor_inertia == pytest.approx(2e-3)
    (finding,) = lint(text).findings
    assert (finding.severity, finding.line, "second drive" in finding.message) == (Severity.WARNING, 18, True)


@pytest.mark.parametrize(
    ("inside", "line", "says"),
    [
        (f"{JOINT}<actuator>\n<rotorInertia>heavy</rotorInertia></actuator>", 18, "'heavy', not a number"),
        (f"{JOINT}<actuator><rotorInertia>1e-4</rotorInertia><gear_ratio/></actuator>", 17, "'', not a number"),
        (f"{JOINT}<actuator><rotorInertia>-1e-4</rotorInertia></actuator>", 17, "negative or vast"),
        (
            f"{JOINT}<actuator><rotorInertia>1</rotorInertia><gear_ratio>1e9</gear_ratio></actuator>",
            17,
            "negative or vast",
        ),
        (
            '<joint name="elbow"/><actuator><rotorInertia>1</rotorInertia></actuator>',
            17,
            "joint 'elbow', which does not exist",
        ),
        ("<joint/><actuator><rotorInertia>1</rotorInertia></actuator>", 17, "joint '', which does not exist"),
        (f"{JOINT}{JOINT}<actuator><rotorInertia>1</rotorInertia></actuator>", 17, "needs one actuator and one joint"),
        (
            f"{JOINT}<actuator><rotorInertia>1</rotorInertia></actuator><actuator/>",
            17,
            "needs one actuator and one joint",
        ),
        ("<actuator><rotorInertia>1</rotorInertia></actuator>", 17, "needs one actuator and one joint"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_warning(inside: str, line: int, says: str) -> None:
    text = arm_and(f'<transmission name="t">{inside}</transmission>')
    assert load_urdf(text).tree.joint("shoulder").rotor_inertia == 0.0
    (finding,) = lint(text).findings
    assert (finding.severity, finding.line) == (Severity.WARNING, line)
    assert finding.element.startswith("transmission 't'")
    assert says in finding.message


def test_a_choice_at_loading_whether_rotors_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Efforts of the motors, or behind the gears: of a motion they differ by the rotors' inertia times acceleration."""
    motors, behind = load_urdf("puma560"), load_urdf("puma560", rotors=False)
    rotor = rne.rotor_inertia(motors)
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 6))
    sensed = rne.inverse_dynamics(behind, q, qd, qdd)
    assert np.abs(rne.inverse_dynamics(motors, q, qd, qdd) - sensed - rotor * qdd).max() < 1e-13
    # the same for the nodes, which take a model file, and for what is made of one
    file = tmp_path / "own.yaml"
    for text, options, expected in (
        ("none", {}, 0.0 * rotor), ("{joint1: 7.0}", {}, [7.0, *rotor[1:]]),
        ("{joint1: 7.0}", {"rotors": False}, 0.0 * rotor),
    ):
        file.write_text(f"urdf: puma560\nrotors: {text}\n")
        assert rne.rotor_inertia(load_model(file, **options)).tolist() == list(expected)
    for name in ("delta", "flexible_arm6"):
        assert not any(joint.rotor_inertia for joint in load_model(name, rotors=False).tree.joints)
    assert main(["info", str(file), "--json", "--no-rotors"]) == 0
    assert not any(joint["rotor_inertia"] for joint in json.loads(capsys.readouterr().out)["joints"])
