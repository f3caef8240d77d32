"""Agreement, ratios and goals, JSON and the page, on made-up contenders."""

from __future__ import annotations

import json

import numpy as np
import pytest
from comparison import page
from comparison.contenders import Case, Comparison, Contender, differences
from comparison.goals import GOALS
from comparison.results import Results
from comparison.timing import Times

from rne_dynamics.errors import ArgumentError


def contender(name: str, answer=(1.0, 2.0), n: int = 6, **more) -> Contender:
    given = None if answer is None else np.array(answer)
    return Contender(name, f"{name}()", {}, None if given is None else lambda: given, n, **more)


def case(*contenders: Contender, compared: tuple[Comparison, ...] = (), **more) -> Case:
    return Case("calls", "ur5", "inverse_dynamics", contenders, compared, **more)


def times(**found: tuple[float, ...]) -> dict[str, Times]:
    return {name: Times(1, rounds) for name, rounds in found.items()}


def results() -> Results:
    machine = {"cpu": "a processor", "cores": 2, "load": 0.1, "python": "3.11", "packages": {"numpy": "2"}}
    return Results(machine, {"sections": ["calls", "scaling"], "repeats": 3})


def measured() -> Results:
    found = results()
    compared = (Comparison("plain", ("pin",), "plain"), Comparison("bound", ("pin",), "bound"))
    found.note_times(
        case(contender("plain"), contender("bound"), contender("pin"), compared=compared),
        times(plain=(4.0, 5.0), bound=(0.25, 0.5), pin=(2.0, 3.0)),
    )
    big = contender("n = 1000", n=1000), contender("n = 10", n=10)
    grown = Case("scaling", "chain", "gravity_torque", big, (Comparison("n = 1000", ("n = 10",), "scaling"),),
                 each_link=True)  # fmt: skip
    found.note_times(grown, {"n = 1000": Times(1, (1200.0,)), "n = 10": Times(1, (10.0,))})
    found.left_out.append("left out: mujoco: it is not installed")
    return found


@pytest.mark.parametrize("wrong", [(1.0, 2.0 + 1e-6), (1.0, np.nan), (1.0,)])
def test_a_wrong_answer_of_a_peer_is_found(wrong):
    agreeing = case(contender("plain"), contender("pin", (1.0, 2.0 + 1e-12)), contender("empty", None))
    assert results().note_differences(differences(agreeing))
    found, made = results(), case(contender("plain"), contender("bound"), contender("pin", wrong))
    assert not found.note_differences(differences(made))
    (pair,) = found.disagreements
    assert (pair.first, pair.second, found.agrees) == ("plain", "pin", False)
    assert "ur5, inverse_dynamics: plain and pin" in str(pair)
    back = Results.from_json(json.loads(json.dumps(found.as_json())))
    assert back.disagreements == found.disagreements


def test_ratios_are_of_the_smallest_times_and_judged():
    plain, bound, growth = measured().ratios
    assert (plain.ratio, plain.bound, plain.met) == (0.5, 3.0, False)
    assert (bound.ratio, bound.ratio_of_medians, bound.met) == (8.0, 2.5 / 0.375, True)
    assert (growth.ratio, growth.slower, growth.met) == (pytest.approx(1.2), True, True)


def test_the_fastest_of_several_peers_counts_for_one_state_and_core():
    found = results()
    compared = (Comparison("ours", ("pool", "call"), "batch"),)
    parts = (
        contender("ours", states=100), contender("pool", states=100, threads=2), contender("call", less="empty"),
        contender("empty", None),
    )  # fmt: skip
    found.note_times(case(*parts, compared=compared), times(ours=(100.0,), pool=(1600.0,), call=(48.0,), empty=(18.0,)))
    measured_times = {m.contender: m.minimum for m in found.measurements}
    assert measured_times == {"ours": 1.0, "pool": 32.0, "call": 30.0, "empty": 18.0}
    (ratio,) = found.ratios
    assert (ratio.theirs, ratio.against, ratio.ratio, ratio.met) == ("call", "pool or call", 30.0, True)


@pytest.mark.parametrize("data", [[], {}, {"format": 0}, {"format": 1}, {"format": 1, "measurements": [1]}])
def test_what_is_no_report_is_refused(data):
    with pytest.raises(ArgumentError, match=r"no .*report of `make bench`"):
        Results.from_json(data)


def test_the_page_holds_the_figures_between_its_marks():
    found = measured()
    new = f"\n{page.figures(found)}\n".join(page.around_figures(f"# Title\n\n{page.BEGIN}\nold\n{page.END}\n\nprose\n"))
    assert page.around_figures(new) == (f"# Title\n\n{page.BEGIN}", f"{page.END}\n\nprose\n")
    assert "| ur5 (6) | inverse dynamics | 4 ns | 0.25 ns | 2 ns | **0.50** | 8.00 |" in new
    assert f"| {GOALS['plain'].what} | {GOALS['plain'].wanted} | 0.50 |" in new
    assert "mujoco: it is not installed" in new
    with pytest.raises(ArgumentError, match="no marks for figures"):
        page.around_figures("# Title\n")


def test_json_there_and_back():
    assert Results.from_json(json.loads(json.dumps(measured().as_json()))) == measured()
