"""The scheduling parameters are in force, or their refusal is reported; the node runs either way."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CODE = """
import json, os, sys, threading
from rne_dynamics.ros.node.process import apply_scheduling
pause = threading.Event()
threading.Thread(target=pause.wait, daemon=True).start()
names = "realtime_priority", "cpu_affinity", "lock_memory"
refusals = list(apply_scheduling(dict(zip(names, json.loads(sys.argv[1])))))
tasks = [int(t) for t in os.listdir("/proc/self/task")]
locked = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmLck"))
print(json.dumps([refusals, [os.sched_getscheduler(t) for t in tasks],
                  [sorted(os.sched_getaffinity(t)) for t in tasks], locked]), flush=True)
os._exit(0)
"""


def settled(*settings):
    command = [sys.executable, "-c", CODE, json.dumps(settings)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def test_all_threads_have_the_same_scheduling_or_the_refusal_is_reported():
    cpu = min(os.sched_getaffinity(0))
    refusals, policies, cpus, locked = settled(5, [cpu], True)
    assert cpus == [[cpu]] * len(cpus)
    assert set(policies) == {os.SCHED_FIFO} or any("realtime_priority 5 is not permitted" in text for text in refusals)
    assert locked > 0 or any("lock_memory is not permitted" in text for text in refusals)


def test_cpus_that_are_not_there():
    refusals, policies, used, _ = settled(0, [4000], False)
    assert [text for text in refusals if "cpu_affinity [4000] is not possible" in text]
    assert all(one == sorted(os.sched_getaffinity(0)) for one in used)
    assert set(policies) == {os.sched_getscheduler(0)}
