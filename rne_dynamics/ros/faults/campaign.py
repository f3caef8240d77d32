"""All faults, and how they are run: several controllers beside each other, one fault after the other on each."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType

import rclpy
from rclpy.context import Context

from rne_dynamics.errors import ArgumentError, RneDynamicsError
from rne_dynamics.ros.faults import arms, clocks, joint_states, processes, trajectories, wishes
from rne_dynamics.ros.faults.fault import Fault
from rne_dynamics.ros.faults.rig import Rig

#: Every fault, grouped by kind.
FAULTS: tuple[Fault, ...] = (
    *joint_states.FAULTS, *clocks.FAULTS, *trajectories.FAULTS, *arms.FAULTS, *wishes.PARAMETERS, *wishes.WISHES,
    *processes.FAULTS,
)
#: Controllers that run beside each other.
WORKERS = 3


@dataclass(frozen=True)
class Result:
    """How the controller reacted to a fault.

    Parameters
    ----------
    fault
        The fault.
    failure
        What was seen instead of the reaction that is promised; empty where that was seen.
    efforts
        How many efforts were judged.
    seconds
        How long it took.
    """

    fault: Fault
    failure: str
    efforts: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the reaction was the one that is promised."""
        return not self.failure


def chosen(words: Sequence[str]) -> tuple[Fault, ...]:
    """The faults with these names or of these kinds, all where there are no words.

    Raises
    ------
    ArgumentError
        A word that is neither; the message lists the kinds and the names that resemble it.
    """
    for word in words:
        if not any(word in (f.name, f.kind) for f in FAULTS):
            near = ", ".join(f.name for f in FAULTS if word in f.name) or "see rne faults --list"
            kinds = ", ".join(dict.fromkeys(f.kind for f in FAULTS))
            raise ArgumentError(f"no fault or kind is called {word!r}; kinds: {kinds}; names that have it: {near}")
    return tuple(f for f in FAULTS if not words or f.name in words or f.kind in words)


class Campaign:
    """Runs faults in the background, in threads of this process with a controller process each.

    Faults that leave the controller alive share one; after a failure a new one is started, so that one failure is not
    the cause of others. Leaving the context ends everything.

    Parameters
    ----------
    faults
        What to run.
    workers
        How many controllers run beside each other.
    """

    def __init__(self, faults: Iterable[Fault], workers: int = WORKERS) -> None:
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        given = tuple(faults)
        self.results: Mapping[str, Future[Result]] = {fault.name: Future() for fault in given}
        self._alone = deque(f for f in given if f.own)
        self._shared = deque(f for f in given if not f.own)
        self._halt, self._warm = threading.Event(), threading.Event()
        self._first = threading.Lock()
        self._context = Context()
        rclpy.init(context=self._context)
        count = max(1, min(workers, len(given)))
        self._threads = [
            threading.Thread(target=self._work, args=(number == 0,), name=f"faults {number}") for number in range(count)
        ]

    def __enter__(self) -> Campaign:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._halt.set()
        for thread in self._threads:
            thread.join()
        rclpy.try_shutdown(context=self._context)

    def _next(self, alone_first: bool) -> Fault | None:
        queues = (self._alone, self._shared) if alone_first else (self._shared, self._alone)
        for queue in queues:
            try:
                return queue.popleft()
            except IndexError:
                continue
        return None

    def _work(self, alone_first: bool) -> None:
        """Run faults until there are none left."""
        shared: Rig | None = None
        try:
            while not self._halt.is_set() and (fault := self._next(alone_first)) is not None:
                if fault.own:
                    self._run(fault, None)
                    continue
                shared = self._run(fault, shared)
        finally:
            if shared is not None:
                shared.close()

    def _run(self, fault: Fault, rig: Rig | None) -> Rig | None:
        """Run one fault; the controller if it is fit for more."""
        began, failure = time.monotonic(), ""
        try:
            if rig is None:
                rig = self._started(fault)
            rig.begin(fault)
            fault.inject(rig)
            rig.end(fault)
        except RneDynamicsError as error:
            failure = str(error)
            if rig is not None:
                failure = "; ".join(dict.fromkeys((failure, *rig.broken())))
        except Exception as error:
            self.results[fault.name].set_exception(error)
            raise
        finally:
            efforts = len(rig.driver.heard) if rig is not None else 0
            if rig is not None and (failure or fault.own or self._halt.is_set()):
                rig.close()
                rig = None
        self.results[fault.name].set_result(Result(fault, failure, efforts, time.monotonic() - began))
        return rig

    def _started(self, fault: Fault) -> Rig:
        """A controller for a fault; the very first one alone, since it may have to compile kernels for all."""
        if self._warm.is_set():
            return Rig(self._context, fault.start, self._halt.is_set)
        with self._first:
            rig = Rig(self._context, fault.start, self._halt.is_set)
            if fault.before != "unconfigured" and not self._warm.is_set():
                rig.configure()
                self._warm.set()
            return rig


def run(
    faults: Sequence[Fault], told: Callable[[Result], None], workers: int = WORKERS
) -> tuple[Result, ...]:
    """Run faults; `told` hears each result as it comes. The results are in the order of `faults`."""
    with Campaign(faults, workers) as campaign:
        waiting = dict(campaign.results)
        while waiting:
            for name in [name for name, future in waiting.items() if future.done()]:
                told(waiting.pop(name).result())
            time.sleep(0.05)
        return tuple(campaign.results[fault.name].result() for fault in faults)
