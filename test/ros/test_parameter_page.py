"""docs/parameters.md is what the nodes declare."""

from __future__ import annotations

import re

import pytest
from support.parameter_page import CONTROLLERS, GATE, NODES, PAGE, WITHOUT_ROBOT, grouped, main, page

from rne_dynamics.ros.parameters.files import JOINT


def test_the_page_is_up_to_date():
    assert main(["--check"]) == 0, "run: python test/support/parameter_page.py"


def test_the_check_sees_an_old_page_and_a_missing_one(tmp_path, capsys):
    old = tmp_path / "parameters.md"
    assert main(["--check", "--page", str(old)]) == 1
    old.write_text(page().replace("*start*", "live", 1))
    assert main(["--check", "--page", str(old)]) == 1
    assert "python test/support/parameter_page.py" in capsys.readouterr().err
    assert main(["--page", str(old)]) == 0
    assert main(["--check", "--page", str(old)]) == 0


@pytest.mark.parametrize("node", NODES)
def test_every_parameter_of_a_node_is_listed_once_in_its_sections(node):
    every = [] if node in WITHOUT_ROBOT else ["every node"]
    gated = ["controllers and effort_gate"] if node in (*CONTROLLERS, GATE) else []
    sections = (*every, *gated, *(["both controllers"] if node in CONTROLLERS else []), node)
    listed = [p.name for title in sections for p in grouped(NODES)[title]]
    assert sorted(listed) == sorted(p.name for p in NODES[node])


def test_rows_are_rows():
    columns = 0
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found = len(re.findall(r"(?<!\\)\|", line))
            columns = columns or found
            assert found == columns, line
            assert found in (3, 4), line  # names of another controller; parameters
        else:
            columns = 0


def test_what_other_parameters_are_named_in_descriptions_exists():
    names = {p.name for parameters in NODES.values() for p in parameters}
    for parameters in NODES.values():
        for p in parameters:
            for named in re.findall(r"[a-z_]+(?:\.(?:[a-z_]+|\{joint\}))+", p.description):
                assert named in names, f"{p.name} names {named}, which is no parameter"
            assert p.name.count(JOINT) <= 1
