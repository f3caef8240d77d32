"""From the actuated joints to all joints of the tree: the posture in which every loop is closed.

A mechanism has several postures for the same actuated joints (elbow up, elbow down). Assembly finds the one on
the branch of the posture from which it starts: a large change of the actuated joints is divided into small steps along
the branch, each closed by Newton's method with a line search.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.arguments import Start
from rne_dynamics.closed_chain.independence import nearest_posture
from rne_dynamics.closed_chain.rows import ASSEMBLE, run
from rne_dynamics.closed_chain.specialised import by_own_code
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


@by_own_code("assemble")
def assemble(mechanism: Mechanism, q: ArrayLike, *, start: Start = None) -> Array:
    """Positions of all joints of the tree for given actuated ones, every loop closed to round-off.

    `q`: positions of the actuated joints, rad or m, shape (…, n). `start`: the posture whose branch is kept: positions
    of all joints of the tree, shape (…, tree n). By default every row starts from the mechanism's posture.
    ``"previous"``: every row starts from the one before, for the rows of a trajectory; about ten times faster. Returns
    positions in the order of `mechanism.robot.joint_names`, shape (…, tree n). Raises AssemblyError: no posture closes
    the loops on this branch; names the loop with the largest closure error, and the error. ArgumentError: wrong shapes,
    NaN or infinity.

    Notes
    -----
    Where redundant constraints contradict each other by less than 1e-5 of the mechanism's length (angles written with
    few digits), the loops are closed in the sense of least squares.
    """
    lead, (rows,) = state_arrays(mechanism, q=q)
    return run(mechanism, ASSEMBLE, rows, start=start, lead=lead).postures.reshape((*lead, mechanism.robot.nq))


def assembled(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with the loops of its posture closed to round-off, its actuated joints where they are.

    Raises AssemblyError: the loops do not close near the posture.
    """
    start, _ = nearest_posture(mechanism, mechanism.posture)
    return mechanism.with_posture(assemble(mechanism, mechanism.neutral, start=start))
