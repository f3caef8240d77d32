"""Without llvmlite everything runs, slowly, with the same numbers: a hostile closed loop in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rne_dynamics.compiling.jit import COMPILED

ROOT = Path(__file__).resolve().parents[2]

#: Held, moved, one state that no effort answers, then a joint so fast that the limiter's flags and the one of
#: overspeed come together.
PROGRAM = """
import json, sys
if "blocked" in sys.argv:
    sys.modules["llvmlite"] = None
import numpy as np
from support.supervised import Rig, settings
import rne_dynamics as rne
from rne_dynamics.compiling.jit import COMPILED

robot = rne.load_urdf("planar2")
rig = Rig(robot, np.array([0.4, -0.7]), settings(robot), period=4e-3)
rig.run(0.1)
rig.move(np.array([0.6, -0.5]), 0.2)
rig.run(0.12)
rig.run(0.008, corrupt=lambda state: {**state, "q": np.array([np.inf, 0.0])})
rig.run(0.12)

place = rig.simulator.state.q.copy()

def thrown(state):
    place[:] += 2.0 * robot.velocity_limit * rig.period
    return {**state, "q": place.copy(), "qd": 2.0 * robot.velocity_limit}

rig.run(0.06, corrupt=thrown)
rig.run(0.8, corrupt=lambda state: {**state, "q": place.copy(), "qd": np.zeros(2)})
print(json.dumps({
    "compiled": COMPILED, "modes": [mode.value for mode in rig.modes],
    "sent": [effort.tolist() for effort in rig.sent],
}))
"""


def run(*words: str, **environment: str) -> tuple[dict[str, object], str]:
    paths = f"{ROOT}{os.pathsep}{ROOT / 'test'}"
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], env={**os.environ, "PYTHONPATH": paths, **environment}, text=True,
        capture_output=True, check=False,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout), child.stderr


@pytest.fixture(scope="module")
def usual() -> dict[str, object]:
    """What the kernels give as they are here."""
    return run()[0]


@pytest.mark.parametrize(("words", "environment", "said"), [
    pytest.param(["blocked"], {}, "llvmlite is not installed", id="no llvmlite"),
    pytest.param([], {"RNE_DYNAMICS_PLAIN": "1"}, "RNE_DYNAMICS_PLAIN is set", id="RNE_DYNAMICS_PLAIN",
                 marks=pytest.mark.slow),
])  # fmt: skip
def test_a_closed_loop_runs_without_llvmlite(
    usual: dict[str, object], words: list[str], environment: dict[str, str], said: str
) -> None:
    if not COMPILED and environment:
        pytest.skip("llvmlite is not installed")
    plain, warned = run(*words, **environment)
    assert not plain["compiled"]
    assert warned.count(said) == 1
    assert usual["compiled"] == COMPILED
    assert plain["modes"] == usual["modes"]
    assert {"holding", "tracking", "stopping", "fault"} <= set(plain["modes"])
    np.testing.assert_allclose(plain["sent"], usual["sent"], rtol=1e-9, atol=1e-9)
