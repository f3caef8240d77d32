"""Flexible links in model files: all values are read, every fault has its line, value and fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.modal_writer import save_modal_link
from support.urdf_text import changed, joint, link, robot

import rne_dynamics as rne
from rne_dynamics.description.model_file import examine_model
from rne_dynamics.description.sources import read_source
from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.model.flexible.arm import carried
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.materials import Elastic, rectangle, rod, tube

ARM = """\
urdf: flexible_arm
posture: {joint2: 1.5}
flexible:
  - link: link1
    length: 0.5
    mass_per_length: 0.2
    EI: {y: 1.0}
    modes: {y: 2}
    damping: [0.01, 0.02]
  - link: link2
    length: 0.4
    axis: [0, 2, 0]
    normal: [0, 0, 1]
    origin: [0, 0.01, 0]
    section: {kind: rod, diameter: 0.004, material: steel}
    modes: {y: 1, z: 2, torsion: 1}
    shapes: finite_element
    elements: 12
    damping: 0.02
    stiffening: true
    tip: {mass: 0.3, inertia: [0.1, 0.2, 0.3], offset: 0.1}
"""
RIGID = ARM[: ARM.index("flexible:")].replace("posture: {joint2: 1.5}\n", "")


def one(entry: str) -> ModalLink:
    """Link 2 alone, described by an entry."""
    return rne.load_model(f"urdf: flexible_arm\nflexible:\n  - {{link: link2, {entry}}}\n").flexible_link("link2")


def assert_same(a: ModalLink, b: ModalLink) -> None:
    assert (a.link, a.mode_names) == (b.link, b.mode_names)
    for name in ("first", "second", "shortening", "stiffness", "damping", "coupling", "hardening", "tip"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-14, err_msg=name)


def test_everything_arrives() -> None:
    arm = rne.load_model(ARM)
    assert arm.mode_names == ("link1/y1", "link1/y2", "link2/y1", "link2/z1", "link2/z2", "link2/torsion1")
    section = rod(0.004, "steel")
    expected = Beam(
        "link2", 0.4, **{name: np.array([value]) for name, value in section._asdict().items()},
        axis=np.array([0.0, 1.0, 0.0]), normal=np.array([0.0, 0.0, 1.0]), origin=np.array([0.0, 0.01, 0.0]),
        modes=(1, 2, 1), shapes="finite_element", elements=12, damping=0.02, stiffening=True, tip_mass=0.3,
        tip_inertia=(0.1, 0.2, 0.3), tip_offset=0.1,
    )  # fmt: skip
    assert_same(arm.flexible_link("link2"), modal_link(expected))
    load = carried(arm.robot, "link1", (0.5, 0.0, 0.0), posture=[0.0, 1.5])
    expected = Beam(
        "link1", 0.5, np.array([0.2]), np.array([1.0]), modes=(2, 0, 0), shapes="clamped_mass", damping=(0.01, 0.02),
        tip_mass=load.mass, tip_inertia=tuple(np.diag(load.about_origin)), tip_offset=float(load.com[0]),
    )  # fmt: skip
    assert_same(arm.flexible_link("link1"), modal_link(expected))
    assert rne.load_model(RIGID).mass == arm.mass  # the URDF's inertia holds the beams


def test_hub_adds_the_beam_to_what_the_urdf_gives() -> None:
    arm = rne.load_model(changed(ARM, ("    damping: 0.02", "    damping: 0.02\n    inertial: hub")))
    beam = 0.4 * rod(0.004, "steel").mass_per_length
    assert arm.flexible_link("link2").inertia.mass == pytest.approx(beam, rel=1e-14)
    assert arm.mass == pytest.approx(rne.load_model(RIGID).mass + beam, rel=1e-14)


def test_sections_are_what_they_are_as_numbers() -> None:
    steel = "{density: 7850, E: 210e9, G: 80.769230769230769e9}"
    for text, section in (
        ("{kind: tube, outer_diameter: 0.006, wall: 0.001, material: aluminium}", tube(0.006, 0.001, "aluminium")),
        ("{kind: rod, diameter: 0.004, material: steel}", rod(0.004, "steel")),
        (f"{{kind: rectangle, width: 0.002, height: 0.006, material: {steel}}}",
         rectangle(0.002, 0.006, Elastic(7850.0, 210e9, 210e9 / 2.6))),
    ):  # fmt: skip
        end = "length: 0.5, modes: {y: 1, z: 1, torsion: 1}"
        numbers = (
            f"mass_per_length: {section.mass_per_length!r}, EI: {{y: {section.EI_y!r}, z: {section.EI_z!r}}}, "
            f"GJ: {section.GJ!r}"
        )
        by_section = one(f"section: {text}, {end}")
        assert_same(by_section, one(f"{numbers}, polar: {{y: {section.spread_y!r}, z: {section.spread_z!r}}}, {end}"))
        # of one number polar is the sum, shared as EI is
        assert_same(by_section, one(f"{numbers}, polar: {section.spread_y + section.spread_z!r}, {end}"))


def test_tapers_are_of_finite_elements_by_default() -> None:
    taper = (
        "length: 0.5, mass_per_length: [0.2, 0.1], EI: [1, 0.6, 0.5], polar: [1e-7, 0.5e-7], GJ: 0.5, "
        "modes: {y: 1, torsion: 1}"
    )
    assert_same(one(taper), one(f"{taper}, shapes: finite_element, elements: 20"))
    with pytest.raises(DescriptionError, match=r"<text>:3: .*shapes is 'pinned', .* take polynomial or finite_element"):
        one(f"{taper}, shapes: pinned")
    # shapes of a free tip have no tip load by default, others that of the bodies beyond
    beam = "length: 0.5, mass_per_length: 0.2, EI: 1, modes: {y: 2}, damping: 0.01"
    for shapes, tip in (("clamped_mass", "carried"), ("clamped_free", "{mass: 0}")):
        assert_same(one(f"{beam}, shapes: {shapes}"), one(f"{beam}, shapes: {shapes}, tip: {tip}"))


def test_shapes_of_a_free_tip_have_no_tip_load_by_default() -> None:
    beam = "length: 0.5, mass_per_length: 0.2, EI: 1, modes: {y: 2}, damping: 0.01"
    tip = "tip: {mass: 0.1, inertia: [0, 0, 0.0005]}"
    for shapes in ("clamped_mass", "pinned", "finite_element"):
        assert_same(one(f"{beam}, shapes: {shapes}"), one(f"{beam}, shapes: {shapes}, tip: carried"))
        assert_same(one(f"{beam}, shapes: {shapes}"), one(f"{beam}, shapes: {shapes}, {tip}"))
    free = one(f"{beam}, shapes: clamped_free")
    assert_same(free, one(f"{beam}, shapes: clamped_free, tip: {{mass: 0}}"))
    loaded = one(f"{beam}, shapes: clamped_free, tip: carried")  # its damping is that of slower vibrations
    np.testing.assert_array_equal(loaded.stiffness, free.stiffness)
    assert np.trace(loaded.damping) > np.trace(free.damping)


def test_modal_matrices_from_a_file_in_its_folder(tmp_path: Path) -> None:
    modal = modal_link(Beam("link2", 0.5, np.array([0.2]), np.array([1.0]), modes=(2, 0, 0)))
    save_modal_link(tmp_path / "link2.npz", modal)
    file = tmp_path / "model.yaml"
    text = "urdf: package://rne_dynamics/urdf/flexible_arm.urdf\nflexible: [{link: link2, modal: %s}]\n"
    for name in ("link2.npz", (tmp_path / "link2.npz").as_uri()):
        file.write_text(text % name)
        assert_same(rne.load_model(file).flexible_links[0], modal)
    for wrong, said in (
        ((text % "nix.npz").replace("modal", "\n\n  modal"), r"model.yaml:4: flexible link 'link2' modal: .*nix.npz"),
        ((text % "link2.npz").replace("link: link2", "link: link2, length: 1"),
         r"model.yaml:2: flexible link 'link2' length: .* together with modal"),
    ):
        file.write_text(wrong)
        with pytest.raises(DescriptionError, match=said):
            rne.load_model(file)


def test_payload_and_lock() -> None:
    load = rne.Payload("tip", 0.4)
    plain, loaded = rne.load_model(ARM), rne.load_model(ARM, payload=load)
    in_file = rne.load_model(f"{ARM}payload: {{link: tip, mass: 0.4}}\n")
    assert loaded.mass == pytest.approx(plain.mass + 0.4)
    for part, same in zip(loaded.flexible_links, in_file.flexible_links, strict=True):
        assert_same(part, same)
    # the first link's shapes are those for the payload; with_payload keeps them
    assert not np.allclose(loaded.flexible_links[0].stiffness, plain.flexible_links[0].stiffness, rtol=1e-6)
    assert_same(plain.with_payload(load).flexible_links[0], plain.flexible_links[0])
    held = rne.load_model(ARM, lock={"joint2": 1.5})
    assert (held.joint_names, held.mode_names) == (("joint1",), plain.mode_names)
    assert_same(held.flexible_link("link1"), plain.flexible_link("link1"))  # locked where the posture has it
    with pytest.raises(ModelError, match="no joint named 'joint3'"):
        rne.load_model(ARM, lock={"joint3": 0.0})


def test_a_payload_on_a_flexible_link_moves_with_its_place() -> None:
    load = rne.Payload("link1", 0.4, com=(0.3, 0.0, 0.02))
    for arm in (rne.load_model(ARM, payload=load), rne.load_model(ARM).with_payload(load),
                rne.load_model(f"{ARM}payload: {{link: link1, mass: 0.4, com: [0.3, 0, 0.02]}}\n")):  # fmt: skip
        assert arm.robot.links["link1 payload"].position.tolist() == [0.3, 0.0, 0.02]
        assert arm.with_payload(load).robot.links["link1 payload'"]
        # to the rigid arm it is what it was
        rigid = rne.load_model(RIGID, payload=load).parameters
        np.testing.assert_allclose(arm.robot.parameters, rigid, rtol=1e-13, atol=1e-15)


#: What is changed in `ARM`, and what the message then says; * stands for anything.
FAULTS = {
    "unknown key": (
        ("    EI:", "    ei:"),
        "<text>:7: flexible link 'link1': key 'ei' is unknown; known: link, length, axis,*; write 'EI'",
    ),
    "no list": (
        (ARM[ARM.index("  - link: link1") :], "  link: link1\n"),
        "<text>:4: flexible: is a mapping; it must be a list of flexible links",
    ),
    "link missing": (
        ("  - link: link1\n    length", "  - length"),
        "<text>:4: flexible link number 1: link is missing",
    ),
    "link unknown": (
        ("link: link1", "link: lnk1"),
        "<text>:4: flexible link: there is no link named 'lnk1' in the URDF; write 'link1' or 'link2'",
    ),
    "twice": (
        ("link: link2", "link: link1"),
        "<text>:10: flexible link 'link1': is there twice, first in line 4;*delete",
    ),
    "root": (("link: link1", "link: base_link"), "<text>:*the root link 'base_link' cannot be flexible*put a link"),
    "length missing": (
        ("    length: 0.5\n", ""),
        "<text>:4: flexible link 'link1': length is missing*write `length: 0.5`",
    ),
    "length zero": (
        ("length: 0.5", "length: 0"),
        "<text>:5: flexible link 'link1': length is 0.0 m; it must be finite",
    ),
    "length negative": (("length: 0.5", "length: -1"), "<text>:5: flexible link 'link1' length: is -1*at least 0"),
    "modes missing": (("    modes: {y: 2}\n", ""), "<text>:4: flexible link 'link1': modes is missing*`modes: {y: 2}`"),
    "half a mode": (
        ("modes: {y: 2}", "modes: {y: 1.5}"),
        "<text>:8: flexible link 'link1' modes y: is '1.5'; *whole number",
    ),
    "mode kind": (("modes: {y: 2}", "modes: {x: 2}"), "<text>:8: flexible link 'link1' modes: key 'x' is unknown"),
    "nothing to bend by": (
        ("modes: {y: 2}", "modes: {z: 2}"),
        "<text>:7: flexible link 'link1': EI_z is [0.0] N m^2, but 2 modes in bending along z are wanted; give it",
    ),
    "no torsion inertia": (
        ("EI: {y: 1.0}\n    modes: {y: 2}", "GJ: 1\n    modes: {torsion: 2}"),
        "<text>:4: flexible link 'link1': spread_y and spread_z are [0.0]",
    ),
    "neither": (
        ("    mass_per_length: 0.2\n", ""),
        "<text>:4: flexible link 'link1': neither section nor mass_per_length is given; write for example `section:",
    ),
    "both": (
        ("    section:", "    GJ: 2\n    section:"),
        "<text>:15: flexible link 'link2': section and GJ are both given;*; delete GJ, or section",
    ),
    "NaN": (
        ("EI: {y: 1.0}", "EI: [1, .nan]"),
        "<text>:7: flexible link 'link1' EI[1]: is '.nan'; it must be one finite",
    ),
    "no stations": (
        ("EI: {y: 1.0}", "EI: []"),
        "<text>:7: flexible link 'link1' EI: is an empty list; *one number or [",
    ),
    "negative EI": (("EI: {y: 1.0}", "EI: {y: -1}"), "<text>:7: flexible link 'link1' EI y: is -1;*at least 0"),
    "plane": (("EI: {y: 1.0}", "EI: {x: 1}"), "<text>:7: flexible link 'link1' EI: key 'x' is unknown; known: y, z"),
    "massless": (
        ("mass_per_length: 0.2", "mass_per_length: 0"),
        "<text>:6: flexible link 'link1': mass_per_length is [0.0] kg/m; it must be above 0",
    ),
    "damping count": (
        ("[0.01, 0.02]", "[0.01, 0.02, 0.03]"),
        "<text>:9: flexible link 'link1' damping: holds 3 ratios for 2 modes; *; give 2",
    ),
    "damping negative": (("[0.01, 0.02]", "-0.01"), "<text>:9: flexible link 'link1' damping: is -0.01"),
    "axis zero": (("axis: [0, 2, 0]", "axis: [0, 0, 0]"), "<text>:12: flexible link 'link2': axis is [0.0, 0.0, 0.0]"),
    "normal along": (
        ("normal: [0, 0, 1]", "normal: [0, 1, 0]"),
        "<text>:13: flexible link 'link2': normal [0.0, 1.0, 0.0]",
    ),
    "section kind": (("kind: rod", "kind: rd"), "<text>:15: flexible link 'link2' section kind: is 'rd'; *write rod"),
    "section length": (
        ("diameter: 0.004", "width: 0.004"),
        "<text>:15: flexible link 'link2' section: a rod has no width; it has diameter; delete it",
    ),
    "section length missing": (
        ("diameter: 0.004, ", ""),
        "<text>:15: flexible link 'link2' section: diameter is missing",
    ),
    "section zero": (("diameter: 0.004", "diameter: 0"), "<text>:15: flexible link 'link2' section: rod: *0"),
    "material": (
        ("material: steel", "material: steal"),
        "<text>:15: flexible link 'link2' section: *'steal'*steel*; or give density",
    ),
    "material without modulus": (
        ("material: steel", "material: carbon_fibre"),
        "<text>:15: flexible link 'link2' section: *has no modulus in the table",
    ),
    "material by numbers": (
        ("material: steel", "material: {density: 1, E: 1}"),
        "<text>:15: flexible link 'link2' section material: G is missing: shear modulus, Pa",
    ),
    "shapes": (
        ("finite_element", "finite"),
        "<text>:17: flexible link 'link2' shapes: is 'finite';*write finite_element",
    ),
    "elements": (("elements: 12", "elements: 0"), "<text>:18: flexible link 'link2' elements: is 0; *at least 1"),
    "elements fewer than modes": (
        ("elements: 12", "elements: 1"),
        "<text>:18: flexible link 'link2': elements is 1; *from 2",
    ),
    "stiffening": (
        ("stiffening: true", "stiffening: yes"),
        "<text>:20: flexible link 'link2' stiffening: is 'yes'; *true, false",
    ),
    "tip word": (
        ("tip: {mass: 0.3, inertia: [0.1, 0.2, 0.3], offset: 0.1}", "tip: all"),
        "<text>:21: flexible link 'link2' tip: is 'all'; *carried",
    ),
    "tip without mass": (("mass: 0.3, ", ""), "<text>:21: flexible link 'link2' tip: mass is missing"),
    "tip inertia": (
        ("[0.1, 0.2, 0.3]", "[0.1, -0.2, 0.3]"),
        "<text>:21: flexible link 'link2': tip_mass is 0.3 kg and",
    ),
    "inertial": (
        ("stiffening: true", "inertial: all"),
        "<text>:20: flexible link 'link2' inertial: is 'all'; *whole, hub",
    ),
    "tip offset": (
        ("offset: 0.1", "offset: 5"),
        "<text>:21: flexible link 'link2': tip_inertia is [0.1, 0.2, 0.3]*add that",
    ),
    "more beam than link": (
        ("mass_per_length: 0.2", "mass_per_length: 20"),
        "<text>:4: flexible link 'link1': its elastic part has 10 kg, the whole link only 1.1 kg",
    ),
    "more inertia than link": (
        ("mass_per_length: 0.2", "mass_per_length: 2"),
        "<text>:4: flexible link 'link1': no rigid body is left",
    ),
    "posture": (("{joint2: 1.5}", "{knee: 1.5}"), "<text>:2: posture: there is no joint named 'knee'"),
    "nothing flexible": ((ARM[ARM.index("  - link: link1") :], "  []\n"), "<text>:4: flexible: is an empty list"),
    "no modes at all": (
        (ARM[ARM.index("    modes: {y: 2}") :], "    modes: {y: 0}\n"),
        "<text>:4: flexible: *no flexible link with a mode; without one",
    ),
    "loops": (
        (
            "flexible:\n",
            "actuated: [joint1]\nloops: [{name: l, kind: weld, a: {link: tip}, b: {link: link1}}]\nflexible:\n",
        ),
        "<text>:*: flexible: is given together with loops; flexible links are supported in open arms only; delete",
    ),
    "numbers far apart": (("length: 0.5", "length: 1e-12"), "<text>:*flexible link 'link1'"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_have_line_link_value_and_fix(fault: str) -> None:
    change, expected = FAULTS[fault]
    with pytest.raises(DescriptionError) as caught:
        rne.load_model(changed(ARM, change))
    message, at = str(caught.value), 0
    for part in expected.split("*"):
        assert part in message[at:], message
        at = message.index(part, at) + len(part)
    assert "\n" not in message
    assert "; " in message  # what to do


def test_all_faults_are_found_at_once() -> None:
    report = examine_model(read_source(changed(ARM, ("y: 1.0", "y: x"), ("elements: 12", "elements: x")))).report
    assert [f.line for f in report.findings] == [7, 18]
    report = examine_model(read_source(changed(ARM, ("{y: 2}", "{z: 2}"), ("link: link2", "link: link9")))).report
    assert [f.line for f in report.findings] == [7, 10]


@pytest.mark.parametrize(("last", "said"), [
    (joint("k", "b", "c", inside='<mimic joint="j"/>'), "has mimic joints.*lock them"),
    (joint("k", "b", "c", "floating"), "has a floating base or joint"),
])
def test_arms_that_cannot_bend(last: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "tree.urdf").write_text(robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), last))
    file = tmp_path / "model.yaml"
    file.write_text(
        "urdf: tree.urdf\n"
        "flexible: [{link: b, length: 0.1, mass_per_length: 0.01, EI: 1, modes: {y: 1}, inertial: hub}]\n"
    )
    with pytest.raises(DescriptionError, match=f"model.yaml:2: flexible: arm 'robot' {said}"):
        rne.load_model(file)
