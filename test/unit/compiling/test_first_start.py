"""What is said about compiling: one line with a total and an estimate, one at the end, and a line in place."""

from __future__ import annotations

from rne_dynamics.advice import rne
from rne_dynamics.compiling.first_start import Expected, FirstStart, StatusLine, kind_of
from rne_dynamics.compiling.progress import Compiling

TABLE = {("simulate", "arm"): Expected(12, 30.0), ("simulate", "mechanism"): Expected(15, 40.0)}


def test_a_node_logs_two_lines():
    lines: list[str] = []
    start = FirstStart(lines.append, Expected(14, 22.0))
    start.end()
    assert lines == [], "nothing was compiled"
    for done in range(20):  # each function in two forms
        start.note(Compiling(f"dynamics.nasser.part{done // 2}", done, 0.5 * done))
        start.note(Compiling("control.rigid_terms.terms", 1, 0.5 * done))
    start.note(Compiling("", 20, 10.0))
    start.end()
    start.end()
    first, last = lines
    assert "up to 14 functions, up to about 22 s, only at the first start" in first
    assert rne("warmup") in first
    assert last.startswith("compiled 11 functions in")


def test_a_program_that_was_not_measured_promises_nothing():
    lines: list[str] = []
    FirstStart(lines.append, None).note(Compiling("dynamics.nasser.recursion", 0, 0.0))
    how = rne("warmup")
    assert lines == [f"compiling the dynamics kernels, only at the first start (`{how}` does it beforehand)"]


def test_a_terminal_shows_how_far_it_is():
    line = StatusLine("simulate", TABLE)
    kernels, seconds = TABLE["simulate", "arm"]
    assert f"0 of up to {kernels}, 0 s of up to about {seconds:.0f} s" in line.text(Compiling("dynamics.a", 0, 0.0))
    assert f"1 of up to {kernels}, 4 s of up to about {seconds:.0f} s" in line.text(Compiling("dynamics.b", 1, 4.2))
    assert line.text(Compiling("", 2, 5.0)) == ""
    kernels, seconds = TABLE["simulate", "mechanism"]
    assert f"2 of up to {kernels}," in line.text(Compiling("closed_chain.packed.motion", 2, 5.0)), "a mechanism's"
    assert f"2 of up to {kernels}," in line.text(Compiling("dynamics.b", 3, 5.0)), "another form of the same function"
    for k in range(kernels):
        line.text(Compiling(f"dynamics.nasser.part{k}", k, 90.0))
    assert f"{kernels + 3} done, 90 s" in line.text(Compiling("dynamics.c", 99, 90.0)), "more than expected"


def test_kinds_are_seen_by_the_package_of_a_kernel():
    assert kind_of("flexible.packed.motion") == kind_of("model.flexible.packed.rows") == "flexible"
    assert kind_of("closed_chain.packed.motion") == "mechanism"
    assert kind_of("dynamics.nasser.recursion") == "arm"
