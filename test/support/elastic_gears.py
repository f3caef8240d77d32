"""Motors behind elastic gears with play (Spong 1987): each turns its rotor against a spring that leads to its link.

The motor's own motion counts along its axis only. Friction is the motor's. A step treats damping and friction
implicitly and the spring explicitly, so it must be short against the swinging of a rotor on its gear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.model.inertia import Array

#: Damping of a gear as a part of what is critical for its rotor and what its joint feels.
DAMPING = 0.05


@dataclass(frozen=True, eq=False)
class Gears:
    """Gears and motors of an arm with n joints, arrays of shape (n,).

    Parameters
    ----------
    stiffness, damping
        Of the gears, N·m/rad and N·m·s/rad, or N/m and N·s/m.
    rotor
        Inertia of the motors as felt behind the gears, kg·m² or kg.
    play
        Backlash of all gears, from one flank to the other, rad or m.
    viscous, dry
        Friction of the motors, N·m·s/rad and N·m, or N·s/m and N.
    """

    stiffness: Array
    damping: Array
    rotor: Array
    play: float
    viscous: Array
    dry: Array

    @classmethod
    def swinging(
        cls, inertia: Array, frequency: float, rotor: float, play: float, viscous: Array, dry: Array
    ) -> Gears:
        """Gears on which the arm swings, with its motors held, at `frequency` at the slowest, Hz.

        Parameters
        ----------
        inertia
            Of the arm, (n, n); `rotor` is a part of its diagonal.
        play, viscous, dry
            As for `Gears`.
        """
        own = np.diag(inertia)
        slowest = float(eigh(np.diag(own), inertia, eigvals_only=True)[0])
        stiffness = (2.0 * np.pi * frequency) ** 2 / slowest * own
        felt, rotors = 1.0 / np.diag(np.linalg.inv(inertia)), rotor * own
        damping = 2.0 * DAMPING * np.sqrt(stiffness * rotors * felt / (rotors + felt))
        return cls(stiffness, damping, rotors, play, viscous, dry)


class Motors:
    """Turn of the motors of an arm with elastic gears.

    Parameters
    ----------
    gears
        What they turn against.
    q
        Joint positions at the start, rad or m; shape (n,).
    torque
        Which the gears transmit there, N·m or N; shape (n,).
    """

    def __init__(self, gears: Gears, q: Array, torque: Array) -> None:
        self.gears = gears
        self._table = np.stack([gears.stiffness, gears.damping, gears.rotor, gears.viscous, gears.dry])
        #: Position and velocity of the motors as the joints see them, rad or m, rad/s or m/s; shape (n,). They change
        #: in place.
        self.position = q + torque / gears.stiffness + 0.5 * np.sign(torque) * gears.play
        self.velocity = np.zeros(len(q))

    def turn(self, dt: float, effort: Array, q: Array, qd: Array) -> Array:
        """Take a step of `dt`, s; the torques on the links in it, N·m or N; shape (n,).

        Parameters
        ----------
        effort
            Of the motors, N·m or N; shape (n,).
        q, qd
            Of the links, rad or m and rad/s or m/s; shape (n,).
        """
        torque = np.array(effort)
        _turn(self._table, self.gears.play, dt, q, qd, self.position, self.velocity, torque)
        return torque


@kernel
def _turn(
    table: Array, play: float, dt: float, q: Array, qd: Array, position: Array, velocity: Array, torque: Array
) -> None:
    """As `Motors.turn`; `torque` holds the efforts of the motors at first."""
    for j in range(q.shape[0]):
        stiffness, damping, rotor, viscous, dry = table[0, j], table[1, j], table[2, j], table[3, j], table[4, j]
        twist = position[j] - q[j]
        stretch = max(twist - 0.5 * play, 0.0) + min(twist + 0.5 * play, 0.0)
        if stretch == 0.0:
            damping = 0.0
        resistance = rotor + dt * (viscous + damping)
        free = (rotor * velocity[j] + dt * (torque[j] - stiffness * stretch + damping * qd[j])) / resistance
        slowed = dt * dry / resistance
        velocity[j] = max(free - slowed, 0.0) + min(free + slowed, 0.0)
        position[j] += dt * velocity[j]
        torque[j] = stiffness * stretch + damping * (velocity[j] - qd[j])
