"""Parameters of a controller that holds an arm, changed through its services by friend and foe."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import ListParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter as NodeParameter
from support.parameter_page import NODES

import rne_dynamics as rne
from rne_dynamics.ros.parameters.files import JOINT
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

NODE = "computed_torque_controller"
JOINTS = ["joint1", "joint2"]
HOME = [0.4, -0.7]
GRAVITY = (0.0, 0.0, -5.0)
ROBOT = rne.load_urdf("planar2", gravity=GRAVITY)


@pytest.fixture(scope="module")
def peer(in_lockstep):
    return in_lockstep(NODE, JOINTS, robot_description="planar2", gravity=list(GRAVITY))[1]


def value(content: object) -> ParameterValue:
    """As it goes over the wire."""
    return NodeParameter("", value=content).get_parameter_value()


def each(peer, changes):
    """`set_parameters`: as many requests as parameters."""
    request = SetParameters.Request(parameters=[Parameter(name=n, value=v) for n, v in changes])
    return peer.call(SetParameters, f"{NODE}/set_parameters", request).results


def together(peer, changes):
    """`set_parameters_atomically`."""
    request = SetParametersAtomically.Request(parameters=[Parameter(name=n, value=v) for n, v in changes])
    return peer.call(SetParametersAtomically, f"{NODE}/set_parameters_atomically", request).result


def held(peer, robot) -> None:
    """The arm is held: the effort settles on its gravity torque."""
    wanted = rne.gravity_torque(robot, np.array(HOME))

    def settled() -> bool:
        effort = peer.answer(HOME)
        assert np.isfinite(effort).all()
        return np.allclose(effort, wanted, rtol=1e-9)

    wait_until(settled, PATIENCE, f"the effort {wanted}")


def test_it_declares_what_the_page_says(peer):
    listed = peer.call(ListParameters, f"{NODE}/list_parameters", ListParameters.Request()).result.names
    wanted = {p.name.replace(JOINT, joint) for p in NODES[NODE] for joint in JOINTS}
    assert set(listed) - {"use_sim_time", "start_type_description_service"} == wanted  # but for rclpy's own


def test_every_change_is_in_force_at_the_next_step(peer):
    held(peer, ROBOT)
    weight = rne.gravity_torque(ROBOT, np.array(HOME))
    for limit in (2.0, 60.0, 1.0, 3.0, 60.0):  # as fast as they come: none is left out
        changes = [("limits.joint1.effort", value(limit)), ("limits.joint1.effort_rate", value(1e6))]
        assert together(peer, changes).successful
        assert peer.answer(HOME)[0] == pytest.approx(np.clip(weight[0], -limit, limit), rel=1e-9)
    assert together(peer, [("limits.joint1.effort_rate", value(0.0))]).successful


def test_a_change_takes_effect_at_once_and_whole(peer):
    held(peer, ROBOT)
    loaded = rne.load_urdf("planar2", gravity=GRAVITY, payload=rne.Payload("tool0", 1.5))
    good = [("payload.link", value("tool0")), ("payload.mass", value(1.5))]
    assert not together(peer, [*good, ("stop.damping", value(math.nan))]).successful
    held(peer, ROBOT)
    assert together(peer, good).successful
    held(peer, loaded)
    assert together(peer, [("payload.link", value("")), ("payload.mass", value(0))]).successful
    held(peer, ROBOT)


@pytest.mark.parametrize("set_parameters", [each, together])
def test_a_type_that_does_not_exist_is_refused(peer, set_parameters):
    result = set_parameters(peer, [("gains.joint1.p", ParameterValue(type=77, double_value=1.0))])
    result = result[0] if isinstance(result, list) else result
    assert not result.successful
    assert "77" in result.reason
    held(peer, ROBOT)


def test_a_storm_of_hostile_requests_changes_nothing(peer):
    held(peer, ROBOT)
    dice = random.Random(6)
    names = sorted({p.name.replace(JOINT, joint) for p in NODES[NODE] for joint in JOINTS} | {"", "no.such", "gains"})
    hostile = [math.nan, math.inf, -math.inf, -1e300, 1e300, -(2**63), 2**63 - 1, "\x7f", [], [math.nan], [1.0] * 9]
    for _ in range(40):
        changes = [(dice.choice(names), value(dice.choice(hostile))) for _ in range(5)]
        # one among them that no parameter takes, so that whatever else is drawn must not be taken either
        changes.insert(dice.randrange(6), ("gains.joint1.p", value(dice.choice(hostile[:5]))))
        assert not together(peer, changes).successful, changes
    held(peer, ROBOT)
