"""Plain Python answers while another process compiles; the answers agree, and nothing but their time changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.compiling import meanwhile
from rne_dynamics.compiling.meanwhile import HERE, Meanwhile, is_possible
from rne_dynamics.description.share import share_file

pytest.importorskip("numba", reason="nothing is compiled without numba")

#: Longest time for another process to import and compile, s; the machine may be busy.
PATIENCE = 300.0
PROGRAM = """
import sys
import numpy as np
import rne_dynamics as rne
from rne_dynamics.compiling.meanwhile import Meanwhile

def flat(answer):
    return np.concatenate([np.ravel(part) for part in (answer if isinstance(answer, tuple) else (answer,))])

name, function, payload, options = sys.argv[1], getattr(rne, sys.argv[2]), float(sys.argv[3]), eval(sys.argv[4])
robot = rne.load_urdf(name)
if payload:
    robot = rne.with_payload(robot, rne.Payload(robot.link_names[-1], payload))
rng = np.random.default_rng(3)
count = 2 if sys.argv[2] in ("coriolis_matrix", "lagrange_terms") else 3
vectors = list(rng.uniform(-1.0, 1.0, (count, robot.n)))
first = flat(function(robot, *vectors, **options))
assert Meanwhile.running is not None, "nothing is compiled elsewhere"
rows = flat(function(robot, *(np.stack([x, x]) for x in vectors), **options))
assert Meanwhile.running.wait(PATIENCE) == 0
for _ in range(3):
    last = flat(function(robot, *vectors, **options))
both = np.sort(np.tile(first, 2))
print(max(np.abs(last - first).max(), np.abs(np.sort(rows) - both).max()) / np.abs(first).max())
""".replace("PATIENCE", str(PATIENCE))


#: Largest difference of the first answer, relative to the answer.
ROUND_OFF = 1e-11


def difference(program, package, folder, *arguments):
    """What a program prints; it has a copy of the package and an empty folder, where another process keeps kernels."""
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(folder)}
    environment.pop(HERE, None)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, cwd=folder, capture_output=True, text=True,
        timeout=2 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any((folder / "rne_dynamics").iterdir())  # kept for the next process
    return float(done.stdout)


def copied(package, folder):
    """A copy of the package, with nothing compiled."""
    shutil.copytree(package, folder / "rne_dynamics", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def package_without_code(tmp_path_factory, root):
    """A copy for which LLVM is always too old, as that of many systems' packages: it has general kernels alone."""
    folder = copied(root / "rne_dynamics", tmp_path_factory.mktemp("copy"))
    source = folder / "rne_dynamics" / "straight_line" / "machine_code.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("\n_OLDEST_LLVM = ") == 1
    source.write_text(text.replace("\n_OLDEST_LLVM = ", "\n_OLDEST_LLVM = 1000 + "), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory, root):
    """A copy of the package, with nothing compiled."""
    return copied(root / "rne_dynamics", tmp_path_factory.mktemp("copy"))


@pytest.mark.parametrize(
    ("robot", "function", "payload", "options"),
    [
        ("baxter", "regressor", 0.0, "{}"),
        pytest.param("panda", "inverse_dynamics", 1.0, "{}", marks=pytest.mark.soak, id="a model without code"),
        pytest.param("panda", "lagrange_terms", 1.0, "{}", marks=pytest.mark.soak, id="another one"),
        *(
            pytest.param(robot, function, 0.0, options, marks=pytest.mark.soak)
            for robot, function, options in (
                ("talos_reduced", "forward_dynamics_derivatives", "{}"),
                ("baxter", "lagrange_terms", "{}"),
                ("baxter", "inverse_dynamics", "{'wrenches': {'base': [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}}"),
            )
        ),
    ],
)
def test_first_answers_are_those_of_compiled_kernels(package, tmp_path, robot, function, payload, options):
    assert difference(PROGRAM, package, tmp_path, robot, function, str(payload), options) < ROUND_OFF


