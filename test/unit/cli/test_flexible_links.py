"""`rne info` and `rne check` of arms with flexible links."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.modal_writer import save_modal_link
from support.urdf_text import changed

from rne_dynamics.cli.main import main
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.share import share_file
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.model.flexible.arm import clamped_frequencies, loads
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link

Capture = pytest.CaptureFixture[str]
SHIPPED = ("flexible_arm", "flexible_arm6", "flexible_beam")
G = 9.81
#: A slender bar that hangs free of all that `rne check` warns of.
BEAM = "link: beam, length: 0.8, mass_per_length: 0.432, EI: {y: 15, z: 1500}, GJ: 21, polar: 6e-5"
GOOD = f"{BEAM}, modes: {{y: 2, z: 1, torsion: 1}}, damping: 0.005"


def model(folder: Path, entry: str, *more: str) -> Path:
    file = folder / "model.yaml"
    urdf = share_file("urdf/flexible_beam.urdf").as_uri()
    file.write_text("\n".join([f"urdf: {urdf}", *more, "flexible:", f"  - {{{entry}}}"]) + "\n")
    return file


def findings(file: Path, capsys: Capture) -> list[dict[str, str]]:
    main(["check", str(file), "--json"])
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)["findings"]
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_is_clean(name: str, run_rne) -> None:
    out, err = run_rne("check", name, "--strict")
    assert f"{name}.urdf: nothing to fix" in out
    assert f"{name}.yaml: nothing to fix" in out
    assert err == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_info_as_table_and_json(name: str, figures, run_rne) -> None:
    arm = load_model(name)
    out = run_rne("info", name).out
    assert all(link.link in out and " ".join(link.mode_names) in out for link in arm.flexible_links)
    report = figures("info", name)
    about = report["flexible"]
    assert (report["mechanism"], report["n"], about["modes"], about["unsettled"]) == (None, arm.n, arm.modes, None)
    expected = linearised(arm, arm.neutral)
    np.testing.assert_allclose(about["frequencies"], expected.frequencies / (2.0 * math.pi), rtol=1e-12)
    for row, link in zip(about["links"], arm.flexible_links, strict=True):
        assert (row["name"], row["modes"]) == (link.link, list(link.mode_names))
        assert row["elastic_mass"] == link.inertia.mass
        assert (np.array(row["bare"]) > row["carrying"]).all()


def test_sag_is_that_of_a_loaded_cantilever(tmp_path: Path, figures) -> None:
    """μ g L⁴/8EI + m g L³/3EI for the bar and the block of 0.15 kg at its tip, but for what three modes leave out."""
    (row,) = figures("info", model(tmp_path, GOOD.replace("y: 2", "y: 3")))["flexible"]["links"]
    expected = 0.432 * G * 0.8**4 / (8 * 15.0) + 0.15 * G * 0.8**3 / (3 * 15.0)
    assert row["sag"][1] == pytest.approx(-expected, rel=2e-3)
    # the block's centre is 10 mm off the axis: it twists the bar by its moment over GJ/L
    assert row["sag"][3] == pytest.approx(0.15 * G * 0.01 * 0.8 / 21.0, rel=0.02)


def test_info_of_an_arm_that_does_not_settle(tmp_path: Path, capsys: Capture, figures, run_rne) -> None:
    """Gravity along the bar from its tip to its root, and less stiffness than Euler's load asks for."""
    entry = "link: beam, length: 0.8, mass_per_length: 0.432, EI: 0.2, modes: {y: 2}, damping: 0.01"
    file = model(tmp_path, f"{entry}, stiffening: true", "gravity: [-9.81, 0, 0]")
    about = figures("info", file)["flexible"]
    assert about["frequencies"] is about["damping_ratios"] is about["links"][0]["sag"] is None
    assert f"vibrations: {about['unsettled']}" in run_rne("info", file).out
    (found,) = [f for f in findings(file, capsys) if f["element"] == "flexible"]
    assert (found["severity"], f"{found['message']}; {found['fix']}") == ("warning", about["unsettled"])


