"""Replies to a simulator's joint states; a simulation in lock-step waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable

from rne_dynamics.ros.followers import Followers
from rne_dynamics.ros.histogram import Histogram

#: Period at which a time that is not acknowledged is published again, s of the steady clock.
AGAIN = 0.1
#: Longest wait for the first effort between two nodes after its sender has acknowledged that it was sent, s.
ON_THE_WAY = 1.0


class Answers:
    """Answers to the joint states of one simulation.

    In lock-step the next state has to wait:

    - until all `followers` have acknowledged the last one, from the first one on,
    - then for the effort that the last acknowledgements announce,
    - where efforts come from others, for an effort, from the first one on.

    Parameters
    ----------
    patience
        Longest wait in lock-step, s of the steady clock; None where nothing waits.
    followers
        Who acknowledges; None where no clock is published.
    warn
        Logs a text.
    """

    def __init__(self, patience: float | None, followers: Followers | None, warn: Callable[[str], object]) -> None:
        self._patience, self._followers, self._warn = patience, followers, warn
        self.restart()

    def restart(self) -> None:
        """Reset to the state before the first joint state."""
        #: Whether an effort has come since the last joint state, and whether one has come at all.
        self.answered, self.commanded = True, False
        #: Time from a joint state to its effort, s; states whose due answer had not come when the simulation went on;
        #: periods for which it has waited.
        self.latency, self.missed, self.waits = Histogram(), 0, 0
        self._published = self._again_at = self._complete_at = 0.0
        self._waits, self._due = self._patience is not None, False

    def publish(self, stamp: int) -> None:
        """Note that the joint state with this stamp, ns, goes out now."""
        self._published = time.monotonic()
        self._again_at, self._complete_at = self._published + AGAIN, 0.0
        self.answered = False
        if self._followers is not None:
            self._followers.publish(stamp)

    def effort(self) -> bool:
        """Note an effort; whether it is the first one that answers the last joint state."""
        first, self.answered = not self.answered, True
        if first and self.commanded:
            self.latency.add(time.monotonic() - self._published)
        self.commanded, self._waits = True, self._patience is not None
        return first

    def wait(self, sequence: int | None, repeat: Callable[[bool], None]) -> bool:
        """Whether the next joint state has to wait; counts the waits.

        Parameters
        ----------
        sequence
            Publication sequence number of the last effort; None if there is none.
        repeat
            Publishes the time again, and with True the joint state too.
        """
        self._due = self.commanded and not self.answered
        waits = self._patience is not None and self._published > 0.0 and self._unanswered(sequence, repeat)
        self.waits += waits
        return waits

    def leave(self) -> None:
        """Note that the simulation goes on from the last joint state."""
        self.missed += self._due and not self.answered
        self._due = False

    def resume(self) -> None:
        """Note that the simulation was paused until now: the pause does not count as a wait."""
        self._published = self._published and time.monotonic()

    def _unanswered(self, sequence: int | None, repeat: Callable[[bool], None]) -> bool:
        now, followers = time.monotonic(), self._followers
        assert self._patience is not None
        impatient = now - self._published >= self._patience
        if followers is not None:
            followers.take()
            if missing := followers.missing:
                if not impatient:
                    if now >= self._again_at:
                        self._again_at = now + AGAIN
                        repeat(followers.lost)
                    return True
                followers.give_up()
                self._give_up(f"{missing} of {followers.count} nodes in simulated time acknowledged no joint state")
                return False
            if followers.drive:
                awaited = followers.awaited(sequence)
                self._due = bool(awaited) and all(awaited)
                self._complete_at = self._complete_at or now
                if not all(awaited):  # it may have been lost, before DDS had matched the two
                    return now - self._complete_at < ON_THE_WAY
        if not (self._due and self._waits):
            return False
        if impatient:
            self._give_up("no command has come")
        return not impatient

    def _give_up(self, what: str) -> None:
        self._waits = False
        self._warn(
            f"lock-step: {what} for {self._patience:g} s (lockstep_timeout); the simulation goes on without waiting "
            "until that sender is received again"
        )
