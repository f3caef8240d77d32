"""Faults of logs are named, and none in logs without faults, of arms whose masses are wrong by half."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.logged_arms import faults, logged

from rne_dynamics.identification.traps import traps


def fatal(robot, log):
    return {trap.kind for trap in traps(robot, log) if trap.fatal}


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("name", ["puma560", "scara", "panda"])
def test_no_fault_is_named_without_one(name, points):
    robot, log, _ = logged(name, points=points)
    assert traps(robot, log) == []
    assert traps(robot, replace(log, qd=None)) == []


@pytest.mark.parametrize("name", ["puma560", "scara"])
def test_each_fault_is_named(name):
    robot, log, links = logged(name)
    found = {fault: (kind, fatal(robot, wrong)) for fault, (kind, wrong) in faults(robot, log, links).items()}
    assert all(found.values())
    assert {fault: named for fault, (kind, named) in found.items() if named != {kind}} == {}


def test_fixes_name_options_and_values():
    robot, log, links = logged("puma560")
    wrong = {name: log for name, (_, log) in faults(robot, log, links).items()}
    for fault, fix in (
        ("sign of one", "--gains=1,-1,1,1,1,1"), ("sign of all", "--gains=-1"), ("milliseconds", "--units t=ms"),
        ("torques reversed", "--columns tau=NAME[6,5,4,3,2,1]"), ("degrees", "--units q=deg,qd=deg"),
    ):
        (trap,) = traps(robot, wrong[fault])
        assert trap.fix == fix
    (trap,) = traps(robot, wrong["amperes"])
    by_model = [float(x) for x in trap.fix.split()[-1].split(",") if x != "?"]
    assert 4.0 < min(by_model) <= max(by_model) < 30.0


def test_sign_and_unit_at_once():
    robot, log, _ = logged("panda")
    found = traps(robot, replace(log, t=1e3 * log.t, effort=-0.01 * log.effort))
    assert [trap.kind for trap in found] == ["time", "sign", "scale"]


@pytest.mark.parametrize("kind", ["noise", "constant"])
def test_torques_that_have_nothing_to_do_with_the_motion(kind):
    robot, log, _ = logged("panda", points=True)
    noise = np.random.default_rng(0).normal(size=log.effort.shape)
    (trap,) = traps(robot, replace(log, effort=noise if kind == "noise" else 0.0 * noise + 5.0))
    assert trap.kind == "torque"


def test_a_joint_that_hardly_moves_is_said():
    robot, log, _ = logged("puma560")
    q, qd = log.q.copy(), log.qd.copy()
    q[:, 5], qd[:, 5] = q[0, 5], 0.0
    (trap,) = traps(robot, replace(log, q=q, qd=qd))
    assert (trap.kind, trap.joints, trap.fatal) == ("still", (5,), False)


@pytest.mark.parametrize("fault", ["two publishers", "a driver that froze"])
def test_positions_that_jump_are_said(fault):
    """Of a joint_state_publisher on the same topic, and of a driver that repeated its last state for 3 s."""
    robot, log, _ = logged("puma560", points=True)
    rows = np.arange(len(log.t))
    kept = np.where((rows > 1000) & (rows < 1600), 1000, rows)
    parts = [log.q[kept], log.qd[kept], log.effort[kept]]
    if fault == "two publishers":
        parts = [np.where(rows[:, None] % 2, part, 0.0) for part in (log.q, log.qd, log.effort)]
    (trap,) = traps(robot, replace(log, **dict(zip(("q", "qd", "effort"), parts, strict=True))))
    assert (trap.kind, trap.fatal) == ("jump", True)
    assert "times its velocity limit" in trap.text


def test_one_torque_on_the_other_side_of_its_gears():
    robot, log, _ = logged("panda")
    (trap,) = traps(robot, replace(log, effort=log.effort * np.where(np.arange(7) == 1, 0.01, 1.0)))
    assert (trap.kind, trap.joints) == ("scale", (1,))
