from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.urdf_text import ARM, changed, link, robot
from support.urdf_text import joint as joint_text

import rne_dynamics as rne
from rne_dynamics.advice import rne as typed
from rne_dynamics.description.model_file import examine_model
from rne_dynamics.description.model_schema import KINDS
from rne_dynamics.description.share import share_file
from rne_dynamics.description.sources import names_model_file, read_source
from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.model.layout import COULOMB_BACKWARD, COULOMB_FORWARD, ROTOR, VISCOUS
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel

FOUR_BAR = """\
urdf: four_bar
actuated: [crank_joint]
loops:
  - name: hinge
    kind: revolute
    a: {link: rocker, xyz: [0.3, 0, 0]}
    b: {link: coupler, xyz: [0.35, 0, 0], rpy: [0, 0, 0.5]}
posture:
  crank_joint: 1.5
payload: {link: coupler, mass: 2, com: [0.1, 0, 0], inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
friction:
  crank_joint: {viscous: 0.1, coulomb: 0.2}
rotors: {crank_joint: 1e-3}
gravity: [0, 0, -1.62]
"""


def tree(text: str, tmp_path: Path, urdf: str) -> Path:
    (tmp_path / "tree.urdf").write_text(urdf)
    file = tmp_path / "model.yaml"
    file.write_text(text)
    return file


