"""docs/parameters.md is what the nodes declare."""

from __future__ import annotations

import re

import pytest
from support.parameter_page import CONTROLLERS, GATE, NODES, WITHOUT_ROBOT, grouped, main

from rne_dynamics.ros.parameters.files import JOINT


def test_the_page_is_up_to_date():
    assert main(["--check"]) == 0, "run: python test/support/parameter_page.py"


@pytest.mark.parametrize("node", NODES)
def test_every_parameter_of_a_node_is_listed_once_in_its_sections(node):
    every = [] if node in WITHOUT_ROBOT else ["every node"]
    gated = ["controllers and effort_gate"] if node in (*CONTROLLERS, GATE) else []
    sections = (*every, *gated, *(["both controllers"] if node in CONTROLLERS else []), node)
    listed = [p.name for title in sections for p in grouped(NODES)[title]]
    assert sorted(listed) == sorted(p.name for p in NODES[node])


def test_what_other_parameters_are_named_in_descriptions_exists():
    names = {p.name for parameters in NODES.values() for p in parameters}
    for parameters in NODES.values():
        for p in parameters:
            for named in re.findall(r"[a-z_]+(?:\.(?:[a-z_]+|\{joint\}))+", p.description):
                assert named in names, f"{p.name} names {named}, which is no parameter"
            assert p.name.count(JOINT) <= 1
