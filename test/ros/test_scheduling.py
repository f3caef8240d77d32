"""What is asked of the operating system is in force, or told to be refused; the node runs either way."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

CODE = """
import json, os, sys, threading
from rne_dynamics.ros.scheduling import settle
pause = threading.Event()
threading.Thread(target=pause.wait, daemon=True).start()
told = list(settle(*json.loads(sys.argv[1])))
tasks = [int(t) for t in os.listdir("/proc/self/task")]
locked = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmLck"))
print(json.dumps([told, [os.sched_getscheduler(t) for t in tasks],
                  [sorted(os.sched_getaffinity(t)) for t in tasks], locked]), flush=True)
os._exit(0)
"""


def settled(*wishes):
    command = [sys.executable, "-c", CODE, json.dumps(wishes)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def test_nothing_asked_nothing_changed():
    told, policies, cpus, locked = settled(0, [], False)
    assert not told
    assert set(policies) == {os.sched_getscheduler(0)}
    assert all(one == sorted(os.sched_getaffinity(0)) for one in cpus)
    assert locked == 0


def test_all_threads_are_treated_alike_or_it_is_told():
    cpu = min(os.sched_getaffinity(0))
    told, policies, cpus, locked = settled(5, [cpu], True)
    assert cpus == [[cpu]] * len(cpus)
    assert set(policies) == {os.SCHED_FIFO} or any("realtime_priority 5 is not permitted" in text for text in told)
    assert locked > 0 or any("lock_memory is not permitted" in text for text in told)


@pytest.mark.parametrize("cpus", [[4000], [0, 4095]])
def test_cpus_that_are_not_there(cpus):
    told, policies, used, _ = settled(0, cpus, False)
    if cpus == [4000]:
        assert [text for text in told if "cpu_affinity [4000] is not possible" in text]
        assert all(one == sorted(os.sched_getaffinity(0)) for one in used)
    assert set(policies) == {os.sched_getscheduler(0)}
