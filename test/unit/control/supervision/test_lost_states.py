"""A stop without joint states ends slower than it begins, on arms that are not their model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.altered import KINDS, altered, model
from support.foreign_episodes import controller_values
from support.lost_states import LostStates
from support.moving_bases import Swell
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.model.tree import Friction
from rne_dynamics.ros.parameters.tracking import tracking_settings
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

#: Coulomb friction of the models, in effort limits; and what the arms have of it.
FRICTION, LESS = 0.01, 0.3
#: Length of the move, s, and its largest speed, in velocity limits.
LONG, SPEED = 0.8, 0.5
#: Arms that gravity does not throw within 0.9 s where masses are off by 50 %, and that it does.
STEADY, THROWN = ("puma560", "pantograph", "puma560 on a ship"), ("panda", "ur10")


def moving(name: str, **parameters: object) -> Rig:
    """An arm in the middle of a move, with less friction than its model; weightless, so that friction alone counts."""
    robot, ship = model(name), name.endswith("ship")
    limits = dict(zip(robot.joint_names, FRICTION * robot.effort_limit, strict=True))
    tree = robot.open_tree.tree
    joints = (replace(j, friction=Friction(0.0, *2 * [limits.get(j.name, 0.0)])) for j in tree.joints)
    rubbing = rne.assemble(replace(tree, joints=tuple(joints)), gravity=np.zeros(3))
    known, arm = rubbing, altered(rubbing, np.ones(40), LESS)
    if robot.loops:
        known, arm = (replace(robot, robot=one) for one in (known, arm))
    way = SPEED * LONG / 1.875 * robot.velocity_limit
    start = np.where(np.isfinite(robot.lower), 0.5 * (robot.lower + robot.upper), 0.0) - 0.5 * way
    values = {"startup_check.duration": 0.0, "start.ramp_time": 0.1, **parameters}
    values |= {"base_motion.topic": "imu"} if ship else {}
    base = Swell() if ship else None
    rig = Rig(known, start, tracking_settings(known, controller_values(known, values)), base=base)
    rig.simulator = Simulator(ArmPlant(arm, base_motion=base), start, dt=rig.period, command_timeout=0.2)
    rig.run(0.3)
    rig.move(start + way, LONG)
    rig.run(0.5 * LONG)
    return rig


def fast(rig: Rig) -> float:
    return float((np.abs(rig.speeds[-1]) / rig.settings.limits.velocity).max())


@pytest.mark.parametrize("name", KINDS[:2])
def test_friction_that_the_arm_does_not_have_drives_no_joint(name):
    rig = moving(name)
    at, speeds = fast(rig), []
    plan, timeout = rig.settings.stop, rig.settings.states.timeout
    for _ in range(round((timeout + plan.brake_time + plan.hold_time) / 0.002)):
        rig.run(0.002, corrupt=lambda state: None)
        speeds.append(fast(rig))
    assert rig.mode is Mode.STOPPING
    assert max(speeds) < at + 0.05
    assert speeds[-1] < 0.5 * at


def test_a_gap_in_the_states_makes_no_joint_faster_than_its_motion():
    gap, rig = 0.09, moving("puma560 on a ship")
    at = fast(rig)
    rig.run(gap, corrupt=lambda state: None)
    speeds = np.abs(rig.speeds[-round(gap / rig.period):]) / rig.settings.limits.velocity
    assert speeds.max() < at + 0.05
    rig.run(0.8)
    assert rig.mode is Mode.HOLDING
    assert np.abs(rig.speeds[-1]).max() < 0.02


def faster(first: int, last: int) -> tuple[int, list[str]]:
    """How many random losses there are, and the stories of those after which a joint became faster than it may."""
    count, found = 0, []
    for name, mass in (*((name, 0.5) for name in STEADY), *((name, 0.0) for name in THROWN)):
        for number in range(first, last):
            episode = LostStates(number, name=name, mass=mass)
            loss = episode.loss()
            if loss is not None:
                count += 1
                if loss.peak > max(loss.at + 0.25, 1.25) if mass else loss.braked > 1.5:
                    found.append(f"{name} {number}: {loss}, {'; '.join(episode.story)}")
    return count, found


@pytest.mark.slow
def test_random_losses_on_arms_with_other_masses_friction_delays_and_gears():
    assert faster(0, 2)[1] == []


@pytest.mark.soak
def test_of_many_more_few_arms_fall_that_nothing_holds():
    """Light arms without friction in upright postures, with half the rotors: 5 of 160 were found."""
    count, found = faster(2, 200)
    assert len(found) <= 0.05 * count, found
