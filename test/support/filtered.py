"""States handed to a filter, with what became of each."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.errors import StateError

JOINTS = ("a", "b")
NOW = 1_795_313_092_640_983_600  # ns, a stamp of today
MS = 1_000_000


def limits(velocity=(2.0, 2.0), continuous=(False, True), timeout=0.1, frequency=50.0):
    return StateLimits(np.array(velocity), np.array(continuous), timeout, frequency, JOINTS)


class Stream:
    """Hands states to a filter; times in s since the start."""

    def __init__(self, **given):
        self.filter = StateFilter(limits(**given))
        self.q, self.qd = np.zeros(2), np.zeros(2)

    def state(self, at, q=(0.0, 0.0), qd=(0.0, 0.0), *, stamp=None, missing=False, sequence=None):
        """True for a new time base; `stamp` in s too, that of `at` where None; 0 for none."""
        self.q[:], self.qd[:] = q, qd
        ns = NOW + round((at if stamp is None else stamp) * 1e9) if stamp != 0 else 0
        return self.filter.accept(ns, at, self.q, self.qd, velocity_missing=missing, sequence=sequence)

    def refused(self, *given, **named):
        with pytest.raises(StateError) as caught:
            self.state(*given, **named)
        self.text = str(caught.value)
        return caught.value.problem

    def fate(self, *given, **named):
        """As `state`, or the problem for which it was refused."""
        try:
            return self.state(*given, **named)
        except StateError as error:
            return error.problem

    def alone(self, first, count, step=1e-3):
        """One sender's states with numbers from `first` on, the first one at 0 s."""
        for k in range(count):
            self.state(step * k, sequence=first + k)

    def run(self, begin, end, step=1e-3, **named):
        """States at rest from `begin` on; how many new time bases."""
        return sum(self.state(at, **named) for at in np.arange(begin, end - 1e-9, step))
