"""Units of axes, files of figures, and the pictures' readability."""

from __future__ import annotations

import pytest

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.figures.style import COLORS
from rne_dynamics.figures.tracking import joint_units, units_of


@pytest.mark.parametrize(("robot", "position", "error", "velocity", "effort"), [
    ("puma560", "rad", "mrad", "rad/s", "N m"),
    ("cylindrical", "rad, m", "mrad, mm", "rad/s, m/s", "N m, N"),
    ("pantograph", "rad", "mrad", "rad/s", "N m"),
    ("flexible_arm", "rad", "mrad", "rad/s", "N m"),
])
def test_units_are_those_of_the_joints(robot, position, error, velocity, effort):
    assert units_of(rne.load_model(robot)) == (position, error, velocity, effort)


def test_every_joint_has_its_own_unit():
    assert [units.effort for units in joint_units(rne.load_urdf("scara"))] == ["N m", "N m", "N", "N m"]


def test_a_prismatic_robot_has_metres_only():
    robot = rne.load_urdf("cylindrical", lock={"joint1": 0.0})
    assert units_of(robot).position == "m"
    assert units_of(robot).effort == "N"


@pytest.mark.parametrize(("words", "said"), [
    (["simulate", "planar2", "--plot", "x.jpg"], "--plot is 'x.jpg'; its ending must be .png, .svg or .pdf"),
    (["simulate", "planar2", "--plot", "figure"], "its ending must be .png, .svg or .pdf"),
    (["simulate", "planar2", "--movie", "x.mp4"], "--movie is 'x.mp4'; its ending must be .gif"),
    (["simulate", "planar2", "--report", "x.pdf"], "--report is 'x.pdf'; its ending must be .html or .htm"),
    (["verify", "planar2", "--plot", "x.bmp"], "its ending must be .png, .svg or .pdf"),
    (["bench", "--report", "x.txt"], "its ending must be .html or .htm"),
    (["simulate", "planar2", "--plot", "."], "name a file"),
])
def test_unknown_suffixes_are_refused_before_the_run(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_a_folder_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["simulate", "planar2", "--plot", str(tmp_path / "taken" / "x.png")]) == 1
    assert "is no folder" in capsys.readouterr().err


def luminance(color: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 to 1."""
    parts = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    return sum(w * x**2.2 for w, x in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def test_curves_are_readable_on_white():
    assert len(set(COLORS)) == len(COLORS)
    assert all(1.05 / (luminance(color) + 0.05) > 2.0 for color in COLORS)
