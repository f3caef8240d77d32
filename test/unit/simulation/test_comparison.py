"""Laws compared on arms that differ from their model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain, gripper

import rne_dynamics as rne
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.tree import Limits
from rne_dynamics.simulation.mismatch.comparison import (
    PAUSE,
    compare_laws,
    drawn_cases,
    slowest_springs,
    spring_cases,
    usual_cases,
)

ARM = chain(2, rotor=0.5, limits=Limits(effort=60.0))
PLANT = rne.ArmPlant(ARM)
MOVE = rne.Quintic(np.zeros(2), np.array([0.3, -0.2]), 0.2)
LAWS = {f"{b:g} rad/s": rne.ComputedTorque(ARM, rne.Gains.critically_damped(2, b)) for b in (20.0, 60.0)}


def test_figures_are_those_of_a_rollout_with_the_mismatch() -> None:
    case = rne.Mismatch(payload=("link2", 3.0))
    found = compare_laws(PLANT, LAWS, MOVE, {"load": case})
    log = rne.Rollout(PLANT, LAWS["20 rad/s"], MOVE, seconds=0.2 + PAUSE, mismatch=case).run()
    one, other = found.results["load"].values()
    assert one.rms_error == log.rms_error.max()
    assert one.peak_error == log.largest_error.max()
    assert one.peak_effort == log.largest_effort.max() / 60.0
    assert other.rms_error < 0.5 * one.rms_error
    assert one.stable


def test_a_run_that_fails_is_reported_and_others_go_on() -> None:
    tight = rne.ArmPlant(chain(2, rotor=0.5, limits=Limits(-0.31, 0.31, effort=60.0)))
    cases = {"soft": rne.Mismatch(spring_frequency=1.0), "stiff": rne.Mismatch()}
    found = compare_laws(tight, LAWS, MOVE, cases)
    soft, stiff = (found.results[name]["20 rad/s"] for name in cases)
    assert "elastic joints have no stops" in soft.fault
    assert math.isnan(soft.rms_error)
    assert stiff.stable


@pytest.mark.slow
def test_fast_laws_need_stiffer_springs() -> None:
    laws = {str(b): rne.ComputedTorque(ARM, rne.Gains.critically_damped(2, b)) for b in (60, 140)}
    found = compare_laws(PLANT, laws, MOVE, spring_cases((5.0, 15.0), (0.0,)))
    assert slowest_springs(found, "60") == {0.0: 15.0}
    assert slowest_springs(found, "140") == {0.0: math.inf}


def test_the_table_and_the_draws() -> None:
    table = usual_cases(PLANT, "link2", seed=2)
    assert {case.seed for case in table.values()} == {2}
    assert sum(case.elastic for case in table.values()) == 3
    rotors = tuple(replace(joint, rotor_inertia=0.1) for joint in gripper().tree.joints)
    for robot in (chain(2), assemble(replace(gripper().tree, joints=rotors))):  # no rotors; mimic joints
        assert not any(case.elastic for case in usual_cases(rne.ArmPlant(robot), robot.link_names[-1]).values())
    drawn = list(drawn_cases("link2", 20, seed=2).values())
    assert drawn == list(drawn_cases("link2", 20, seed=2).values())
    assert all(0.5 <= case.friction_scale <= 2.0 and case.delay <= 0.01 for case in drawn)
