"""`rne export` from its command line; the C itself is tested in test/unit/test_c_export.py."""

from __future__ import annotations

from pathlib import Path

from support.urdf_text import link, robot

FILES = ["panda_dynamics.h", "panda_dynamics.c", "panda_dynamics_test.c", "CMakeLists.txt"]


def test_c_is_written_to_a_folder_of_the_robot_s_name(tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    words = ("export", "panda", "--language", "c", "--quantities", "jacobian")
    for _ in range(2):  # an export may be replaced
        out = run_rne(*words).out
    assert "1 functions of panda, 7 coordinates, double; test:" in out
    assert sorted(x.name for x in (tmp_path / "panda_c").iterdir()) == sorted(FILES)
    assert "panda_jacobian_panda_link8" in (tmp_path / "panda_c" / "panda_dynamics.h").read_text()
    Path("own").mkdir()
    Path("own/CMakeLists.txt").write_text("project(mine)")
    assert "exists and is no export; name another folder" in run_rne(*words, "--out", "own", code=1).err
    assert [x.read_text() for x in Path("own").iterdir()] == ["project(mine)"]


def test_options_and_json(tmp_path, figures):
    options = ["--precision", "float", "--link", "panda_link4", "--quantities", "jacobian", "mass_matrix"]
    words = ["export", "panda", "--language", "c", *options, "--prefix", "left", "--out", str(tmp_path / "b")]
    report = figures(*words)
    assert (report["robot"], report["prefix"], report["precision"]) == ("panda", "left", "float")
    assert report["files"] == [name.replace("panda", "left") for name in FILES]
    assert [f["name"] for f in report["functions"]] == ["left_mass_matrix", "left_jacobian_panda_link4"]
    assert all(f["operations"] > 100 for f in report["functions"])


def test_a_floating_base_and_efforts_without_rotors(tmp_path, run_rne):
    box = tmp_path / "box.urdf"
    box.write_text(robot(link("a"), name="box"))
    for name, options, said in (
        ("puma560", [], "Rotor inertias are included"), ("puma560", ["--no-rotors"], "No rotor inertias are included"),
        (box, ["--base", "floating"], "#define BOX_NQ 7\n#define BOX_N 6"),
    ):
        words = ["--language", "c", "--quantities", "mass_matrix", *options, "--out", tmp_path / said[:6]]
        run_rne("export", name, *words)
        (header,) = (tmp_path / said[:6]).glob("*.h")
        assert said in header.read_text()


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
