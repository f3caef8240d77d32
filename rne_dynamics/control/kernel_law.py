"""Laws whose efforts on an open arm one kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rne_dynamics.control.checks import measured
from rne_dynamics.control.control_law import CompiledLaw, on_base
from rne_dynamics.control.reference import Reference, TorqueTerms
from rne_dynamics.control.tracking_law import CompensatesFriction
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


class KernelLaw(CompensatesFriction):
    """A law with `kernel`, `model`, for the base at rest, and `table`, which are those of a `CompiledLaw`."""

    kernel: ClassVar[Callable[..., None]]
    model: Any
    table: Array

    @property
    def compiled(self) -> CompiledLaw | None:
        """As of `ControlLaw`; None of mechanisms, and of subclasses without a kernel, whose law may differ."""
        kernel = vars(type(self)).get("kernel")
        return None if kernel is None or self.robot.loops else CompiledLaw(kernel, self.model, self.table)

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The torque for one control cycle.

        Parameters
        ----------
        q, qd
            Measured position and velocity; shape (n,).
        reference
            Desired motion.
        integral
            ∫e dt from `integrate_error`, shape (n,); None leaves the integral part out.
        posture
            Of a mechanism, positions of all joints of its tree near `q`, shape (nq of the tree,), from where its loops
            are assembled: a loop passes its last one. None starts from the mechanism's own posture, which takes
            longer and always ends on that posture's branch. Not used for an open arm.
        base_motion
            How the base moves now; at rest by default.

        Raises
        ------
        ControlError, ArgumentError
            A wrong shape, or a base motion that is none. NaN in `q` or `qd` is not looked for here: it makes the torque
            NaN, which `EffortLimiter` refuses.
        AssemblyError, SingularPostureError
            Of a mechanism: a measured position where its loops do not close, or where the motors do not hold it.
        """
        n = self.robot.n
        q, qd = measured(q, n, "q"), measured(qd, n, "qd")
        aim = Reference(
            measured(reference.q, n, "reference.q"), measured(reference.qd, n, "reference.qd"),
            measured(reference.qdd, n, "reference.qdd"),
        )
        summed = np.zeros(n) if integral is None else measured(integral, n, "integral")
        if (mechanism := mechanism_of(self.robot)) is not None:
            return self._of_mechanism(mechanism, q, qd, aim, summed, posture, base_motion)
        model, terms = self.model, np.empty((5, n))
        if base_motion is not None:
            model = on_base(model, base_motion.packed(self.robot.gravity))
        self._run(model, self.table, q, qd, aim, summed, terms)
        return TorqueTerms(*terms)

    def _run(self, *arguments: Any) -> None:
        type(self).kernel(*arguments)

    def _of_mechanism(
        self, mechanism: Mechanism, q: Array, qd: Array, aim: Reference, integral: Array, posture: Array | None,
        base_motion: BaseMotion | None,
    ) -> TorqueTerms:
        """The torque of a mechanism with closed loops; `ControlError` from a law for open arms."""
        raise ControlError(
            f"{type(self).__name__} is for open arms: robot {mechanism.name!r} has closed loops; take computed torque"
        )
