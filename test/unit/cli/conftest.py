"""Commands as their users type them, in this process."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from rne_dynamics.cli.main import main


class Said(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


@pytest.fixture
def run_rne(capsys):
    """Run a command and check its exit code."""

    def run(*words: object, code: int = 0) -> Said:
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        return Said(*capsys.readouterr())

    return run


@pytest.fixture
def simulated(capsys):
    """Run `rne simulate` with --json and compare its exit code with its verdict; return its figures."""

    def run(*words: object) -> Any:
        code = main(["simulate", *map(str, words), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert code == int(not found.get("verdict", {"passed": True})["passed"])
        return found

    return run


@pytest.fixture
def figures(run_rne):
    """Run a command with --json and check its exit code; return its figures."""

    def run(*words: object, code: int = 0) -> Any:
        return json.loads(run_rne(*words, "--json", code=code).out)

    return run
