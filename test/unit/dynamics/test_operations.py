from __future__ import annotations

import numpy as np
import pytest
from operation_counter import Operations
from operation_counts import sparse_solve_operations
from support.arms import chain, gripper
from support.robots import robot

from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.model.dice import random_configuration


def eliminated(model, q) -> Operations:
    """Gaussian elimination by hand down the diagonal of the same matrix, every operation on a nonzero counted."""
    system = MaximalSystem.of(model)
    blocks = system.blocks(model.base_at_rest, q, np.zeros(model.n), np.empty((0, 6)))
    A = system.matrix(blocks.transfer).toarray()
    rest = [set(np.flatnonzero(row)) for row in A]
    multiplications = additions = divisions = 0
    for k in range(len(A)):
        right = rest[k] - set(range(k + 1))
        below = [i for i in range(k + 1, len(A)) if k in rest[i]]
        divisions += 1
        multiplications += len(below) + len(below) * len(right)
        additions += len(below) * len(right)
        for i in below:
            rest[i] |= right
        # the triangular solves meet each entry of both factors once, and every pivot
        multiplications += len(below) + len(right)
        additions += len(below) + len(right)
        divisions += 1
    return Operations(multiplications, additions, divisions)


@pytest.mark.parametrize("model", [chain(3), gripper()], ids=lambda m: m.name)
def test_the_count_is_that_of_elimination_by_hand(model):
    q = random_configuration(model, np.random.default_rng(0))
    counted, by_hand = sparse_solve_operations(model, q), eliminated(model, q)
    assert counted.divisions == by_hand.divisions
    # where numbers cancel to an exact zero, the factors keep no place for them
    assert by_hand.multiplications * 0.95 < counted.multiplications <= by_hand.multiplications
    assert by_hand.additions * 0.95 < counted.additions <= by_hand.additions


def test_the_cost_grows_in_step_with_the_bodies():
    rng = np.random.default_rng(1)
    counts = [sparse_solve_operations(chain(n), rng.uniform(-1.0, 1.0, n)).multiplications for n in (20, 40, 60)]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)


def test_refinement_costs_one_residual_and_one_more_solve():
    model = robot("puma560")
    q = random_configuration(model, np.random.default_rng(2))
    plain, refined = sparse_solve_operations(model, q), sparse_solve_operations(model, q, refined=True)
    assert refined.divisions == plain.divisions + 78
    assert refined.additions - plain.additions == refined.multiplications - plain.multiplications + 78
