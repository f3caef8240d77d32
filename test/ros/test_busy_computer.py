"""A simulated arm on a computer that is busy with something else: in lock-step only the time that it takes changes.

`test_busy_launch.py` compares the errors of several runs.
"""

from __future__ import annotations

import json

import pytest
from support.busy import busy
from support.demo import demo


@pytest.mark.soak
def test_the_demo_misses_no_reply_and_tracks(tmp_path):
    with busy(2):
        done = demo("--seconds", "3", "--json", "--out", str(tmp_path / "plot.png"))
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["missed_replies"] == 0
    assert report["tracked"]
