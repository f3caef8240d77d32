"""Hand guiding and gravity compensation with default parameters: no arm runs away, whatever inertia its joints feel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from faults.robots import small_arm
from support.guided import NODES, Guided, defaults, node_settings
from support.hardware_files import ARMS, FOLDER, flat
from support.hardware_files import sections as hardware_sections
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.felt_inertia import LIGHT, lowered_everywhere, posture_inertia
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import CALM
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.share import shipped_models, shipped_robots
from rne_dynamics.errors import ControlError, ParameterError

CONTROLLERS = {"hand guiding": "computed_torque_controller", "gravity compensation": "gravity_compensation"}
RATES = (1000.0, 500.0, 250.0)
#: Arms of the wheel: UR10, Panda with its fingers, and Jaco. It has no iiwa.
WHEEL = ("ur10_robot.urdf", "panda.urdf", "kinova.urdf")


def robot(name: str) -> rne.RobotModel:
    if name == "small":
        return rne.load_urdf(small_arm())
    if name.endswith(".urdf"):
        return rne.load_urdf(wheel_urdf(name))
    if name == "shuttle_arm":  # it does not lift itself on the ground, see config/shuttle_arm.yaml
        return replace(rne.load_urdf(name), gravity=np.zeros(3))
    return load_model(name).rigid if name in shipped_models() else rne.load_urdf(name)


def lead_and_let_go(loop: Guided, after: float) -> None:
    """A hand leads every joint for a second, and lets go while they move."""
    loop.run(1.0, loop.speeds())
    pushed = loop.energy
    assert loop.supervisor.mode is Mode.FLOATING, loop.supervisor.cause
    loop.run(0.05)
    loop.fastest = 0.0
    loop.run(after)
    loop.quiet()
    assert loop.energy <= 1.05 * pushed + 1e-9, "damping put energy into the motion"


@pytest.mark.parametrize(("node", "name", "rate"), [
    ("hand guiding", "small", 1000.0), ("gravity compensation", "kinova.urdf", 250.0),
    pytest.param("gravity compensation", "slider_crank", 250.0, marks=pytest.mark.slow),
])
def test_light_joints_do_not_run_away(node: str, name: str, rate: float) -> None:
    loop = Guided(node, robot(name), rate, friction=False)
    loop.start()
    loop.run(0.2)
    loop.quiet()
    lead_and_let_go(loop, 0.5)


@pytest.mark.soak
@pytest.mark.parametrize(("rate", "friction"), [(1000.0, False), (250.0, False), (250.0, True)])
@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("name", ["small", *shipped_robots(), *shipped_models(), *WHEEL])
def test_every_robot_floats_and_can_be_pushed(name: str, node: str, rate: float, friction: bool) -> None:
    loop = Guided(node, robot(name), rate, friction)
    loop.start()
    loop.run(5.0 if friction else 20.0)
    loop.quiet()
    assert loop.fastest < 0.01, "an arm that nobody touched moves"
    lead_and_let_go(loop, 3.0)


def test_a_stream_slower_than_promised_takes_damping_back() -> None:
    """The largest that is calm at 500 Hz: without that M⁻¹D T is 4, where 1 is the limit."""
    rate = 30.0
    arm = robot("kinova.urdf")
    calm = lowered_everywhere(posture_inertia(arm), np.full(arm.n, LIGHT), 500.0 / CALM)
    given = {f"gains.{joint}.d": float(d) for joint, d in zip(arm.joint_names, calm, strict=True)}
    loop = Guided("gravity compensation", arm, rate, False, {"rate": 500.0, **given})
    loop.start()
    lead_and_let_go(loop, 2.0)


def test_a_stream_that_becomes_slow_takes_damping_back_at_once() -> None:
    loop = Guided("gravity compensation", robot("kinova.urdf"), 500.0, False, {"rate": 500.0})
    loop.start()
    loop.run(1.0, loop.speeds())
    pushed = loop.energy
    loop.rate, loop.substeps = 50.0, 10 * loop.substeps
    loop.run(2.0)
    loop.quiet()
    assert loop.energy <= 1.05 * pushed


def test_a_stream_too_slow_for_the_gains_stops_the_arm() -> None:
    loop = Guided("hand guiding", robot("planar2"), 50.0, friction=False)
    loop.run(3.0)
    assert loop.supervisor.mode in (Mode.STOPPING, Mode.FAULT)
    assert loop.supervisor.cause.startswith("50 joint states per second by their stamps; the gains are stable from 58")


def test_damping_that_is_never_stable_is_refused_with_the_largest_safe_value() -> None:
    arm = robot("ur10_robot.urdf")
    said = r"in any posture at 250 .*hand_guiding\.wrist_3_joint\.damping is 1, at most 0\.06"
    with pytest.raises(ControlError, match=said):
        node_settings("hand guiding", arm, hand_guiding__wrist_3_joint__damping=1.0)
    accepted = node_settings("hand guiding", arm, hand_guiding__wrist_3_joint__damping=0.06)
    assert accepted.warnings == ()
    assert accepted.floating.damping[5] == 0.06


def test_damping_that_is_stable_in_some_postures_warns_and_is_lowered_elsewhere() -> None:
    arm = robot("panda")
    settings = node_settings("gravity compensation", arm, gains__panda_joint3__d=5.0)
    (text,) = settings.warnings
    assert "gains.panda_joint3.d is 5, at most" in text
    loop = Guided("gravity compensation", arm, 250.0, False, {"gains.panda_joint3.d": 5.0})
    loop.start()
    lead_and_let_go(loop, 1.0)


def test_no_damping_remains_possible() -> None:
    arm = robot("planar2")
    undamped = node_settings("gravity compensation", arm, gains__joint1__d=0.0, gains__joint2__d=0.0)
    assert not undamped.floating.damping.any()


def test_a_rate_that_is_promised_allows_more() -> None:
    arm, given = robot("ur10_robot.urdf"), {"hand_guiding__wrist_3_joint__damping": 0.2}
    with pytest.raises(ControlError, match=r"at most 0\.06"):
        node_settings("hand guiding", arm, min_rate=250.0, **given)
    assert node_settings("hand guiding", arm, min_rate=1000.0, **given).warnings == ()


def test_gains_that_oscillate_are_named() -> None:
    (text,) = node_settings("hand guiding", robot("planar2"), gains__joint2__d=4.0).warnings
    assert "'joint2' (p 400, i 0, d 4: damping ratio 0.0" in text


def test_walls_too_stiff_for_the_rate_are_refused() -> None:
    arm = robot("planar2")
    with pytest.raises(ParameterError, match=r"stop_frequency is 150 1/s; at 250 .* up to 100"):
        node_settings("hand guiding", arm, limits__stop_frequency=150.0)
    assert node_settings("hand guiding", arm, limits__stop_frequency=150.0, rate=500.0).limits.stop_frequency == 150.0


def shipped_files() -> list[str]:
    return sorted(file.stem for file in (FOLDER.parent).glob("*.yaml"))


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name == "delta")) for name in (*shipped_files(), *ARMS)
])
def test_parameter_files_ask_for_nothing_unstable(name: str) -> None:
    if name in ARMS:
        joints, urdf, there = ARMS[name]
        arm = rne.load_urdf(wheel_urdf(urdf), lock={"panda_finger_joint1": 0.0} if urdf == "panda.urdf" else None)
        sections = hardware_sections(name)
        sections = {node: renamed(values, joints, there) for node, values in sections.items()}
    else:
        content = yaml.safe_load((FOLDER.parent / f"{name}.yaml").read_text(encoding="utf-8"))
        sections = {key.removeprefix("/**/"): flat(value["ros__parameters"]) for key, value in content.items()}
        arm = robot(name)
    for node, section in CONTROLLERS.items():
        known = defaults(node, arm.joint_names)
        given = {key: value for key, value in sections[section].items() if key in known}
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        assert node_settings(node, arm, **values).warnings == (), f"{name}.yaml: {section}"


def renamed(values: dict[str, object], joints: list[str], there: list[str]) -> dict[str, object]:
    """Parameters of the stand-in's joints."""
    found = {}
    for key, value in values.items():
        parts = [there[joints.index(part)] if part in joints else part for part in key.split(".")]
        found[".".join(parts)] = value
    return found


def test_default_gains_need_no_warning() -> None:
    for rate in RATES:
        assert node_settings("hand guiding", robot("planar2"), min_rate=rate).warnings == ()
    assert np.all(node_settings("hand guiding", robot("planar2")).floating.damping == 1.0)