@pytest.mark.parametrize(
    ("change", "key", "message", "fix"),
    [
        (("damping: 0.005", "damping: 0"), "damping", "is 0 for all modes; vibration that", "give a ratio"),
        (("damping: 0.005", "damping: [0.01, 0, 0.01, 0.01]"), "damping", "is 0 for some mode", "give a ratio"),
        (("torsion: 1", "torsion: 4"), "modes", "reach", "take fewer modes"),
        ((", torsion: 1", ""), "modes", "has bending in both planes but no torsion", "add torsion: 1"),
        (("EI: {y: 15, z: 1500}", "EI: 15e6"), "EI", "in plane y is 1.5e+07 N m^2 with polar", "1 N mm^2 is 1e-6"),
        (("polar: 6e-5", "polar: {y: 5e-9, z: 5e-7}"), "EI", "their quotient E/density is 3e+09 ", "polar"),
        (("GJ: 21", "GJ: 2100"), "GJ", "more than half the sum of EI in both planes, 757.5", "correct GJ"),
        (("{y: 15,", "{y: 1.5,"), "", "sags by", "make it stiffer"),
    ],
)  # fmt: skip
def test_what_is_doubtful(
    change: tuple[str, str], key: str, message: str, fix: str, tmp_path: Path, capsys: Capture
) -> None:
    found = findings(model(tmp_path, changed(GOOD, change)), capsys)
    assert {f["severity"] for f in found} == {"warning"}
    (one,) = [f for f in found if message in f["message"]][:1]
    assert (one["element"], one["line"]) == (f"flexible link 'beam' {key}".rstrip(), 3)
    assert fix in one["fix"]


def test_modal_files_are_checked_too(tmp_path: Path, capsys: Capture) -> None:
    save_modal_link(tmp_path / "beam.npz", modal_link(Beam("beam", 0.8, np.array([0.4]), np.array([15.0]))))
    (found,) = findings(model(tmp_path, "link: beam, modal: beam.npz"), capsys)
    assert (found["element"], found["severity"]) == ("flexible link 'beam' damping", "warning")


def test_stiffness_without_the_sections_inertia_and_stout_beams(tmp_path: Path, capsys: Capture) -> None:
    plain = BEAM.replace(", GJ: 21, polar: 6e-5", "") + ", modes: {y: 1}, damping: 0.01"
    assert findings(model(tmp_path, plain), capsys) == findings(model(tmp_path, GOOD), capsys) == []
    found = findings(model(tmp_path, plain.replace("y: 15,", "y: 15e6,")), capsys)
    assert any("a section whose radius of gyration is 1.16e+03 mm, for a beam of 0.8 m" in f["message"] for f in found)
    bar = "link: beam, section: {kind: rod, diameter: 0.01, material: pom}, modes: {y: 1}, damping: 0.01, length: 0.09"
    (stout,) = findings(model(tmp_path, bar, "gravity: [0, 0, 0]"), capsys)
    assert stout["message"].startswith("is 9 times the section's 0.01 m; below 10 times")


def test_modal_files_without_stiffening_are_noted(tmp_path: Path, capsys: Capture) -> None:
    beam = Beam("beam", 0.8, np.array([0.4]), np.array([15.0]), damping=0.01, stiffening=False)
    save_modal_link(tmp_path / "beam.npz", modal_link(beam))
    file = model(tmp_path, "link: beam, modal: beam.npz, inertial: hub", "gravity: [0, 0, 0]")
    (found,) = findings(file, capsys)
    assert (found["element"], found["severity"]) == ("flexible link 'beam' modal", "note")
    spin = re.search(r"no stiffening; .* 10 % of the link's length and a spin of ([\d.]+) rad/s", found["message"])
    arm = load_model(file)
    first = clamped_frequencies(arm.flexible_links[0], loads(arm.robot, "beam"))[0]
    assert float(spin[1]) == pytest.approx(first / 3.0, rel=5e-3)


@pytest.mark.slow
def test_a_simulation_that_leaves_the_range_of_the_theory_says_so(tmp_path: Path, run_rne) -> None:
    """Three times the earth's gravity bends the bar by 12 % of its length: too much for the plain theory."""
    plain = f"{BEAM}, modes: {{y: 2}}, damping: 0.01, stiffening: "
    for stiffening, count in (("false", 1), ("true", 0)):
        file = model(tmp_path, plain + stiffening, "gravity: [0, 0, -30]")
        out, err = run_rne("simulate", file, "--free", "--seconds", "0.001", "--json")
        found = json.loads(out)["findings"]
        assert len(found) == err.count("rne simulate: warning: ") == count
        assert all("'beam' is deflected by 0.119" in text and "holds up to 0.1" in text for text in found)
