"""What is no quantity of `bind` but has machine code of its own: as by the general kernels."""

import numpy as np
import pytest
from support.arms import chain, gripper, slider
from support.errors import relative_error
from support.robots import random_state, with_own_code

import rne_dynamics as rne
from rne_dynamics.compiling.processor import processor
from rne_dynamics.straight_line import machine_code
from rne_dynamics.straight_line.graph import LARGEST

pytestmark = pytest.mark.skipif(processor() is None, reason="no straight-line code on this processor")
ARMS = {
    "puma560": lambda: with_own_code("puma560"), "panda": lambda: with_own_code("panda.urdf"),
    "floating": lambda: with_own_code("puma560", "floating"), "mimic": lambda: gripper().with_own_code(),
    "prismatic": lambda: slider().with_own_code(), "chain": lambda: chain(3).with_own_code(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def all_code_is_made(monkeypatch):
    monkeypatch.setattr(machine_code, "QUICK", LARGEST)


@pytest.fixture(params=ARMS)
def pair(request):
    own = ARMS[request.param]()
    return own, own.with_own_code(False)


@pytest.mark.parametrize("count", [1, 5])
def test_momentum(pair, count):
    own, general = pair
    q, qd, _ = random_state(own, count, count)
    assert relative_error(rne.momentum(own, q, qd), rne.momentum(general, q, qd)) < 1e-12
    assert own.own_code["body_motions", "", b""] is not None


def test_joint_reactions_with_loads_and_a_moving_base(pair):
    own, general = pair
    states_ = random_state(own, 4, 4)
    options = {"wrenches": {own.link_names[-1]: np.arange(6.0)}}
    if own.base == "fixed":
        options["base_motion"] = rne.BaseMotion(angular_velocity=(0.1, -0.2, 0.3), linear_acceleration=(1.0, 2.0, -0.5))
    found, known = (rne.joint_reactions(robot, *states_, **options) for robot in (own, general))
    assert relative_error(found.wrench, known.wrench) < 1e-12
    assert relative_error(found.base, known.base, np.abs(known.wrench).max()) < 1e-12
    assert own.own_code["body_reactions", "loaded", b""] is not None


def test_angles_that_the_code_refuses_are_computed_by_the_kernel():
    own = with_own_code("puma560")
    q, qd, _ = random_state(own, 3, 3)
    q[1, 2] += 2.0 * np.pi * 2.0**31
    assert relative_error(rne.momentum(own, q, qd), rne.momentum(own.with_own_code(False), q, qd)) < 1e-6
