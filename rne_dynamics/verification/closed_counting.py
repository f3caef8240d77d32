"""Operations of a mechanism's compiled formulations for one state, counted on the code that runs.

Counted from a closed posture, where assembly is one evaluation of the constraints and one factorisation. Along a branch
every step of Newton's method costs the same again.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import ASSEMBLE, INVERSE, TERMS, States, empty_rows, rows_kernel, run
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.verification.counting import Driven
from rne_dynamics.verification.operations import OperationCounter, Operations
from rne_dynamics.verification.states import bare_states


def count_closed(engine: str, quantity: Driven, mechanism: Mechanism) -> Operations | None:
    """Operations of an engine of `CLOSED_ENGINES` for one state without external loads.

    `None` if it does not compute the quantity, or uses NumPy.
    """
    n = mechanism.n
    if (engine, quantity) == ("cut_loops", "inverse"):
        return _counted(mechanism, INVERSE, OperationCounter())
    if engine != "actuated_coordinates":
        return None
    counter = OperationCounter()
    if quantity == "inverse":  # M q̈ + bias
        return _counted(mechanism, TERMS, counter) + Operations(multiplications=n * n, additions=n * n)
    counter.run(cholesky_solve, counter.array(np.eye(n) + 1e-3), counter.zeros(n), counter.zeros(n))
    return _counted(mechanism, TERMS, counter) + Operations(additions=n)


def _counted(mechanism: Mechanism, task: int, counter: OperationCounter) -> Operations:
    states, packed = bare_states(mechanism, 1, 0), pack(mechanism)
    found = empty_rows(mechanism, 1)
    for array in found:
        array[...] = 0.0
    start = run(mechanism, ASSEMBLE, states.q).postures
    moved = States(start, states.base, states.q, states.qd, states.qdd, np.zeros((1, 0, 6)))
    counter.run(
        rows_kernel, counter.arrays(packed), counter.arrays(workspace(packed)), task, False, counter.arrays(moved),
        counter.arrays(found),
    )  # fmt: skip
    return counter.operations
