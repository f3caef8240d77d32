"""Pushes: as typed, their load on the joints, and a gentle one for every shipped arm."""

from __future__ import annotations

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.dispatch import closed
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.simulation.runs.push import FORCES, Push, gentle_push, load, parse_push, static_friction

PUMA = rne.load_urdf("puma560")


def test_a_push_is_read_as_it_is_written():
    text = "tool0=0,-10,2.5@0.2..0.7"
    assert str(parse_push(text, PUMA)) == text


@pytest.mark.parametrize(("text", "said"), [
    ("tool0=1,2@0..1", "three finite"), ("tool0=1,nan,3@0..1", "three finite"), ("tool0=1,2,3@1..1", "BEGIN < END"),
    ("tool0=1,2,3@-1..1", "BEGIN < END"), ("tool0=1,2,3@0..nan", "BEGIN < END"), ("tool0@0..1", "write LINK="),
    ("tool=1,2,3@0..1", "tool"),
])
def test_what_is_no_push_is_refused(text, said):
    with pytest.raises(RneDynamicsError, match=said):
        parse_push(text, PUMA)


def test_the_load_is_that_of_the_jacobian():
    q = np.array([0.3, -0.4, 0.5, 0.6, 0.7, 0.8])
    push = Push("tool0", np.array([3.0, -2.0, 5.0]), 0.0, 1.0)
    pose = rne.forward_kinematics(PUMA, q)["tool0"]
    world = pose[:3, :3] @ push.force
    np.testing.assert_allclose(load(PUMA, q, push), rne.jacobian(PUMA, q, "tool0")[:3].T @ world, atol=1e-9)


@pytest.mark.parametrize("name", ["puma560", "panda", "scara", "cylindrical", "planar2", "pantograph", "five_bar"])
def test_a_gentle_push_overcomes_friction_without_more_force_than_allowed(name):
    robot = closed(rne.load_model(name)).rigid
    q = np.clip(robot.neutral, robot.lower, robot.upper)
    push = gentle_push(robot, q)
    effort = load(robot, q, push)
    assert np.linalg.norm(push.force) <= FORCES[-1]
    assert (np.abs(effort) > static_friction(robot, effort)).any()
