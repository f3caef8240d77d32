"""Operations of flexible arms, counted on the code that runs, compared with the report's figures."""

from __future__ import annotations

import numpy as np
import pytest
from support.flexible_counting import (
    QUOTED_MULTIPLICATIONS,
    QUOTED_RATIO,
    RIGID_JOINTS,
    WALKER_MULTIPLICATIONS,
    count_flexible,
    counted_arms,
    flexible_chain,
    published_flexible,
    rigid,
)

from rne_dynamics.errors import ArgumentError
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.packed import pack
from rne_dynamics.flexible.remaining import flexible_terms_kernel
from rne_dynamics.verification.operations import OperationCounter


def test_the_reports_formulas_as_scanned():
    found = published_flexible(6, 2, 3)
    assert (found.multiplications, found.additions) == (11_361, 11_273)
    assert found.multiplications / WALKER_MULTIPLICATIONS == pytest.approx(2.53, abs=0.005)
    assert pytest.approx(QUOTED_MULTIPLICATIONS / WALKER_MULTIPLICATIONS, abs=0.005) == QUOTED_RATIO


def test_the_parts_are_what_the_whole_kernel_does_and_it_computes_the_same():
    arm = flexible_chain(3, 2, 2)
    rng = np.random.default_rng(1)
    z, zd = rng.normal(size=(2, arm.nz))
    counter, packed = OperationCounter(), pack(arm)
    J, bias = counter.zeros(arm.nz, arm.nz), counter.zeros(arm.nz)
    floats = {k: counter.array(v) for k, v in packed._asdict().items() if getattr(v, "dtype", None) == np.float64}
    counter.run(
        flexible_terms_kernel, packed._replace(**floats),
        counter.array(arm.robot.base_at_rest), counter.array(z), counter.array(zd), counter.zeros(0, 6), J, bias,
    )  # fmt: skip
    assert counter.operations == count_flexible(arm).equations
    expected = equations_of_motion(arm, z[:3], z[3:], zd[:3], zd[3:])
    np.testing.assert_allclose(J.astype(float), expected.J, atol=1e-13 * np.abs(expected.J).max())
    np.testing.assert_allclose(bias.astype(float), expected.bias, atol=1e-13 * np.abs(expected.bias).max())


def test_the_figures_that_the_documentation_gives():
    arm = counted_arms([(6, 2, 3)])[0]
    equations, forward = arm.counted.equations, arm.counted.forward
    assert (equations.multiplications, equations.additions) == (6_051, 5_006)
    assert (forward.multiplications, forward.additions) == (6_481, 5_436)
    assert (arm.rigid.multiplications, rigid(RIGID_JOINTS).multiplications) == (5_555, 13_397)
    assert arm.ratio == pytest.approx(1.17, abs=0.005)


def test_orthogonal_shapes_leave_out_what_is_zero_and_nothing_else():
    """The shortcut of section 6: only C_ikk. The same equations with fewer operations."""
    arm = counted_arms([(6, 2, 3)], orthogonal=True)[0]
    assert (arm.counted.equations.multiplications, arm.counted.equations.additions) == (5_721, 4_736)
    assert arm.ratio == pytest.approx(1.11, abs=0.005)
    chain = flexible_chain(6, 2, 3, orthogonal=True)
    packed, rng = pack(chain), np.random.default_rng(0)
    np.testing.assert_array_equal(packed.coupled, np.tile(np.eye(3, dtype=np.int64), (2, 1)))
    z, zd = rng.normal(size=(2, chain.nz)) * np.r_[np.ones(6), np.full(6, 1e-3)]
    found = []
    for coupled in (packed.coupled, np.ones_like(packed.coupled)):
        J, bias = np.empty((chain.nz, chain.nz)), np.empty(chain.nz)
        arrays, base = packed._replace(coupled=coupled), chain.robot.base_at_rest
        flexible_terms_kernel(arrays, base, z, zd, np.zeros((0, 6)), J, bias)
        found.append((J, bias))
    for shortcut, full in zip(*found, strict=True):
        np.testing.assert_allclose(shortcut, full, rtol=0.0, atol=1e-13 * np.abs(full).max())


def test_stiffening_counts_too():
    arm = flexible_chain(6, 2, 3)
    assert count_flexible(arm).equations.multiplications == 7_617
    assert count_flexible(arm, stiffening=False).equations.multiplications == 6_051


def test_fewer_than_the_report_and_more_than_a_rigid_chain_of_as_many_coordinates():
    for arm in counted_arms([(2, 1, 1), (4, 2, 2), (6, 3, 3)]):
        assert arm.counted.equations.multiplications < arm.published.multiplications
        assert arm.counted.equations.additions < arm.published.additions
        assert arm.ratio > 1.0


def test_counts_are_quadratic_in_the_number_of_modes():
    """As the report's are: every pair of modes of a link has its integral."""
    counts = [count_flexible(flexible_chain(2, 1, m), stiffening=False).equations.total for m in (1, 2, 3, 4)]
    assert len(set(np.diff(counts, 2))) == 1


@pytest.mark.parametrize("size", [(2, 0, 1), (2, 3, 1), (2, 1, 0)])
def test_sizes_that_are_none(size):
    with pytest.raises(ArgumentError, match="at least one flexible link"):
        flexible_chain(*size)
