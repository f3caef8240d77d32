"""A new quantity is a kernel and its declaration: plain function, batches, `bind` and `c_function` come from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics import bound
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics import quantities
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm, arm_of
from rne_dynamics.dynamics.declared.quantity import N, Quantity
from rne_dynamics.dynamics.quantities import QUANTITIES, batched
from rne_dynamics.errors import ArgumentError

PUMA = rne.load_urdf("puma560")


@kernel
def doubled_kernel(arm: Arm, q: np.ndarray, M: np.ndarray) -> None:
    mass_matrix_kernel(arm, q, M)
    for i in range(M.shape[0]):
        for k in range(M.shape[1]):
            M[i, k] *= 2.0


DOUBLED = Quantity("doubled", doubled_kernel, ("q",), (N, N))


@DOUBLED.public
def doubled(robot: rne.RobotModel, q: ArrayLike) -> np.ndarray:
    """Twice the mass matrix."""
    return DOUBLED.of(robot)(q)


def test_all_forms_come_from_the_declaration():
    q = np.random.default_rng(0).normal(size=(4, 6))
    expected = 2.0 * rne.mass_matrix(PUMA, q)
    assert relative_error(doubled(PUMA, q), expected) < 1e-14
    assert relative_error(doubled(PUMA, q[0]), expected[0]) < 1e-14
    assert relative_error(doubled(PUMA, q=q[0].tolist()), expected[0]) < 1e-14
    out = np.empty((6, 6))
    assert DOUBLED.one(arm_of(PUMA), (), False, q[1], out) == 0
    assert relative_error(out, expected[1]) < 1e-14
    assert doubled.__doc__ == "Twice the mass matrix."


def test_an_entry_in_the_list_gives_bind_batches_and_the_function_of_c(monkeypatch):
    listed = {**QUANTITIES, "doubled": DOUBLED}
    monkeypatch.setattr(quantities, "QUANTITIES", listed)
    monkeypatch.setattr(bound, "QUANTITIES", listed)
    q, out = np.random.default_rng(1).normal(size=(9, 6)), np.empty((6, 6))
    expected = 2.0 * rne.mass_matrix(PUMA, q)
    assert rne.bind(PUMA, "doubled")(q[2], out=out) is out
    assert relative_error(out, expected[2]) < 1e-14
    for engine in ("straight_line", "general"):
        f = rne.bind(PUMA, "doubled", batch=engine)
        assert f.engine == ("general" if processor() is None else engine)
        assert relative_error(f(q), expected) < 1e-12
    if processor() is not None:
        f = rne.c_function(PUMA, "doubled")
        assert f.signature == "int doubled(const double q[6], double out[36])"
        assert f.ctypes(*(np.ctypeslib.as_ctypes(x.reshape(-1)) for x in (q[5], out))) == f.DONE
        assert relative_error(out, expected[5]) < 1e-12


@pytest.mark.parametrize(("given", "options", "error", "said"), [
    ((PUMA, np.zeros(5)), {}, ArgumentError, r"q has shape \(5,\)"),
    ((PUMA, np.full(6, np.nan)), {}, ArgumentError, r"q\[0\] is nan"),
    (("puma560", np.zeros(6)), {}, ArgumentError, "robot is the str 'puma560', not a loaded model; load it first"),
    ((PUMA,), {}, TypeError, "missing 1 required positional argument: 'q'"),
    ((PUMA, np.zeros(6)), {"wrenches": {}}, TypeError, "unexpected keyword argument 'wrenches'"),
])  # fmt: skip
def test_its_errors_are_those_of_every_quantity(given, options, error, said):
    with pytest.raises(error, match=said):
        doubled(*given, **options)


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_declared_quantity_is_a_public_function(name):
    assert getattr(rne, name).__name__ == name


def test_the_reference_pages_have_every_declared_quantity(root):
    compiled, batches = ((root / "docs" / page).read_text(encoding="utf-8") for page in ("compiled.md", "batches.md"))
    for name, quantity in QUANTITIES.items():
        assert f"`{name}({', '.join(quantity.inputs)}, " in compiled, name
        assert f'"{name}"' in (rne.bind.__doc__ or ""), name
        assert f"`{name}`" in compiled, name
    for name in batched():
        assert f"`{name}`" in batches, name
