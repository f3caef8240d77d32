"""What is said about compiling: one line with a total and an estimate, one at the end, and a line in place."""

from __future__ import annotations

from rne_dynamics.spatial.compiling import Compiling
from rne_dynamics.spatial.first_start import EXPECTED, FirstStart, StatusLine, kind_of

PROGRAM, KIND = "simulator", "arm"


def test_a_node_logs_two_lines():
    lines: list[str] = []
    start = FirstStart(lines.append, PROGRAM, KIND)
    start.end()
    assert lines == [], "nothing was compiled"
    for done in range(20):
        start.note(Compiling("dynamics.nasser.recursion", done, 0.5 * done))
        start.note(Compiling("control.rigid_terms.terms", done, 0.5 * done), "loop")
    start.note(Compiling("", 20, 10.0))
    start.note(Compiling("", 20, 10.0), "loop")
    start.end()
    start.end()
    kernels, seconds = EXPECTED[PROGRAM, KIND]
    first, last = lines
    assert f"up to {kernels} functions, up to about {seconds:.0f} s, only at the first start" in first
    assert "rne warmup" in first
    assert last.startswith("compiled 40 functions in")


def test_a_program_that_was_not_measured_promises_nothing():
    lines: list[str] = []
    FirstStart(lines.append, "somebody's node", "arm").note(Compiling("dynamics.nasser.recursion", 0, 0.0))
    assert lines == ["compiling the dynamics kernels, only at the first start (`rne warmup` does it beforehand)"]


def test_a_terminal_shows_how_far_it_is():
    line = StatusLine("simulate")
    kernels, seconds = EXPECTED["simulate", "arm"]
    text = line.text(Compiling("dynamics.nasser.recursion", 3, 4.2))
    assert f"3 of up to {kernels}, 4 s of up to about {seconds:.0f} s" in text
    kernels, seconds = EXPECTED["simulate", "mechanism"]
    assert f"of up to {kernels}," in line.text(Compiling("closed_chain.packed.motion", 4, 5.0)), "a mechanism's"
    assert f"of up to {kernels}," in line.text(Compiling("dynamics.nasser.recursion", 5, 5.0)), "as before"
    assert f"{kernels} done, 90 s" in line.text(Compiling("dynamics.nasser.recursion", kernels, 90.0))
    assert line.text(Compiling("", kernels + 1, 91.0)) == ""


def test_kinds_are_seen_by_the_package_of_a_kernel():
    assert kind_of("flexible.packed.motion") == kind_of("model.flexible.packed.rows") == "flexible"
    assert kind_of("closed_chain.packed.motion") == "mechanism"
    assert kind_of("dynamics.nasser.recursion") == "arm"