def test_everything_arrives() -> None:
    mechanism, bare = rne.load_model(FOUR_BAR), rne.load_model("four_bar")
    assert isinstance(mechanism, Mechanism)
    assert mechanism.joint_names == ("crank_joint",)
    np.testing.assert_array_equal(mechanism.posture, [1.5, 0.0, 0.0])
    np.testing.assert_array_equal(mechanism.gravity, [0.0, 0.0, -1.62])
    (loop,) = mechanism.loops
    assert (loop.name, loop.a.link, loop.b.link) == ("hinge", "rocker", "coupler")
    np.testing.assert_array_equal(loop.a.position, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(loop.b.rotation[:2, :2], [[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    assert mechanism.mass == pytest.approx(bare.mass + 2.0)
    crank = mechanism.robot.parameters[0]
    assert crank[[VISCOUS, COULOMB_FORWARD, COULOMB_BACKWARD, ROTOR]].tolist() == [0.1, 0.2, 0.2, 1e-3]


def test_how_motors_share_their_work() -> None:
    text = changed(
        FOUR_BAR,
        ("actuated: [crank_joint]", "actuated: [crank_joint, rocker_joint]\neffort_weights: {rocker_joint: 4}\n"
         "preload: {crank_joint: -2.5}"),
    )  # fmt: skip
    mechanism, locked = rne.load_model(text), rne.load_model(text, lock={"rocker_joint": 1.0})
    assert (mechanism.weights.tolist(), mechanism.preloads.tolist()) == ([1.0, 4.0], [-2.5, 0.0])
    assert (locked.joint_names, locked.weights.tolist()) == (("crank_joint",), [1.0])
    for wrong, said in (
        (("rocker_joint: 4", "rocker_joint: 0"), ":3: effort_weights: of 'rocker_joint' is 0; it must be above 0"),
        (("crank_joint: -2.5", "coupler_joint: -2.5"), "preload.*coupler_joint"),
    ):
        with pytest.raises(DescriptionError, match=said):
            rne.load_model(changed(text, wrong))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_loop_and_the_same_as_blocked_directions(kind: str) -> None:
    directions = ", ".join(KINDS[kind].value)
    by_kind, by_list = (
        rne.load_model(changed(FOUR_BAR, ("kind: revolute", text)))
        for text in (f"kind: {kind}", f"blocked: [{directions}]")
    )
    np.testing.assert_array_equal(by_kind.loop_frames, by_list.loop_frames)


def test_payload_and_lock_of_the_call_come_on_top() -> None:
    loaded, plain = rne.load_model(FOUR_BAR, payload=rne.Payload("rocker", 0.5)), rne.load_model(FOUR_BAR)
    assert loaded.mass == pytest.approx(plain.mass + 0.5)
    held, whole = rne.load_model("five_bar", lock={"left_joint": -2.0}), rne.load_model("five_bar")
    assert held.joint_names == ("right_joint",)
    by_name = dict(zip(whole.robot.joint_names, whole.posture, strict=True))
    assert held.posture.tolist() == [by_name[name] for name in held.robot.joint_names]
    with pytest.raises(ModelError, match="no joint named 'elbow'"):
        rne.load_model("five_bar", lock={"elbow": 0.0})


def test_without_loops_it_is_a_robot() -> None:
    model, plain = rne.load_model("urdf: puma560\nfriction: {joint1: {viscous: 3}}\n"), rne.load_urdf("puma560")
    assert isinstance(model, RobotModel)
    assert model.parameters[0, [VISCOUS, COULOMB_FORWARD]].tolist() == [3.0, 0.0]  # in place of the URDF's
    np.testing.assert_array_equal(model.parameters[1:], plain.parameters[1:])
    for source in ("puma560", ARM, ARM.encode(), share_file("urdf/scara.urdf")):
        np.testing.assert_array_equal(rne.load_model(source).parameters, rne.load_urdf(source).parameters)


def test_what_load_urdf_takes_is_loaded_as_it_does() -> None:
    for source in ("puma560", ARM, ARM.encode(), share_file("urdf/scara.urdf")):
        assert not names_model_file(source)
        model = rne.load_model(source)
        np.testing.assert_array_equal(model.parameters, rne.load_urdf(source).parameters)


def test_where_a_model_file_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "arm.urdf").write_text(ARM)
    file = tmp_path / "deep" / "model.yml"
    file.write_text("urdf: ../arm.urdf")
    monkeypatch.chdir(tmp_path)
    named = "package://rne_dynamics/urdf/scara.urdf"
    for source, name in (
        (file, "arm"), (str(file), "arm"), (file.as_uri(), "arm"), ("urdf: arm.urdf\n", "arm"),  # the current folder's
        ("package://rne_dynamics/urdf/pantograph.yaml", "pantograph"), (f"urdf: {named}\n", "scara"),
    ):  # fmt: skip
        assert rne.load_model(source).name == name
    with pytest.raises(DescriptionError, match=r"pantograph.yaml is a model file, not a URDF; .*load_model"):
        rne.load_urdf("pantograph")
    with pytest.raises(DescriptionError, match=r"pantograf does not exist; did you mean 'pantograph'\?"):
        rne.load_model("pantograf")
    with pytest.raises(DescriptionError, match="larger than 200 kB"):
        rne.load_model("urdf: x\n" + "#" * 1_000_000)


def test_xacro_arguments_reach_the_urdf(tmp_path: Path) -> None:
    (tmp_path / "arm.xacro").write_text(
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/>'
        '<link name="l"><inertial><mass value="$(arg m)"/></inertial></link></robot>'
    )
    (tmp_path / "model.yaml").write_text("urdf: arm.xacro")
    assert rne.load_model(tmp_path / "model.yaml", mappings={"m": "4"}).mass == 4.0


def test_names_may_look_like_yaml_values(tmp_path: Path) -> None:
    urdf = robot(link("on"), link("1"), link("y"), joint_text("no", "on", "1"), joint_text("7", "1", "y"))
    file = tree("urdf: tree.urdf\nrotors: {no: 1, 7: 2}\npayload: {link: y, mass: 1}\n", tmp_path, urdf)
    model = rne.load_model(file)
    assert model.parameters[:, ROTOR].tolist() == [1.0, 2.0]


#: What is changed in `FOUR_BAR`, and what the message then says; * stands for anything.
SCHEMA_FAULTS = {
    "unknown key": (
        ("actuated:", "actuator:"),
        "<text>:2: the file: key 'actuator' is unknown; known: urdf, dh, based_on, loops, actuated, effort_weights, "
        "preload, posture, flexible, payload, "
        "friction, rotors, gravity; write 'actuated'",
    ),
    "unknown key far from all": (("gravity:", "zzz:"), "<text>:14: the file: key 'zzz' is unknown;*; delete it"),
    "unknown key of a loop": (("kind: revolute", "type: revolute"), "<text>:5: loop 'hinge': key 'type' is unknown"),
    "unknown key of a frame": (("xyz: [0.3,", "pos: [0.3,"), "<text>:6: loop 'hinge' a: key 'pos' is unknown"),
    "twice": (
        ("rotors:", "gravity: [0, 0, 0]\nrotors:"),
        "<text>:15: the file: key 'gravity' is there twice, first in line 13; one is allowed; delete one",
    ),
    "no urdf": (("urdf: four_bar\n", ""), "<text>:1: the file: urdf is missing: the robot, or the open tree"),
    "empty urdf": (("urdf: four_bar", "urdf:"), "<text>:1: urdf: is empty; it must be a path, a URI or a name"),
    "urdf not there": (("urdf: four_bar", "urdf: nowhere.urdf"), "<text>:1: urdf: nowhere.urdf does not exist"),
    "package not there": (
        ("four_bar", "package://nix/a.urdf"), "<text>:1: urdf: 'package://nix/a.urdf': package 'nix'",
    ),
    "urdf is yaml": (
        ("four_bar", "package://rne_dynamics/urdf/four_bar.yaml"),
        "<text>:1: urdf: 'package://rne_dynamics/urdf/four_bar.yaml' is a model file, which cannot",
    ),
    "NaN": (("-1.62", ".nan"), "<text>:14: gravity[2]: is '.nan'; it must be one finite number, m/s^2; write it"),
    "infinite": (("crank_joint: 1.5", "crank_joint: .inf"), "<text>:9: posture 'crank_joint': is '.inf'"),
    "no number": (("mass: 2", "mass: two"), "<text>:10: payload mass: is 'two'; it must be one finite number, kg"),
    "number in quotes": (("mass: 2", "mass: '2'"), "<text>:10: payload mass: is '2'; it must be"),
    "comma": (("-1.62]", "-1,62]"), "<text>:14: gravity: holds 4 numbers; it must hold 3; give 3"),
    "clock": (("crank_joint: 1.5", "crank_joint: 1:30"), "<text>:9: posture 'crank_joint': is '1:30'"),
    "negative mass": (
        ("mass: 2", "mass: -2"),
        "<text>:10: payload mass: is -2; it must be one finite number, kg, at least 0*correct its sign",
    ),
    "vast": (("mass: 2", "mass: 1e15"), "<text>:10: payload mass: is 1e+15; *; give it in SI units"),
    "negative friction": (("viscous: 0.1", "viscous: -0.1"), "<text>:12: friction 'crank_joint' viscous: is -0.1"),
    "negative rotor": (("1e-3", "-1e-3"), "<text>:13: rotors 'crank_joint': is -0.001"),
    "short vector": (
        ("xyz: [0.3, 0, 0]", "xyz: [0.3, 0]"), "<text>:6: loop 'hinge' a xyz: holds 2 numbers; it must hold 3",
    ),
    "vector as text": (
        ("xyz: [0.3, 0, 0]", "xyz: 0.3 0 0"), "<text>:6: loop 'hinge' a xyz: is '0.3 0 0'; it must be a list",
    ),
    "list where a mapping should be": (
        ("rotors: {crank_joint: 1e-3}", "rotors: [crank_joint]"),
        "<text>:13: rotors: is a list of 1; it must be one of none, or a mapping",
    ),
    "mapping where a list should be": (
        ("[crank_joint]", "{crank_joint: 1}"), "<text>:2: actuated: is a mapping; it must be a list of joints",
    ),
    "mapping where a name should be": (("[crank_joint]", "[{a: 1}]"), "<text>:2: actuated[0]: is a mapping; it must"),
    "key that is no name": (
        ("rotors:", "[a]: 1\nrotors:"), "<text>:13: the file: a key is a list of 1; it must be a name",
    ),
    "kind": (
        ("kind: revolute", "kind: revolut"),
        "<text>:5: loop 'hinge' kind: is 'revolut'; it must be one of weld, revolute, cylindrical, prismatic, "
        "universal, spherical, planar, planar_pin; write revolute",
    ),
    "blocked direction": (
        ("kind: revolute", "blocked: [x, w]"), "<text>:5: loop 'hinge' blocked[1]: is 'w'; it must be one of x",
    ),
    "blocked twice": (
        ("kind: revolute", "blocked: [x, x]"), "<text>:5: loop 'hinge' blocked: direction x is there twice",
    ),
    "nothing blocked": (("kind: revolute", "blocked: []"), "<text>:5: loop 'hinge' blocked: is an empty list: nothing"),
    "kind and blocked": (
        ("kind: revolute", "kind: revolute\n    blocked: [x]"),
        "<text>:4: loop 'hinge': both kind and blocked are given; one of them is needed",
    ),
    "neither": (("    kind: revolute\n", ""), "<text>:4: loop 'hinge': neither kind nor blocked is given"),
    "loop without name": (
        ("- name: hinge\n    kind", "- kind"), "<text>:4: loop number 1: name is missing: the loop's name",
    ),
    "loop without frame": (
        ("    a: {link: rocker, xyz: [0.3, 0, 0]}\n", ""), "<text>:4: loop 'hinge': a is missing: the frame on",
    ),
    "frame without link": (("link: rocker, ", ""), "<text>:6: loop 'hinge' a: link is missing: the link the frame"),
    "link": (
        ("link: rocker", "link: roker"),
        "<text>:6: loop 'hinge' a: there is no link named 'roker' in the URDF; write 'rocker'",
    ),
    "one body": (
        ("link: rocker, xyz", "link: coupler, xyz"),
        "<text>:4: loop 'hinge': links 'coupler' and 'coupler' are one body",
    ),
    "no loops in the list": (
        (FOUR_BAR[FOUR_BAR.index("  - name") : FOUR_BAR.index("posture")], "  []\n"),
        "<text>:4: loops: is an empty list; describe a loop",
    ),
    "actuated missing": (("actuated: [crank_joint]\n", ""), "<text>:1: the file: actuated is missing: with loops"),
    "nothing actuated": (
        ("[crank_joint]", "[]"), "<text>:2: actuated: is an empty list; at least one joint must be driven",
    ),
    "actuated unknown": (
        ("[crank_joint]", "[crank]"),
        "<text>:2: actuated: there is no joint named 'crank' in the URDF; write 'crank_joint'",
    ),
    "actuated twice": (
        ("[crank_joint]", "[crank_joint, crank_joint]"), "<text>:2: actuated: joint 'crank_joint' is there twice",
    ),
    "posture unknown": (
        ("  crank_joint: 1.5", "  knee: 1.5"), "<text>:9: posture: there is no joint named 'knee' in the URDF",
    ),
    "payload link": (
        ("link: coupler, mass", "link: hand, mass"), "<text>:10: payload link: there is no link named 'hand'",
    ),
    "payload that no joint moves": (
        ("link: coupler, mass", "link: base_link, mass"),
        "<text>:10: payload link: is 'base_link', which no joint moves, so that a payload there changes no*; name the",
    ),
    "payload without mass": (("mass: 2, ", ""), "<text>:10: payload: mass is missing: kg; write"),
    "payload inertia": (
        ("[0.1, 0, 0, 0.1, 0, 0.1]", "[0.1, 0, 0, 0.1, 0, 0.3]"),
        "<text>:10: payload inertia: has the principal moments 0.1, 0.1, 0.3 kg m^2; no body has them",
    ),
    "friction joint": (
        ("  crank_joint: {visc", "  crank: {visc"), "<text>:12: friction: there is no joint that moves named 'crank'",
    ),
    "both Coulombs": (
        ("coulomb: 0.2", "coulomb: 0.2, coulomb_forward: 1"),
        "<text>:12: friction 'crank_joint': coulomb and coulomb_forward are both given",
    ),
    "rotor joint": (
        ("{crank_joint: 1e-3}", "{rocker: 1e-3}"), "<text>:13: rotors: there is no joint that moves named 'rocker'",
    ),
    "tab": (
        ("  crank_joint: 1.5", "\tcrank_joint: 1.5"), "<text>:9: the file: is no YAML: *; correct it; blanks indent",
    ),
    "bracket": (("[crank_joint]", "[crank_joint"), "<text>:3: the file: is no YAML: while parsing a flow sequence"),
    "two documents": (("loops:", "---\nloops:"), "<text>:3: the file: is no YAML: expected a single document"),
    "unknown alias": (("[crank_joint]", "*x"), "<text>:2: the file: is no YAML: found undefined alias 'x'"),
}


@pytest.mark.parametrize("fault", SCHEMA_FAULTS)
def test_schema_faults_have_line_element_value_and_fix(fault: str) -> None:
    change, expected = SCHEMA_FAULTS[fault]
    with pytest.raises(DescriptionError) as caught:
        rne.load_model(changed(FOUR_BAR, change))
    message = str(caught.value)
    for part in expected.split("*"):
        assert part in message, message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("urdf: puma560\nactuated: [joint1]\n", "<text>:2: actuated: is given, but there are no loops; every joint"),
        ("urdf: puma560\nposture: {joint1: 0}\n", "<text>:2: posture: is given, but there are no loops"),
        ("- urdf\n- x\n", "<text>:1: the file: is a list of 2; it must be a mapping; write lines such as `urdf: ...`"),
        ("just words\n", "<text>:1: the file: is 'just words'; it must be a mapping"),
        ("# nothing\n", "<text>:1: the file: is empty; write `urdf: arm.urdf` in it"),
        ("a: \x07\n", "<text>: the file: is no YAML: "),
    ],
)
def test_files_as_a_whole(text: str, expected: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        rne.load_model(text)
    assert str(caught.value).startswith(expected)


def test_large_files_are_refused() -> None:
    with pytest.raises(DescriptionError, match="larger than 200 kB"):
        rne.load_model("urdf: x\n" + "#" * 1_000_000)


def test_joints_that_cannot_be_driven(tmp_path: Path) -> None:
    urdf = robot(
        link("base"), link("a"), link("b"), link("c"), joint_text("lead", "base", "a"),
        joint_text("led", "base", "b", inside='<mimic joint="lead"/>'), joint_text("bolt", "a", "c", "fixed"),
    )  # fmt: skip
    text = "urdf: tree.urdf\nloops: [{name: l, kind: weld, a: {link: a}, b: {link: b}}]\nactuated: [%s]\n"
    floating = urdf.replace('name="lead" type="revolute"', 'name="lead" type="floating"').replace("<mimic", "<nomimic")
    for name, robot_text, said in (
        ("led", urdf, "mimics 'lead' and moves with it; name 'lead'"), ("bolt", urdf, "'bolt' is fixed"),
        ("led", floating, "has a floating joint"),
    ):
        with pytest.raises(DescriptionError, match=said):
            rne.load_model(tree(text % name, tmp_path, robot_text))


def test_faults_of_the_urdf_name_the_urdf_and_its_line(tmp_path: Path) -> None:
    file = tree("urdf: tree.urdf\n", tmp_path, ARM.replace('value="2"', 'value="-2"'))
    with pytest.raises(DescriptionError, match=r"tree.urdf:5: link 'upper' <mass>: value is -2 kg"):
        rne.load_model(file)


def test_all_faults_are_found_at_once() -> None:
    text = changed(FOUR_BAR, ("kind: revolute", "kind: x"), ("mass: 2", "mass: x"), ("-1.62", "x"))
    report = examine_model(read_source(text)).report
    assert [f.line for f in report.findings] == [5, 10, 14]
    with pytest.raises(DescriptionError, match=re.escape(f"and 2 more: `{typed('check')}` lists them")):
        rne.load_model(text)
