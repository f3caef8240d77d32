"""URDF text with other inertias: what stays, what is repaired, encodings."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.description.sources import Source, read_source
from rne_dynamics.description.urdf_writer import with_inertias
from rne_dynamics.model.inertia import Inertia

BODY = Inertia(1.5, np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.4]))
JOINT = """  <joint name="j" type="continuous">
    <parent link="a"/> <child link="b"/> <axis xyz="0 0 1"/>
  </joint>
"""


def document(link: str) -> str:
    return f'<?xml version="1.0"?>\n<!-- a > b -->\n<robot name="r">\n  <link name="a"/>\n  {link}\n{JOINT}</robot>\n'


def edited(text: str | bytes, **options) -> str:
    return with_inertias(read_source(text, **options), {"b": BODY})


LINKS = [
    '<link name="b"/>',
    '<link name="b" />',
    "<link name='b'></link>",
    '<link name="b"><!-- none --></link>',
    '<link name="b">\n    <visual><geometry><box size="1 1 1"/></geometry></visual>\n  </link>',
    '<link\n name="b" note="a>b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial><visual/></link>",
]


@pytest.mark.parametrize("link", LINKS)
def test_only_the_inertia_is_new(link):
    text = document(link)
    new = edited(text)
    body = rne.load_urdf(new).tree.link("b").inertia
    assert np.allclose(body.second_moments, BODY.second_moments, rtol=1e-9)
    start, stop = new.index("<inertial>"), new.index("</inertial>")
    outside = new[:start] + new[stop + len("</inertial>") :]
    expected = re.sub("<inertial>.*</inertial>", "", text)
    assert "".join(outside.split()).replace("></link>", "/>") == "".join(expected.split()).replace("></link>", "/>")


def test_links_without_new_inertia_are_not_touched():
    text = document(LINKS[-1])
    assert with_inertias(read_source(text), {}) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_the_result_is_utf_8(encoding):
    declared = encoding.removesuffix("-sig")
    text = document('<link name="b"><!-- Größe --></link>').replace('"1.0"', f'"1.0" encoding="{declared}"', 1)
    new = with_inertias(Source("robot.urdf", text.encode(encoding)), {"b": BODY})
    assert 'encoding="utf-8"' in new
    assert "Größe" in new
    assert rne.load_urdf(new.encode()).mass == BODY.mass


FAULTY = """<robot name="r"><link name="a"/><link name="b"><xacro:tool/></link>
  <joint name="j" type="revolute"><origin xyz="0 0 1" quat_xyzw="0 0 0 1"/>
    <parent link="a"/><child link="b"/><axis xyz="1 0 0"/><axis xyz="0 0 1"/>
    <limit lower="1" upper="-1" effort="-1" velocity="2" note="a&amp;b"/></joint></robot>"""


def test_faults_that_are_repaired_are_repaired_in_the_text():
    new = edited(FAULTY, lenient=True)
    lenient, strict = rne.load_urdf(FAULTY, lenient=True), rne.load_urdf(new)
    for name in ("axis", "position", "rotation"):
        assert np.allclose(getattr(strict.tree.joint("j"), name), getattr(lenient.tree.joint("j"), name))
    assert min(strict.upper[0], strict.effort_limit[0]) >= 1e8
    assert 'note="a&amp;b"' in new
