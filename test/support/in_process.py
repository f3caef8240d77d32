"""Commands that start nodes, in this process and with forked nodes; `support.demo` has one as a user runs it."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

import pytest
from support.forked import ForkedNode

from rne_dynamics.cli.main import main


def rne(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `rne` in a folder; whatever its exit code."""
    out, error = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        patch.chdir(folder)
        patch.setattr("rne_dynamics.ros.sessions.processes.NodeProcess", ForkedNode)
        code = main(list(words))
    return subprocess.CompletedProcess(words, code, out.getvalue(), error.getvalue())
