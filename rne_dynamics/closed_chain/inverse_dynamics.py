"""Inverse dynamics of a mechanism, as document 002 does it: cut the loops, and find the forces at the cuts.

The open tree's recursion gives the efforts τ that the motion would take with the loops cut. Passive joints carry none,
so the forces λ at the cuts must take theirs over,

    K_pᵀ λ = τ_p,

K_p the passive columns of the constraints' Jacobian. λ acts at each cut on link B and reversed on link A; with these
forces as external loads the recursion is run again and its efforts are the actuators'. Where constraints are redundant
(a planar linkage modelled in space) the undetermined parts of λ (the paper's F_z, N_x, N_y) are chosen least in
norm, moments counted in forces times the mechanism's length. Where the actuated joints are no coordinates (idle
freedoms, more motors than freedoms), `tree_dynamics.py` has the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.constraints import FORCE_ON_B, MOMENT_ON_B, PLACE_OF_B, TURN_OF_B
from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.rows import INVERSE, run
from rne_dynamics.closed_chain.specialised import by_own_code
from rne_dynamics.closed_chain.tree_dynamics import tree_inverse
from rne_dynamics.dynamics.declared.arguments import Wrenches, as_floats, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.newton_euler.joint_reactions import JointReactions, joint_reactions
from rne_dynamics.errors import index_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.loop import LoopFrame
from rne_dynamics.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class ClosedInverse:
    """Efforts of the actuated joints, and the forces at the cuts."""

    #: The mechanism.
    mechanism: Mechanism
    #: Efforts of the actuated joints, N·m or N; shape (…, n).
    torque: Array
    #: Motion of all joints of the tree, shape (…, tree n).
    q: Array
    qd: Array
    qdd: Array
    #: What the second recursion leaves for the passive joints, shape (…, passive), in the order of `passive_names`:
    #: round-off, unless redundant constraints contradict each other.
    passive_torque: Array
    #: Of every loop (force, moment) on B at B's origin, then B's placement (R, p), all in A's axes; shape (…, loops,
    #: CUT_COLUMNS).
    cuts: Array = field(repr=False)
    wrenches: Wrenches = field(repr=False)
    base_motion: BaseMotion | None = field(repr=False)

    @property
    def cut_forces(self) -> Array:
        """(force, moment) that A exerts on B at every cut, at B's origin in A's axes, N, N·m; shape (…, loops, 6)."""
        return np.asarray(self.cuts[..., FORCE_ON_B:TURN_OF_B])

    def cut_force(self, loop: str) -> Array:
        """`cut_forces` of the loop of that name, shape (…, 6); `ModelError` for an unknown one."""
        names = [x.name for x in self.mechanism.loops]
        return np.asarray(self.cut_forces[..., index_of(loop, names, "loop", f"mechanism {self.mechanism.name!r}"), :])

    @cached_property
    def reactions(self) -> JointReactions:
        """Reactions of every joint of the tree, fixed and passive ones included, the loops closed."""
        loads: dict[str, Array] = {link: as_floats(link, value) for link, value in self.wrenches.items()}
        for k, loop in enumerate(self.mechanism.loops):
            cut = self.cuts[..., k, :]
            R = cut[..., TURN_OF_B:PLACE_OF_B].reshape(*cut.shape[:-1], 3, 3)
            force, moment, place = cut[..., :3], cut[..., MOMENT_ON_B:TURN_OF_B], cut[..., PLACE_OF_B:]
            turned = np.einsum("...ji,...j->...i", R, force), np.einsum("...ji,...j->...i", R, moment)
            for frame, on_it in (
                (loop.b, _at_link(loop.b, *turned)),
                (loop.a, -_at_link(loop.a, force, moment + np.cross(place, force))),
            ):
                loads[frame.link] = loads[frame.link] + on_it if frame.link in loads else on_it
        return joint_reactions(
            self.mechanism.robot, self.q, self.qd, self.qdd, wrenches=loads, base_motion=self.base_motion
        )


def _at_link(frame: LoopFrame, force: Array, moment: Array) -> Array:
    """A wrench at a loop frame's origin in its axes, moved to its link's frame."""
    there = force @ frame.rotation.T
    return np.concatenate([there, moment @ frame.rotation.T + np.cross(frame.position, there)], axis=-1)


def closed_inverse(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ClosedInverse:
    """Inverse dynamics with its intermediate results: the forces at the cuts, the reactions of all joints.

    Parameters and errors as for `closed_inverse_dynamics`.
    """
    lead, (positions, velocities, accelerations) = state_arrays(mechanism, q=q, qd=qd, qdd=qdd)
    robot = mechanism.robot
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    if generic_rank(mechanism).coordinates:
        rows = run(mechanism, INVERSE, positions, velocities, accelerations, base=base, wrenches=loads)
    else:
        rows = tree_inverse(mechanism, base, assemble(mechanism, positions), velocities, accelerations, loads)
    shape = (*lead, robot.n)
    return ClosedInverse(
        mechanism=mechanism,
        torque=rows.tau[:, mechanism.actuated].reshape((*lead, mechanism.n)),
        q=rows.postures.reshape(shape),
        qd=rows.velocity.reshape(shape),
        qdd=rows.acceleration.reshape(shape),
        passive_torque=rows.tau[:, mechanism.passive].reshape((*lead, len(mechanism.passive))),
        cuts=rows.cuts.reshape((*lead, *rows.cuts.shape[1:])),
        wrenches=dict(wrenches or {}),
        base_motion=base_motion,
    )


@by_own_code("inverse_dynamics")
def closed_inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Efforts of the actuated joints that give their accelerations `qdd`, the passive joints being free.

    As `rne_dynamics.inverse_dynamics`, on the branch of the mechanism's posture. Of more motors than freedoms: the
    efforts nearest to `Mechanism.preload` in the metric of `Mechanism.effort_weights`. Idle freedoms move as they must.
    """
    return closed_inverse(mechanism, q, qd, qdd, wrenches=wrenches, base_motion=base_motion).torque
