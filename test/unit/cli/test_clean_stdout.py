"""Standard output of a command is free of output of C++ libraries."""

from __future__ import annotations

import json
import subprocess
import sys

#: A command during which something else than Python writes to the process's standard output.
NOISY = """
import os, sys
from rne_dynamics.cli import main
from rne_dynamics.cli.own_arm import info
run = info.run
def noisy(arguments):
    os.write(1, b"RTPS_TRANSPORT_SHM Error\\n")
    os.system("echo a child")
    return run(arguments)
info.run = noisy
code = main.main(sys.argv[1:])
os.write(1, b"")
print("afterwards")
sys.exit(code)
"""


def test_json_is_nothing_but_json():
    done = subprocess.run(
        [sys.executable, "-c", NOISY, "info", "planar2", "--json"],
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr
    figures, rest = done.stdout[: done.stdout.rindex("}") + 1], done.stdout[done.stdout.rindex("}") + 1 :]
    assert json.loads(figures)["name"] == "planar2"
    assert rest.strip() == "afterwards"
    assert "RTPS_TRANSPORT_SHM" in done.stderr
    assert "a child" in done.stderr


def test_a_reader_that_goes_away_is_no_traceback():
    done = subprocess.run(
        ["sh", "-c", '"$0" "$@" | true', sys.executable, "-c", NOISY, "info", "planar2"],
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert "Traceback" not in done.stderr
