"""Drawings of robots: bars that hang together, closed loops, moving pictures."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import rne_dynamics as rne
from rne_dynamics.errors import ModelError
from rne_dynamics.figures.movie import PERIOD, Motion, write_movie
from rne_dynamics.figures.skeleton import skeleton, tree_positions

MECHANISMS = ("delta", "pantograph")


def moved(robot, rows=5):
    """Positions of all joints on a short way from the neutral posture."""
    return tree_positions(robot, robot.neutral + np.linspace(0.0, 0.2, rows)[:, None])


@pytest.mark.parametrize("name", MECHANISMS)
def test_drawn_loops_are_closed(name):
    robot = rne.load_model(name)
    drawn = skeleton(robot, moved(robot))
    placed = [loop.name for loop in robot.loops if loop.blocked[:3].all()]
    assert [c.loop for c in drawn.closures if c.loop in placed] == placed
    for closure in drawn.closures:
        np.testing.assert_allclose(closure.a, closure.b, atol=1e-9)
        ends = [end for bar in drawn.points for end in bar]
        for side in (closure.a, closure.b):  # a bar of each of the two links leads there
            assert min(np.abs(end - side).max() for end in ends) < 1e-9 + 5e-3 * drawn.size


#: A joint whose place and mass centre are those of the base, and no joint at all.
WHEEL, STILL = (
    '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/></joint></robot>'
    for kind in ("continuous", "fixed")
)


@pytest.mark.parametrize("urdf", [WHEEL, STILL])
def test_a_robot_without_extent_is_a_point(urdf, tmp_path):
    robot = rne.load_urdf(urdf)
    assert skeleton(robot, moved(robot)).points.shape == (1, 2, 5, 3)
    if not robot.n:
        with pytest.raises(ModelError, match="no joint that moves"):
            write_movie(tmp_path / "still.gif", robot, Motion("at rest", np.linspace(0.0, 1.0, 5), moved(robot)))


def test_joints_are_where_forward_kinematics_has_them():
    robot = rne.load_urdf("puma560")
    q = moved(robot)
    drawn = skeleton(robot, q)
    poses = rne.forward_kinematics(robot, q)
    for k, joint in enumerate(drawn.joints):
        assert joint.actuated == k
        np.testing.assert_allclose(joint.origin, poses[f"link{k + 1}"][:, :3, 3])
        np.testing.assert_allclose(joint.axis, poses[f"link{k + 1}"][:, :3, 2], atol=1e-12)


@pytest.mark.slow
def test_a_movie_has_the_motions_time_and_stays_small(tmp_path):
    robot = rne.load_model("four_bar")
    time = np.linspace(0.0, 2.4, 241)
    q = robot.neutral + np.sin(time)[:, None]
    path, shares = tmp_path / "four_bar.gif", []
    write_movie(path, robot, Motion("four_bar", time, q, q + 1e-3), shares.append)
    with Image.open(path) as movie:
        assert movie.n_frames * PERIOD == pytest.approx(2400, abs=PERIOD)
        assert (movie.info["loop"], movie.size, shares[-1]) == (0, (800, 400), 1.0)
        first = np.asarray(movie.convert("RGB"))
        movie.seek(movie.n_frames // 2)
        assert (np.asarray(movie.convert("RGB")) != first).any()
    assert path.stat().st_size < 1_500_000
