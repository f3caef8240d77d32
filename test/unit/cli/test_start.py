"""The console script: Ctrl-C at any instant, and exit codes."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, os, signal, sys
from rne_dynamics.cli.start import main

def interrupt(*ignored):
    os.kill(os.getpid(), signal.SIGINT)

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            {what}

class Dropped:
    def __del__(self):
        interrupt()
        str()  # the handler runs here, and Python drops its exception

sys.unraisablehook = lambda ignored: None
sys.meta_path.insert(0, Importing())
sys.argv = ["rne", "info", "planar2"]
sys.exit(main())
"""
INSTANTS = {
    "before the commands": ("rne_dynamics.cli.main", "interrupt()"),
    "while the command is imported": ("rne_dynamics.cli.own_arm.info", "interrupt()"),
    "turned into another error by the import": (
        "rne_dynamics.cli.own_arm.info", "Dropped(); raise ImportError('cut short')"
    ),
    "twice": ("rne_dynamics.cli.own_arm.info", "Dropped(); interrupt()"),
    "after the command": ("rne_dynamics.cli.own_arm.info", "atexit.register(interrupt)"),
}


@pytest.mark.parametrize("instant", INSTANTS)
def test_ctrl_c_is_130_and_one_line(instant):
    module, what = INSTANTS[instant]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module, what=what)], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith("interrupted\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("words", "code"), [(["info", "--nosuch"], 2), (["info", "nosuch"], 1)])
def test_it_passes_the_exit_code_on(words, code):
    done = subprocess.run(
        [sys.executable, "-m", "rne_dynamics.cli.start", *words], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert "Traceback" not in done.stderr
