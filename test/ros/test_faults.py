"""The fault campaign, one test a fault; all run in the background, several controllers in parallel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from faults import campaign
from faults.campaign import ALL, FAULTS, Campaign, chosen, tried
from faults.fault import Fault
from faults.robots import ROBOTS
from faults.table import inserted

from rne_dynamics.control.laws import DEFAULT_LAW, law_names

#: Each fault on its usual arm and controller, and what is tried on others besides.
NAMES = {fault.name for fault in FAULTS}

USUAL = tuple(case for case in tried(FAULTS) if case.name in {fault.name for fault in FAULTS})
OTHERS = tuple(case for case in tried(FAULTS, ALL) if case.name not in NAMES)
#: What depends on the law most, under all laws that are not the usual one.
SAMPLED = ("motor-reversed", "nan-for-ever-in-motion", "unknown-load")
UNDER_LAWS = tuple(case for case in tried(chosen(SAMPLED), law=ALL) if case.law != DEFAULT_LAW)
#: What takes longest of these, under laws that leave a reversed motor to the same checks.
REVERSED = ("motor-reversed@pd-gravity", "motor-reversed@cartesian", "motor-reversed@disturbance")
#: Kinds of faults that every run injects; in the others more of an arm's motion is simulated, or a process restarted.
SHORT = ("joint states", "trajectory", "process", "other node", "gate")
#: Of these kinds, what takes long.
LONG = ("slow-joint-freezes", "trajectory-huge")
#: What takes longest of all; the usual controller meets it in the slow stage.
SOAKED = "motor-scaled@puma560-gravity-compensation"
#: Of the faults that take a process of their own, those of every run.
STARTED = ("node-killed-in-motion", "sigterm-in-motion")
#: For one fault behind all others, s.
LONGEST = 900.0


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """The faults that are asked for, and no others."""
    wanted = {item.callspec.params.get("name") for item in request.session.items
              if getattr(item, "callspec", None) and item.path == Path(__file__)}
    with Campaign(fault for fault in (*USUAL, *UNDER_LAWS) if fault.name in wanted) as campaign:
        yield campaign


def marked(fault: Fault) -> object:
    """The fault's name, and when it is run."""
    every = fault.kind in SHORT and fault.name not in LONG and (not fault.own or fault.name in STARTED)
    longest = pytest.mark.soak if fault.name == SOAKED else pytest.mark.slow
    return pytest.param(fault.name, marks=[] if every else [longest])


@pytest.mark.parametrize("name", [marked(fault) for fault in USUAL])
def test_reaction_is_the_one_that_is_promised(running: Campaign, name: str) -> None:
    result = running.results[name].result(LONGEST)
    assert result.passed, result.failure


@pytest.mark.parametrize("name", [
    pytest.param(fault.name, marks=pytest.mark.soak if fault.name.startswith(REVERSED) else pytest.mark.slow)
    for fault in UNDER_LAWS
])
def test_reaction_is_the_one_that_is_promised_under_other_laws(running: Campaign, name: str) -> None:
    result = running.results[name].result(LONGEST)
    assert result.passed, result.failure


def test_a_fault_of_the_arm_is_tried_on_every_arm_and_each_case_has_a_name_of_its_own() -> None:
    cases = tried(FAULTS, ALL)
    assert len({case.name for case in cases}) == len(cases)
    for fault in FAULTS:
        if fault.kind in ("wall", "drive", "motor", "hand"):
            assert sorted(fault.arms) == sorted(ROBOTS), fault.name
    assert {case.arms for case in tried(FAULTS, "panda")} == {("panda",)}
    assert {(case.law, *case.nodes) for case in UNDER_LAWS} == {
        (law, "computed_torque_controller") for law in law_names() if law != DEFAULT_LAW
    }


def test_the_table_in_the_docs_is_up_to_date(root: Path) -> None:
    page = (root / "test/faults/README.md").read_text(encoding="utf-8")
    assert inserted(page, FAULTS) == page, "write it with: make faults FAULTS_ARGS='--table test/faults/README.md'"


@pytest.mark.slow
def test_a_failure_is_reported_and_spoils_no_other() -> None:
    """A reaction that does not come, and one that raises: the campaign goes on."""
    from faults.fault import Faults
    from faults.rig import Rig

    faults = Faults("test")

    @faults.fault("the arm is released")
    def nothing_at_all(rig: Rig) -> None:
        """Nothing."""
        rig.reach("fault", seconds=0.5)

    @faults.fault("held")
    def nothing_again(rig: Rig) -> None:
        """Nothing."""
        rig.undisturbed()

    results = []
    bad, good = campaign.run(tuple(faults), results.append, workers=1)
    assert "waited 0.5 s for fault; states: holding" in bad.failure
    assert good.passed, good.failure
    assert good.efforts > 10
    assert {r.fault.name for r in results} == {"nothing-at-all", "nothing-again"}
