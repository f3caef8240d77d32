"""The state machine as a table: consistent, and what docs/states.md shows; `--write` as a script writes it there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rne_dynamics.control.supervision.states import DRIVING, MEANING, SENDING, SILENT, TRANSITIONS, Mode, diagram

PAGE = Path(__file__).resolve().parents[4] / "docs" / "states.md"
BEGIN, END = "<!-- states: written by test/unit/control/supervision/test_states.py --write -->", "<!-- /states -->"


def section() -> str:
    rows = "\n".join(f"| `{mode.value}` | {MEANING[mode]} |" for mode in Mode)
    return f"{BEGIN}\n```mermaid\n{diagram()}\n```\n\n| state | |\n|---|---|\n{rows}\n{END}"


def rewritten() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text[: text.index(BEGIN)] + section() + text[text.index(END) + len(END) :]


def test_the_page_shows_the_table():
    assert PAGE.read_text(encoding="utf-8") == rewritten(), f"run python {Path(__file__).name} --write"


def test_every_state_can_be_reached_and_left():
    assert {target for _, _, target in TRANSITIONS} == set(Mode)
    assert {source for source, _, _ in TRANSITIONS} == set(Mode)


def test_states_are_driving_silent_or_stopping():
    assert set(Mode) == {*DRIVING, *SILENT, Mode.STOPPING}
    assert not set(DRIVING) & set(SILENT)
    assert set(SENDING) == set(Mode) - set(SILENT)


@pytest.mark.parametrize("mode", sorted(DRIVING, key=lambda m: m.value))
def test_nothing_that_drives_falls_silent_without_a_stop(mode):
    assert all(target not in SILENT for source, _, target in TRANSITIONS if source is mode)


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(rewritten(), encoding="utf-8")
