"""Operations of flexible arms, counted on the code that runs, compared with the report's figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from comparison.generated import chain
from operation_counter import OperationCounter, Operations
from operation_counts import count_operations

from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.inertia import flexible_terms_kernel, masses, put_bias, put_inertia
from rne_dynamics.flexible.motion import motions
from rne_dynamics.flexible.packed import pack
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam, Shapes
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.tree import TreeLink
from rne_dynamics.spatial.cholesky import cholesky_solve

#: Quoted by document 003, section 6, for its example: 6 joints, two flexible links with three modes each.
QUOTED_MULTIPLICATIONS = 12_009
#: Quoted for Walker and Orin's method 3 on a rigid arm with as many coordinates, 12, and the ratio of the two.
WALKER_MULTIPLICATIONS = 4_491
QUOTED_RATIO = 2.67
#: Rigid joints, 15 imaginary and 6 real, for which it expects as many multiplications with Walker's method.
RIGID_JOINTS = 21


def published_flexible(n: int, nf: int, m: int) -> Operations:
    """Operations that document 003, section 6, gives for J and R: n joints, nf flexible links with m modes each.

    The formulas as scanned. For its own example, (6, 2, 3), that of the multiplications gives 11,361, not the 12,009
    that the text quotes. They are meant for a flexible first and a rigid last link and modal integrals of any kind.
    """
    multiplications = (
        6 * nf**2 * m**2 + 17.5 * nf * m**2 + 118 * nf**2 * m + 74 * n * nf * m + 137.5 * nf * m
        + 84 * n**2 + 86 * n * nf + 279 * n + 126 * nf - 57
    )  # fmt: skip
    additions = (
        6.5 * nf**2 * m**2 + 19 * nf * m**2 + 115.5 * nf**2 * m + 68 * n * nf * m + 123 * nf * m
        + 85 * n**2 + 80 * n * nf + 329 * n + 111 * nf - 91
    )  # fmt: skip
    return Operations(multiplications=round(multiplications), additions=round(additions))


class FlexibleOperations(NamedTuple):
    """Operations for one state: kinematics, J and R, and the solution of J z̈ = R by Cholesky's method."""

    motion: Operations
    inertia: Operations
    remaining: Operations
    solution: Operations

    @property
    def equations(self) -> Operations:
        """J and R."""
        return self.motion + self.inertia + self.remaining

    @property
    def forward(self) -> Operations:
        """J, R and the accelerations."""
        return self.equations + self.solution


def count_flexible(arm: FlexibleArm, *, stiffening: bool = True) -> FlexibleOperations:
    """Operations for one state without external loads.

    They depend on the tree, the kinds of joints, the numbers of modes, on which of them have orthogonal shapes, and on
    whether a link has stiffening; on no other number.

    `stiffening`: False leaves out stiffening, as document 003 does.
    """
    rng, counter, exact = np.random.default_rng(0), OperationCounter(), pack(arm)
    if not stiffening:
        exact = exact._replace(
            bend=0.0 * exact.bend, shortening=0.0 * exact.shortening, turned=0 * exact.turned, stiffened=False,
            nonlinear=exact.nonlinear[:, :0],
        )
    packed = counter.arrays(exact)
    z, zd = counter.array(0.1 * rng.normal(size=arm.nz)), counter.array(rng.normal(size=arm.nz))
    J, bias, base = counter.zeros(arm.nz, arm.nz), counter.zeros(arm.nz), counter.array(arm.robot.base_at_rest)

    def counted(kernel: Callable[..., Any], *arguments: Any) -> tuple[Any, Operations]:
        before = replace(counter.operations)
        found = counter.run(kernel, *arguments)
        return found, counter.operations - before

    # in the order of `flexible_terms_kernel`, then the solution of `flexible_forward_dynamics`
    X, motion = counted(motions, packed, base, z, zd, None)
    (G, D), modal = counted(masses, packed, z)
    _, remaining = counted(put_bias, packed, X, G, D, z, zd, None, counter.zeros(0, 6), bias)
    _, inertia = counted(put_inertia, packed, X, G, D, J)
    _, solution = counted(cholesky_solve, J, bias, counter.zeros(arm.nz))
    return FlexibleOperations(motion, modal + inertia, remaining, solution + Operations(additions=arm.nz))


def rigid(n: int) -> Operations:
    """Forward dynamics of a rigid chain of n revolute joints by composite bodies and Cholesky's method, counted."""
    operations = count_operations("walker_orin", "forward", chain(n))
    assert operations is not None
    return operations


def flexible_chain(n: int, nf: int, m: int, *, orthogonal: bool = False) -> FlexibleArm:
    """A serial chain of n revolute joints whose first nf links are beams with m modes each.

    In general every pair of modes of a link has its integral C_ikl; document 003, section 6, names the case where the
    shape functions are orthogonal, so that only C_ikk is left.

    `n`, `nf`, `m`: joints, flexible links, modes of each. `orthogonal`: bending in one plane with the eigenfunctions of
    the cantilever, which are orthogonal. Powers of x in both planes otherwise, which are not.
    """
    robot = chain(n)
    one = np.ones(1)
    modes = (m, 0, 0) if orthogonal else ((m + 1) // 2, m // 2, 0)
    shapes: Shapes = "clamped_free" if orthogonal else "polynomial"
    modal = tuple(
        modal_link(Beam(f"link{k}", 0.1, one, EI_y=one, EI_z=one, modes=modes, shapes=shapes)) for k in range(nf)
    )
    beams = {link.link: link.inertia for link in modal}
    links = tuple(
        TreeLink(x.name, x.inertia + beams[x.name]) if x.inertia and x.name in beams else x for x in robot.tree.links
    )
    return FlexibleArm(assemble(replace(robot.tree, links=links)), modal)


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
    counted = count_flexible(flexible_chain(6, 2, 3), stiffening=False)
    equations, forward = counted.equations, counted.forward
    assert (equations.multiplications, equations.additions) == (6_051, 5_006)
    assert (forward.multiplications, forward.additions) == (6_481, 5_436)
    assert (rigid(12).multiplications, rigid(RIGID_JOINTS).multiplications) == (5_555, 13_397)
    assert forward.multiplications / 5_555 == pytest.approx(1.17, abs=0.005)
    assert count_flexible(flexible_chain(6, 2, 3)).equations.multiplications == 7_617  # with stiffening


def test_orthogonal_shapes_leave_out_what_is_zero_and_nothing_else():
    """The shortcut of section 6: only C_ikk. The same equations with fewer operations."""
    chain = flexible_chain(6, 2, 3, orthogonal=True)
    counted = count_flexible(chain, stiffening=False)
    assert (counted.equations.multiplications, counted.equations.additions) == (5_721, 4_736)
    assert counted.forward.multiplications / rigid(12).multiplications == pytest.approx(1.11, abs=0.005)
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


def test_fewer_than_the_report_and_more_than_a_rigid_chain_of_as_many_coordinates():
    for n, nf, m in ((2, 1, 1), (4, 2, 2), (6, 3, 3)):
        counted, published = count_flexible(flexible_chain(n, nf, m), stiffening=False), published_flexible(n, nf, m)
        assert counted.equations.multiplications < published.multiplications
        assert counted.equations.additions < published.additions
        assert counted.forward.multiplications > rigid(n + nf * m).multiplications


def test_counts_are_quadratic_in_the_number_of_modes():
    """As the report's are: every pair of modes of a link has its integral."""
    counts = [count_flexible(flexible_chain(2, 1, m), stiffening=False).equations.total for m in (1, 2, 3, 4)]
    assert len(set(np.diff(counts, 2))) == 1
