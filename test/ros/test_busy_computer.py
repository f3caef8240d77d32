"""A simulated arm on a computer that is busy with something else: in lock-step only the time that it takes changes."""

from __future__ import annotations

import json

import pytest
from support.busy import busy

from .test_demo import demo


@pytest.mark.slow
def test_the_demo_misses_no_reply_and_its_figures_do_not_depend_on_the_load(tmp_path):
    reports = []
    for processes in (0, 2, 2, 2):
        with busy(processes):
            done = demo("--seconds", "3", "--json", "--out", str(tmp_path / "plot.png"))
        assert done.returncode == 0, done.stderr + done.stdout
        reports.append(json.loads(done.stdout))
        assert reports[-1]["missed_replies"] == 0
    for report in reports[1:]:
        for joint, quiet in zip(report["joints"], reports[0]["joints"], strict=True):
            assert joint["rms_error"] == pytest.approx(quiet["rms_error"], rel=5e-4), joint["name"]
