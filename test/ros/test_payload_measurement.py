"""A payload is measured through the services of the controller node, set by parameters, and compensated."""

from __future__ import annotations

import re

import numpy as np
import pytest
from std_srvs.srv import SetBool, Trigger

import rne_dynamics as rne

from .peer import AT_ONCE

ROBOT = rne.load_urdf("panda")
LOADED = ROBOT.with_payload(rne.Payload("panda_link8", 1.5, (0.02, 0.0, 0.06)))
POSTURES = rne.payload_postures(ROBOT, "panda_link8", [0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6], count=2, span=0.25)
NODE = "computed_torque_controller"


@pytest.fixture(scope="module")
def peer(in_lockstep):
    found = in_lockstep(NODE, list(ROBOT.joint_names), robot_description="panda", **AT_ONCE)[1]
    found.answer(POSTURES[0])
    return found


def call(peer, name):
    return peer.call(Trigger, f"{NODE}/payload/{name}", Trigger.Request())


def rest(peer, arm, q, seconds=1.2):
    peer.reported = rne.gravity_torque(arm, q)
    peer.stream(q, seconds)


def test_a_payload_is_measured_and_set(peer):
    peer.stream(POSTURES[0], 1.2)
    answer = call(peer, "tare")
    assert not answer.success
    assert "joint_states has no efforts" in answer.message
    assert "nothing was measured with the payload" in call(peer, "estimate").message
    at = POSTURES[0]
    for arm, service in ((ROBOT, "tare"), (LOADED, "measure")):
        for k, q in enumerate(POSTURES, 1):
            peer.reported = rne.gravity_torque(arm, at)
            peer.lead(at, q)
            if k > 1:
                answer = call(peer, service)
                assert not answer.success
                assert "wait" in answer.message
            rest(peer, arm, q)
            at, answer = q, call(peer, service)
            assert answer.success, answer.message
            assert answer.message.startswith(f"{k} measured")
    answer = call(peer, "estimate")
    assert answer.success, answer.message
    assert "set payload.link: panda_link8, payload.mass: 1.500, payload.com: [0.02, " in answer.message
    mass = float(re.search(r"payload.mass: ([\d.]+)", answer.message)[1])
    com = [float(x) for x in re.search(r"payload.com: \[(.*)\]", answer.message)[1].split(",")]
    assert peer.call(SetBool, f"{NODE}/hand_guide", SetBool.Request(data=True)).success  # gravity and nothing else
    peer.stream(at, 0.1)
    assert peer.set_parameters(NODE, payload__link="panda_link8", payload__mass=mass, payload__com=com).successful
    sent = np.array(peer.stream(at, 0.5))
    np.testing.assert_allclose(sent[0], rne.gravity_torque(ROBOT, at), atol=1.0)
    np.testing.assert_allclose(sent[-1], rne.gravity_torque(LOADED, at), atol=0.05)


def test_postures_without_a_tare_are_named(peer):
    at = POSTURES[-1]
    away = at + 0.1
    assert peer.set_parameters(NODE, payload__link="", payload__mass=0.0).successful
    peer.reported = rne.gravity_torque(LOADED, at)
    peer.lead(at, away)
    rest(peer, LOADED, away)
    assert call(peer, "measure").success
    answer = call(peer, "estimate")
    assert not answer.success
    assert "posture 1 with the payload was not measured without it" in answer.message