CALLS = """
import sys
import numpy as np
import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.compiling.meanwhile import Meanwhile

name, call = sys.argv[1:]
robot = rne.load_model(name)
q, v, a = np.random.default_rng(4).uniform(0.0, 0.2, (3, robot.n))
q = q + robot.neutral
modes, loads = np.full(getattr(robot, "modes", 0), 1e-3), {robot.link_names[-1]: np.arange(1.0, 7.0)}

def answer():
    found = eval(call)
    return np.concatenate([np.ravel(part) for part in (found if isinstance(found, tuple) else (found,))])

first = answer()
assert Meanwhile.running is not None, "nothing is compiled elsewhere"
assert Meanwhile.running.wait(PATIENCE) == 0
last = answer()
print(np.abs(last - first).max() / np.abs(first).max())
""".replace("PATIENCE", str(PATIENCE))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "call"),
    [
        ("pantograph", "rne.inverse_dynamics(robot, q, v, a, wrenches=loads)"),
        ("flexible_arm", "flexible.flexible_forward_dynamics(robot, q, modes, v, modes, a, wrenches=loads)"),
    ],
)
def test_mechanisms_and_flexible_arms_with_loads_do_not_wait_for_general_kernels(package, tmp_path, robot, call):
    assert difference(CALLS, package, tmp_path, str(share_file(f"urdf/{robot}.yaml")), call) < ROUND_OFF


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "function"), [("panda", "inverse_dynamics"), ("baxter", "regressor")])
def test_nothing_waits_either_where_there_is_no_machine_code(package_without_code, tmp_path, robot, function):
    assert difference(PROGRAM, package_without_code, tmp_path, robot, function, "0.0", "{}") < ROUND_OFF


def test_one_process_at_a_time_and_what_cannot_be_sent_is_over(monkeypatch):
    monkeypatch.delenv(HERE, raising=False)
    monkeypatch.setattr(Meanwhile, "running", None)
    first, second = Meanwhile(partial(time.sleep, 0.2)), Meanwhile(partial(time.sleep, 0.0))
    assert not first.over()
    assert not second.over()
    running = Meanwhile.running
    assert running is not None
    running.wait(PATIENCE)
    assert first.over()
    second.over()
    assert Meanwhile.running is not running
    Meanwhile.running.wait(PATIENCE)
    assert second.over()
    assert Meanwhile(lambda: None).over()


def test_no_program_that_contains_python_is_started_a_second_time(monkeypatch):
    monkeypatch.delenv(HERE, raising=False)
    assert is_possible()
    for program in ("/opt/cell/robot_cell", "", None):
        monkeypatch.setattr(sys, "executable", program)
        assert not is_possible()
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not is_possible()


def test_the_other_process_goes_behind_this_one(monkeypatch, tmp_path):
    monkeypatch.setattr(Meanwhile, "running", None)
    job = Meanwhile(partial(exec, f"import os; open({str(tmp_path / 'seen')!r}, 'w').write("
                                  "f'{os.sched_getscheduler(0)} {os.nice(0)}')"))
    job.over()
    assert Meanwhile.running.wait(PATIENCE) == 0
    policy, niceness = map(int, (tmp_path / "seen").read_text().split())
    assert policy == os.SCHED_BATCH
    assert niceness >= min(os.nice(0) + meanwhile.NICE, 19)


def test_threads_start_one_process(monkeypatch):
    monkeypatch.setattr(Meanwhile, "running", None)
    started = []
    start = meanwhile._started
    monkeypatch.setattr(meanwhile, "_started", lambda call: started.append(call) or start(call))
    job, begin = Meanwhile(partial(time.sleep, 0.0)), threading.Barrier(8)

    def ask():
        begin.wait()
        job.over()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1
    Meanwhile.running.wait(PATIENCE)


def test_a_failed_process_leaves_it_to_this_one(monkeypatch):
    monkeypatch.setattr(Meanwhile, "running", None)
    job = Meanwhile(partial(os._exit, 3))
    job.over()
    assert Meanwhile.running.wait(PATIENCE) == 3
    assert job.over()


def test_nodes_and_commands_compile_before_they_answer(monkeypatch):
    monkeypatch.delenv(HERE, raising=False)
    monkeypatch.setitem(os.environ, HERE, "1")
    assert not is_possible()
    robot = rne.load_urdf("baxter")
    rne.gravity_torque(robot, np.zeros(robot.n))
    assert not any("call" in key for key in robot.own_code if isinstance(key, tuple))
