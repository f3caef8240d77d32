"""Tables on narrow terminals: no line is wider, and nothing is cut off."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from rne_dynamics.cli.main import main

WIDTHS = (80, 60)
QUICK = [
    ["list"], ["inertia", "materials"], ["inertia", "robot", "puma560", "--link", "link2"],
    *(["info", name] for name in ("baxter", "pantograph", "flexible_arm6")), ["check", "pantograph"],
    ["simulate", "cylindrical", "--to", "joint2=0.2", "--seconds", "0.5"],
    pytest.param(["verify", "scara", "--states", "1"], marks=pytest.mark.slow),
]  # fmt: skip
def lines_at(width, words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(words) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    return lines


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_no_line_is_wider_and_nothing_is_cut_off(words, monkeypatch, capsys):
    for width in WIDTHS:
        # an element to paste into a URDF stays as it is
        lines = [line for line in lines_at(width, words, monkeypatch, capsys) if not line.lstrip().startswith("<")]
        assert max(map(cell_len, lines)) <= width, max(lines, key=cell_len)
        assert not any("…" in line for line in lines)
