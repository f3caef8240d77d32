"""Units of axes, files of figures, and the pictures' readability."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.cli.simulated.plot import draw
from rne_dynamics.figures.style import TERMS
from rne_dynamics.figures.tracking import joint_units, units_of
from rne_dynamics.recording.recording import Recording, Series


@pytest.mark.parametrize(("robot", "position", "error", "velocity", "effort"), [
    ("puma560", "rad", "mrad", "rad/s", "N m"),
    ("cylindrical", "rad, m", "mrad, mm", "rad/s, m/s", "N m, N"),
])
def test_units_are_those_of_the_joints(robot, position, error, velocity, effort):
    assert units_of(rne.load_model(robot)) == (position, error, velocity, effort)


def test_every_joint_has_its_own_unit():
    assert [units.effort for units in joint_units(rne.load_urdf("scara"))] == ["N m", "N m", "N", "N m"]
    assert units_of(rne.load_urdf("cylindrical", lock={"joint1": 0.0})).position == "m"


@pytest.fixture
def written(monkeypatch):
    """The figures that would be written to files."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))
    return figures


def recorded(robot, *, noise=0.0):
    """Three seconds of states, and a reference and torque terms that end a second earlier."""
    t, short = np.linspace(0.0, 3.0, 301), np.linspace(0.0, 2.0, 201)
    q = 0.1 * np.sin(t)[:, None] * np.ones(robot.n)
    terms = {name: Series(short, np.outer(short, np.ones(robot.n))) for name in ("gravity", "friction")}
    return Recording(
        "run.mcap", robot.joint_names, t, q, effort=q,
        reference_q=Series(short, q[:201] + noise * np.cos(50.0 * short)[:, None]), torque=terms,
    )


def drawn(written, tmp_path, robot, recording, known=True):
    draw(tmp_path / "run.png", recording, list(range(robot.n)), robot if known else None)
    return written[-1].axes


def panel(axes, label):
    return next(a for a in axes if a.get_ylabel() == label)


def test_a_recording_has_one_time_fixed_colours_and_readable_scales(written, tmp_path):
    robot = rne.load_urdf("puma560")
    axes = drawn(written, tmp_path, robot, recorded(robot, noise=1e-14))
    assert {tuple(a.get_xlim()) for a in axes} == {(0.0, 3.0)}
    colors = {line.get_label(): line.get_color() for line in axes[-1].lines}
    assert {name: colors[name] for name in ("gravity", "friction")} == {k: TERMS[k] for k in ("gravity", "friction")}
    assert np.ptp(panel(axes, "error (mrad)").get_ylim()) >= 1e-4, "round-off is not enlarged"
    efforts = panel(axes, "effort (N m)")
    assert np.abs(efforts.get_ylim()).max() <= 0.25, "far limits do not flatten the curves"


def test_joints_in_rad_and_in_m_have_axes_of_their_own(written, tmp_path):
    robot = rne.load_urdf("scara")
    axes = drawn(written, tmp_path, robot, recorded(robot))
    assert [line.get_label() for line in panel(axes, "position (m)").lines] == ["joint3", "reference"]
    assert main(["simulate", "scara", "--free", "--seconds", "0.02", "--plot", str(tmp_path / "free.png")]) == 0
    labels = [a.get_ylabel() for figure in written for a in figure.axes]
    assert {"position (rad)", "position (m)", "error (mm)", "effort (N)", "velocity (m/s)"} <= set(labels)
    assert not [label for label in labels if ", " in label]
