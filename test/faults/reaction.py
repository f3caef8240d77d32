"""The failure of a fault: the controller reacted in another way than promised."""

from __future__ import annotations

from rne_dynamics.errors import RneDynamicsError


class ReactionError(RneDynamicsError):
    """The reaction to a fault was not the promised one; the text describes what was observed."""
