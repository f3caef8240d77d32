"""The arms with flexible links that ship: published figures, masses as the headers say, bodies as they are drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.share import share_file, shipped_models
from rne_dynamics.model.flexible.arm import FlexibleArm, clamped_frequencies, loads

#: Joints, flexible links and modes, in the order y, z, torsion of each.
COUNTS = {
    "flexible_beam": (1, {"beam": (2, 1, 1)}),
    "flexible_arm": (2, {"link1": (2, 0, 0), "link2": (2, 0, 0)}),
    "flexible_arm6": (6, {"upper_arm": (1, 1, 1), "forearm": (1, 1, 1)}),
}
ALUMINIUM = 2700.0
#: Masses that the headers give, kg: hubs and bodies, beams.
MASS = {
    "flexible_beam": (0.5 + 0.15, ALUMINIUM * 0.8 * 0.004 * 0.04),
    "flexible_arm": (2 * 1.0 + 0.1, 2 * 0.2 * 0.5),
    "flexible_arm6": (
        4.0 + 2.0 + 1.5 + 0.6 + 0.5 + 0.3,
        ALUMINIUM * math.pi * (1.5 * (0.025**2 - 0.0235**2) + 1.2 * (0.020**2 - 0.0185**2)),
    ),
}


def test_all_that_ship_are_tested_here() -> None:
    flexible = {name for name in shipped_models() if isinstance(rne.load_model(name), FlexibleArm)}
    assert set(COUNTS) == set(MASS) == flexible


@pytest.mark.parametrize("name", [name for name in shipped_models() if rne.load_model(name).modes])
def test_counts_and_masses(name: str) -> None:
    arm, (joints, links) = rne.load_model(name), COUNTS[name]
    kinds = ("y", "z", "torsion")
    counted = {
        link.link: tuple(sum(mode.startswith(kind) for mode in link.mode_names) for kind in kinds)
        for link in arm.flexible_links
    }
    assert (arm.name, arm.n, counted) == (name, joints, links)
    bodies, beams = MASS[name]
    assert arm.mass == pytest.approx(bodies + beams, rel=1e-9)
    assert sum(link.inertia.mass for link in arm.flexible_links) == pytest.approx(beams, rel=1e-9)
    assert lint(share_file(f"urdf/{name}.urdf")).findings == ()


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_left_of_a_link_without_its_beam_is_the_hub(name: str) -> None:
    """Nothing but a body about the joint: the URDF's inertia is that of hub and beam to all digits."""
    arm = rne.load_model(name)
    for part in arm.flexible_links:
        whole = arm.robot.tree.link(part.link).inertia
        first = whole.first_moment - part.inertia.first_moment
        assert np.abs(first).max() < 1e-10 * np.abs(whole.first_moment).max()
        hub = whole.about_origin - part.inertia.about_origin
        moments = np.linalg.eigvalsh(hub)
        assert moments[0] > max(0.0, moments[2] * (1.0 - 1e-6) - moments[1])
        # all discs: two moments alike, the third about the joint's axis
        assert np.sort(np.abs(np.diff(moments)))[0] < 1e-9 * moments[2]


def test_published_frequencies() -> None:
    """Link 2 clamped at its hub; link 1 clamped, carrying all the rest with link 2 square to it (two decimals)."""
    arm = rne.load_model("flexible_arm")
    for link, posture, expected in (("link2", None, (2.18, 15.91)), ("link1", (0.0, 0.5 * math.pi), (0.48, 1.80))):
        found = clamped_frequencies(arm.flexible_link(link), loads(arm.robot, link, posture=posture)) / (2.0 * math.pi)
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.005)


@pytest.mark.parametrize("name", COUNTS)
def test_urdfs_have_nothing_to_fix_and_pictures_of_every_moving_link(name: str) -> None:
    file = share_file(f"urdf/{name}.urdf")
    assert lint(file).findings == ()
    arm = rne.load_model(name)
    text = file.read_text()
    for joint in arm.robot.tree.joints:
        body = text[text.index(f'<link name="{joint.child}"') :]
        drawn = "<visual>" in body[: body.index("</link>")] if f'<link name="{joint.child}">' in text else False
        inertia = arm.robot.tree.link(joint.child).inertia
        assert drawn or inertia is None, joint.child


@pytest.mark.parametrize("name", COUNTS)
def test_efforts_hold_the_arm_anywhere_within_its_limits(name: str) -> None:
    robot = rne.load_model(name).robot
    assert np.isfinite([robot.lower, robot.upper, robot.velocity_limit]).all()
    q = np.random.default_rng(1).uniform(robot.lower, robot.upper, (500, robot.n))
    assert (np.abs(rne.gravity_torque(robot, q)).max(axis=0) < 0.8 * robot.effort_limit).all()
