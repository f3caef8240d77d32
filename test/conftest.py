"""Shared by all tests: the checkout's root, a local ROS environment, and distribution over processes.

Where pytest-xdist is installed and the whole suite is asked for, one process runs the node tests that take real time,
in their order, a second one begins with the fault campaign and a third one with the other node tests, whose time waits
for the controller; whoever is done takes what is left.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).resolve().parent
NODE_TESTS = "test/ros/"
CAMPAIGN = "test/ros/test_faults.py"
#: Node tests in real time must not run in parallel.
REAL_TIME = tuple(
    f"{NODE_TESTS}test_{name}.py"
    for name in ("control_process", "effort_gate", "flexible", "follow_action", "hardware_configs", "launching",
                 "locked_joints", "mujoco_plant", "scheduling", "simulator")
)
#: Tests of the source code, which one process reads once.
SOURCE_CODE = tuple(f"test/test_{name}.py" for name in ("architecture", "code_shape", "package", "thresholds"))
#: One more than cores: node tests and the fault campaign wait most of the time.
PROCESSES, CORES = 3, 2
#: Niceness of processes that compute while node tests run, so that these have priority.
NICE = 5
#: Of pytest-xdist's processes "gw0", "gw1" or "gw2"; empty in the one that starts them, and where there is no other.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

# pytest-xdist gives its processes the terminal's width, which tables of commands would follow
os.environ.pop("COLUMNS", None)
# before numpy is: threads of linear algebra that wait for each other on a busy machine take five times the time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# before rclpy is imported anywhere: one domain for each test process, and no discovery beyond this machine
local = os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST") == "LOCALHOST"
if local and os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps").startswith("rmw_fastrtps"):
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SYSTEM_DEFAULT"  # with another one the profile has no effect
    for release in ("FASTRTPS", "FASTDDS"):  # Jazzy's name, and Kilted's
        os.environ[f"{release}_DEFAULT_PROFILES_FILE"] = str(TESTS / "support" / "udp.xml")
os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 91 + 10))
if number := int(WORKER[2:] or 0):  # its environment is the first one's
    os.environ["ROS_DOMAIN_ID"] = str((int(os.environ["ROS_DOMAIN_ID"]) + number) % 102)
    # Node tests, which gw0 runs, keep rates: this process goes behind. In a session of its own, since Linux may share
    # out time among sessions first (autogroups) and go by niceness only within one.
    with contextlib.suppress(OSError):
        os.setsid()
        os.nice(NICE)
        Path("/proc/self/autogroup").write_text(str(NICE))


# what is right does not depend on how long it takes on a busy machine
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return TESTS.parent


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Three processes for the whole suite, unless the command line says how many or wants to watch."""
    option = config.option
    whole = [Path(argument).resolve() for argument in config.args] == [TESTS]
    watched = option.usepdb or option.capture == "no"
    chosen = getattr(option, "numprocesses", 0) is not None  # 0: there is no pytest-xdist
    if whole and not (watched or chosen or WORKER) and (os.cpu_count() or 1) >= CORES:
        option.numprocesses = PROCESSES
    option.loadscopereorder = False  # as `pytest_collection_modifyitems` has them
    if not getattr(option, "maxworkerrestart", "0"):
        option.maxworkerrestart = "0"  # with another one the others waited for ever, once


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins, among several processes."""
    first = (REAL_TIME, CAMPAIGN, NODE_TESTS, "")
    if WORKER:
        items.sort(key=lambda item: next(k for k, start in enumerate(first) if item.nodeid.startswith(start)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A file's tests share fixtures and stay together; so do all that take real time, and that read all the code."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            shared = (name for name, starts in (("real time", REAL_TIME), ("source code", SOURCE_CODE))
                      if nodeid.startswith(starts))  # fmt: skip
            return next(shared, "") or super()._split_scope(nodeid)

        def schedule(self) -> None:
            first_to_last = sorted(self.assigned_work, key=lambda worker: worker.gateway.id)
            self.assigned_work = {worker: self.assigned_work[worker] for worker in first_to_last}
            super().schedule()

    return Scheduling(config, log)
