"""Model files with a Denavit–Hartenberg table in place of a URDF."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.ros.node.robot import load_robot

TABLE = """\
dh:
  convention: standard
  name: bench
  links:
    - {joint: waist, alpha: 1.5707963267948966, d: 0.4, mass: 6, com: [0, -0.1, 0.02],
       inertia: [0.11, 0.001, 0, 0.08, 0, 0.12], inertia_about: origin, lower: -2, upper: 2, velocity: 3, effort: 90}
    - {name: slide, kind: prismatic, theta: 0.3, d: 0.2, a: 0.05, mass: 3, com: [0, 0, -0.1],
       inertia: [0.02, 0, 0.001, 0.03, 0, 0.02], lower: 0, upper: 0.4}
    - {a: 0.3, alpha: 0.4, mass: 1.5, com: [-0.15, 0, 0], inertia: [0.001, 0, 0, 0.012, 0, 0.012]}
  tool: {xyz: [0, 0, 0.1], rpy: [0, 1.5707963267948966, 0]}
rotors: {waist: 0.7}
friction: {joint3: {viscous: 0.2, coulomb_forward: 1, coulomb_backward: 2}}
payload: {link: tool0, mass: 0.5}
gravity: [0, 0, -1.62]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bench.yaml"
    path.write_text(TABLE)
    return path


def by_hand() -> rne.RobotModel:
    def tensor(xx, xy, xz, yy, yz, zz):
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    rows = [
        rne.DHLink(
            joint="waist", alpha=np.pi / 2, d=0.4, rotor_inertia=0.7,
            inertia=rne.Inertia.from_origin(6.0, [0, -0.1, 0.02], tensor(0.11, 0.001, 0, 0.08, 0, 0.12)),
        ),
        rne.DHLink(
            name="slide", kind="prismatic", theta=0.3, d=0.2, a=0.05,
            inertia=rne.Inertia(3.0, np.array([0, 0, -0.1]), tensor(0.02, 0, 0.001, 0.03, 0, 0.02)),
        ),
        rne.DHLink(
            a=0.3, alpha=0.4, inertia=rne.Inertia(1.5, np.array([-0.15, 0, 0]), np.diag([0.001, 0.012, 0.012])),
        ),
    ]  # fmt: skip
    turned = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    robot = rne.from_dh(rows, tool=(turned, [0.0, 0.0, 0.1]), gravity=(0, 0, -1.62))
    return rne.with_payload(robot, rne.Payload("tool0", 0.5))


def test_the_file_is_the_robot_of_the_constructor(file: Path) -> None:
    robot, expected = rne.load_model(file), by_hand()
    assert (robot.name, robot.joint_names) == ("bench", ("waist", "joint2", "joint3"))
    assert robot.lower.tolist() == [-2.0, 0.0, -np.inf]
    assert robot.effort_limit.tolist() == [90.0, np.inf, np.inf]  # URDF has no word for infinity; the table has
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 20, 3))
    tau = rne.inverse_dynamics(expected, q, qd, qdd)
    assert relative_error(rne.inverse_dynamics(robot, q, qd, qdd), tau) < 1e-14
    assert rne.friction_torque(robot, [0.0, 0.0, -1.0])[2] == pytest.approx(-2.2)
    poses = [rne.forward_kinematics(x, q)["tool0"] for x in (robot, expected)]
    assert relative_error(*poses) < 1e-15
    file.write_text(TABLE.replace("  name: bench\n", ""))
    assert rne.load_model(file).name == "bench", "named after its file"


def test_check_finds_what_the_table_leaves_out(file: Path, capsys) -> None:
    assert main(["check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["urdf"]["file"] == f"{file} (as URDF)"
    assert "joint 'joint3'" in {f["element"] for f in report["urdf"]["findings"]}  # continuous, without <limit>


def test_nodes_take_it_and_publish_its_urdf(file: Path) -> None:
    """The parameter `model`, some joints locked, and what viewers get as robot_description."""
    described = load_robot(str(file), "", ["waist", "joint3"], [])
    assert described.robot.rigid.joint_names == ("waist", "joint3")
    assert described.locked == {"joint2": 0.0}
    read = urdf_source(file)
    assert read.name == f"{file} (as URDF)"
    assert rne.load_urdf(read.data.decode()).joint_names == ("waist", "joint2", "joint3")


def test_loops_on_a_table() -> None:
    """A four-bar linkage: three rows, and the last pin as a loop."""
    rows = "".join(f"    - {{a: {a}, mass: 1, inertia: [0.01, 0, 0, 0.01, 0, 0.01]}}\n" for a in (0.2, 0.5, 0.4))
    text = (
        f"dh:\n  convention: standard\n  links:\n{rows}"
        "actuated: [joint1]\nposture: {joint1: 1.5, joint2: -1.2, joint3: -1.7}\n"
        "loops:\n  - {name: pin, kind: revolute, a: {link: base_link, xyz: [0.5, 0, 0]}, b: {link: link3}}\n"
    )
    mechanism = rne.load_model(text)
    assert isinstance(mechanism, Mechanism)
    assert mechanism.joint_names == ("joint1",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("dh:", "urdf: scara\ndh:"), ":3: the file: urdf and dh are both given; one of them"),
        (("convention: standard", "convention: craig"), ":2: dh convention: is 'craig'; it must be one of standard"),
        (("  convention: standard\n", ""), ":2: dh: convention is missing: standard: Rz(theta)"),
        (("alpha: 0.4", "alpha: 90 deg"), ":9: row number 3 alpha: is '90 deg'; it must be one finite number, rad"),
        (("alpha: 0.4", "twist: 0.4"), ":9: row number 3: key 'twist' is unknown"),
        (("kind: prismatic", "kind: screw"), ":7: row 'slide' kind: is 'screw'; it must be one of revolute"),
        (("mass: 1.5", "mass: -1"), ":9: row number 3 mass: is -1"),
        (("mass: 1.5, com", "com"), ":9: dh link 'link3': com is given, but no mass"),
        (("inertia: [0.11, 0.001, 0, 0.08", "inertia: [0.011, 0.001, 0, 0.08"), ":5: dh link 'link1': inertia about"),
        (("lower: 0, upper: 0.4", "lower: 1, upper: 0.4"), ":7: dh link 'slide': lower is 1, above upper"),
        (("convention: standard", "convention: standard\n  gravity: 9.81"), ":3: dh: key 'gravity' is unknown"),
        (("name: slide", "name: link1"), ":2: dh: robot 'bench': link 'link1' is there twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change: tuple[str, str], said: str, file: Path) -> None:
    file.write_text(TABLE.replace(*change))
    with pytest.raises(DescriptionError) as caught:
        rne.load_model(file)
    assert said in str(caught.value)
