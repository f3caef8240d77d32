"""Machine code on disk: damaged files are not used; a disk that cannot be written causes one warning."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.compiling import native, store
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.straight_line import machine_code
from rne_dynamics.straight_line.batch_code import BATCH
from rne_dynamics.straight_line.batch_ir import module_text
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.state_code import STATE
from rne_dynamics.straight_line.trace import trace

pytestmark = pytest.mark.skipif(processor() is None, reason="nothing is compiled here")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    return tmp_path


def keep_in(folder, monkeypatch) -> None:
    monkeypatch.setattr(store, "_places", lambda: ((folder, ""),))
    monkeypatch.setattr(store, "target", lambda: folder)


def recipe(robot, quantity: str = "inverse_dynamics"):
    return QUANTITIES[quantity].recipe(robot)


def check(robot) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(10, robot.n)) for _ in range(3)]
    found = rne.bind_batch(robot, "inverse_dynamics")(*rows)
    assert relative_error(found, rne.inverse_dynamics(robot, *rows)) < 1e-11


def test_compiled_once_and_then_read(folder, monkeypatch):
    check(chain(2))
    assert len(list(folder.glob("straight_line-*"))) == 1
    monkeypatch.setattr(native, "object_code", lambda *_, **__: pytest.fail("compiled again"))
    check(chain(2))


@pytest.mark.parametrize("harm", ["cut", "turned", "exchanged"])
def test_a_file_that_is_not_what_was_written_is_compiled_again(folder, harm):
    check(chain(2))
    (path,) = folder.glob("straight_line-*")
    content = path.read_bytes()
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "turned":
        path.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    else:
        check(chain(3))
        (other,) = (p for p in folder.glob("straight_line-*") if p != path)
        path.write_bytes(other.read_bytes())
    check(chain(2))
    assert path.read_bytes() == content


def test_code_that_computes_something_else_is_not_used(folder, monkeypatch):
    target = processor()
    text = module_text(trace(recipe(chain(2, rotor=1.0))), target)
    other = native.object_code(text, target, optimised=False)
    monkeypatch.setattr(native, "object_code", lambda *_, **__: other)
    with pytest.warns(RuntimeWarning, match="of robot 'chain2' differs from its kernel"):
        f = rne.bind_batch(chain(2), "inverse_dynamics")
    assert f.engine == "general"


def test_long_code_is_made_where_it_is_asked_for_and_then_used_by_plain_functions(folder, monkeypatch):
    monkeypatch.setattr(machine_code, "QUICK", 10)
    vectors = np.zeros((3, 2))

    def used() -> bool:
        robot = chain(2).with_own_code()
        rne.inverse_dynamics(robot, *vectors)
        return QUANTITIES["inverse_dynamics"].call_code(robot) is not None

    assert not used()
    assert len(list(folder.glob("straight_line-*-above-10.code"))) == 1
    monkeypatch.setattr(machine_code, "trace", lambda *_: pytest.fail("traced again"))
    assert not used()
    monkeypatch.setattr(machine_code, "trace", trace)
    robot = chain(2).with_own_code()
    assert QUANTITIES["inverse_dynamics"].call_code(robot) is None
    rne.bind(robot, "inverse_dynamics")
    assert QUANTITIES["inverse_dynamics"].call_code(robot) is not None
    assert used()


def test_what_nobody_used_for_long_is_deleted(folder):
    check(chain(2))
    (first,) = folder.glob("straight_line-*")
    old = time.time() - store.KEPT - 10.0
    os.utime(first, (old, old))
    check(chain(2))  # used again
    assert first.stat().st_mtime > old + 10.0
    os.utime(first, (old, old))
    check(chain(3))
    assert first not in list(folder.iterdir())


def test_another_processor_or_other_numbers_are_another_file(folder):
    target = processor()
    robot = chain(2)
    payload = rne.with_payload(robot, rne.Payload("link2", 1.0))
    keys = {
        machine_code.key(recipe(robot, "inverse_dynamics"), BATCH, target),
        machine_code.key(recipe(robot, "inverse_dynamics"), STATE, target),
        machine_code.key(recipe(robot, "bias_torque"), BATCH, target),
        machine_code.key(recipe(payload, "inverse_dynamics"), BATCH, target),
        machine_code.key(recipe(robot, "inverse_dynamics"), BATCH, replace(target, name="another")),
        machine_code.key(recipe(robot, "inverse_dynamics"), BATCH, replace(target, features="+fma")),
    }
    assert len(keys) == 6


def scaled(factor):
    """A kernel that calls a helper."""

    def helper(x):
        return factor * x

    def kernel(rows, out):
        for b in range(rows.shape[0]):
            for k in range(rows.shape[1]):
                out[b, k] = helper(rows[b, k])

    kernel.__module__ = helper.__module__ = "rne_dynamics.dynamics.made_up"
    return kernel


def test_an_edit_of_a_helper_is_another_file():
    def of(kernel):
        made = Recipe("scaled", "robot", kernel, (), (np.ones(2),), (2,))
        return machine_code.key(made, STATE, processor())

    assert of(scaled(2.0)) == of(scaled(2.0))
    assert of(scaled(2.0)) != of(scaled(3.0))


def test_no_folder_at_all(monkeypatch):
    monkeypatch.setattr(store, "_places", lambda: ())
    monkeypatch.setattr(store, "target", lambda: None)
    check(chain(2))
