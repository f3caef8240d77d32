"""`rne export` from its command line; the C itself is tested in test/unit/test_c_export.py."""

from __future__ import annotations

from pathlib import Path

from rne_dynamics.cli.main import main

FILES = ["panda_dynamics.h", "panda_dynamics.c", "panda_dynamics_test.c", "CMakeLists.txt"]


def test_c_is_written_to_a_folder_of_the_robot_s_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # an export may be replaced
        assert main(["export", "panda", "--language", "c"]) == 0
    assert "6 functions of panda, 7 coordinates, double; test:" in capsys.readouterr().out
    assert sorted(x.name for x in (tmp_path / "panda_c").iterdir()) == sorted(FILES)
    header = (tmp_path / "panda_c" / "panda_dynamics.h").read_text()
    assert "from panda.urdf." in header
    assert "panda_jacobian_panda_link8" in header


def test_options_and_json(tmp_path, figures):
    options = ["--precision", "float", "--link", "panda_link4", "--quantities", "jacobian", "mass_matrix"]
    words = ["export", "panda", "--language", "c", *options, "--prefix", "left", "--out", str(tmp_path / "b")]
    report = figures(*words)
    assert (report["robot"], report["prefix"], report["precision"]) == ("panda", "left", "float")
    assert report["files"] == [name.replace("panda", "left") for name in FILES]
    assert [f["name"] for f in report["functions"]] == ["left_mass_matrix", "left_jacobian_panda_link4"]
    assert all(f["operations"] > 100 for f in report["functions"])
    assert (tmp_path / "b" / "left_dynamics.c").exists()


def test_a_floating_base_and_efforts_without_rotors(tmp_path):
    words = ["export", "puma560", "--language", "c", "--quantities", "mass_matrix", "--no-rotors"]
    assert main([*words, "--out", str(tmp_path / "fixed")]) == 0
    assert main([*words[:-1], "--out", str(tmp_path / "r")]) == 0
    header, source = "puma560_dynamics.h", "puma560_dynamics.c"
    assert "No rotor inertias are included" in (tmp_path / "fixed" / header).read_text()
    assert "Rotor inertias are included" in (tmp_path / "r" / header).read_text()
    assert (tmp_path / "fixed" / source).read_text() != (tmp_path / "r" / source).read_text()
    arm = tmp_path / "box.urdf"
    arm.write_text(
        '<robot name="box"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link></robot>'
    )
    floating = ["export", str(arm), "--language", "c", "--base", "floating", "--out", str(tmp_path / "box")]
    assert main(floating) == 0
    assert "#define BOX_NQ 7\n#define BOX_N 6" in (tmp_path / "box" / "box_dynamics.h").read_text()


def test_a_folder_that_is_no_export_is_left_as_it_is(tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("own/CMakeLists.txt").write_text("project(mine)")
    error = run_rne("export", "panda", "--language", "c", "--out", "own", code=1).err
    assert "exists and is no export; name another folder" in error
    assert Path("own/CMakeLists.txt").read_text() == "project(mine)"
    assert [x.name for x in Path("own").iterdir()] == ["CMakeLists.txt"]


def test_gravity_that_a_urdf_lacks_is_said(tmp_path, run_rne):
    (tmp_path / "wall.yaml").write_text("urdf: planar2\ngravity: [0, 0, 9.81]\n")
    assert "gravity [0, 0, 9.81] m/s^2 is left out" in run_rne("export", tmp_path / "wall.yaml").err
    assert run_rne("export", "planar2").err == ""
