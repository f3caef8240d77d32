"""All faults, and how they are run: several controllers in parallel, one fault after the other on each."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from types import TracebackType

import rclpy
from faults.arm import COMPUTED_TORQUE
from faults.fault import Fault
from faults.fault_run import FaultRun
from faults.kinds import FAULTS
from faults.rig import Rig
from faults.robots import arm_named

from rne_dynamics.control.laws import find_law, law_names
from rne_dynamics.errors import ArgumentError, RneDynamicsError
from rne_dynamics.ros.node.command_line import own_context

#: In place of the name of an arm or a law: every one.
ALL = "all"
#: Controllers that run in parallel.
WORKERS = 3


@dataclass(frozen=True)
class Result:
    """The reaction of a controller to a fault.

    Parameters
    ----------
    fault
        The fault.
    failure
        What was observed instead of the promised reaction; empty where that was observed.
    efforts
        Number of efforts that were checked.
    seconds
        Duration, s.
    """

    fault: Fault
    failure: str
    efforts: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the promised reaction was observed."""
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
            near = ", ".join(f.name for f in FAULTS if word in f.name) or "see --list"
            kinds = ", ".join(dict.fromkeys(f.kind for f in FAULTS))
            raise ArgumentError(f"no fault or kind is called {word!r}; kinds: {kinds}; names that have it: {near}")
    return tuple(f for f in FAULTS if not words or f.name in words or f.kind in words)


def tried(faults: Iterable[Fault], arm: str = "", law: str = "") -> tuple[Fault, ...]:
    """The cases to run: each fault on each of its controllers, and on each requested arm.

    Parameters
    ----------
    faults
        The faults.
    arm
        Name of an arm, `ALL`, or empty for the usual arm of each fault.
    law
        Name of a law, for controllers that follow references only, `ALL`, or empty for the usual law and all nodes.

    Raises
    ------
    ArgumentError
        There is no such arm.
    ControlError
        There is no such law.
    """
    if arm not in ("", ALL):
        arm_named(arm)
    laws = law_names() if law == ALL else (find_law(law).name,) if law else ("",)
    return tuple(
        replace(fault, name=_case(fault, name, node, law), arms=(name,), nodes=(node,), law=law)
        for fault in faults for name in (fault.arms[:1] if not arm else fault.arms) if arm in ("", ALL, name)
        for node in fault.nodes for law in laws if not law or node == COMPUTED_TORQUE
    )


def _case(fault: Fault, arm: str, node: str, law: str) -> str:
    """The name of a fault on one arm and controller under a law: its own for the usual ones."""
    usual = (arm, node) == (fault.arms[0], fault.nodes[0])
    where = "" if usual else f"@{arm}-{node.replace('_', '-')}"
    return f"{fault.name}{where}{law and f'@{law}'.replace('_', '-')}"


class Campaign:
    """Runs faults in the background, in threads of this process with a controller process each.

    Faults that leave the controller usable share one. After a failure a new one is started, so that no failure causes
    others. Leaving the context ends everything.

    Parameters
    ----------
    faults
        What to run, each on its first arm and controller; see `tried`.
    workers
        Number of controllers that run in parallel.
    foreign
        Whether the true arms deviate from their models, see `foreign`.
    """

    def __init__(self, faults: Iterable[Fault], workers: int = WORKERS, *, foreign: bool = False) -> None:
        self._foreign = foreign
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        given = tuple(faults)
        self.results: Mapping[str, Future[Result]] = {fault.name: Future() for fault in given}
        self._alone = [f for f in given if f.own]
        self._shared = [f for f in given if not f.own]
        self._choice = threading.Lock()
        self._halt, self._warm = threading.Event(), threading.Event()
        self._first = threading.Lock()
        self._context = own_context()
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

    def _next(self, alone_first: bool, shared: FaultRun | None) -> Fault | None:
        """The next fault: one for the controller at hand, if there is any, else one of the largest group."""
        with self._choice:
            queues = (self._alone, self._shared) if alone_first and shared is None else (self._shared, self._alone)
            for queue in queues:
                if queue:
                    groups = [_group(fault) for fault in queue]
                    here = None if shared is None else shared.group
                    group = here if here in groups else max(groups, key=groups.count)
                    return queue.pop(groups.index(group))
        return None

    def _work(self, alone_first: bool) -> None:
        """Run faults until there are none left."""
        shared: FaultRun | None = None
        try:
            while not self._halt.is_set() and (fault := self._next(alone_first, shared)) is not None:
                if fault.own:
                    self._run(fault, None)
                    continue
                if shared is not None and _group(fault) != shared.group:
                    shared.rig.close()
                    shared = None
                shared = self._run(fault, shared)
        finally:
            if shared is not None:
                shared.rig.close()

    def _run(self, fault: Fault, run: FaultRun | None) -> FaultRun | None:
        """Run one fault; returns the controller if other faults can use it."""
        began, failure = time.monotonic(), ""
        try:
            if run is None:
                run = FaultRun(self._started(fault))
            run.begin(fault)
            fault.inject(run.rig)
            run.end(fault)
        except RneDynamicsError as error:
            failure = str(error)
            if run is not None:
                failure = "; ".join(dict.fromkeys((failure, *run.rig.violations())))
        except Exception as error:  # noqa: BLE001 raised where the result is asked for; the processes end here
            failure = repr(error)
            self.results[fault.name].set_exception(error)
            return None
        finally:
            efforts = len(run.rig.driver.log) if run is not None else 0
            if run is not None and (failure or fault.own or self._halt.is_set()):
                run.rig.close()
                run = None
        self.results[fault.name].set_result(Result(fault, failure, efforts, time.monotonic() - began))
        return run

    def _started(self, fault: Fault) -> Rig:
        """A controller for a fault; the very first one alone, since it may have to compile kernels for all."""
        arm, node = arm_named(fault.arms[0]), fault.nodes[0]
        start = {**fault.start, "law": fault.law} if fault.law else fault.start
        if self._warm.is_set():
            return Rig(self._context, arm, node, start, self._halt.is_set, self._foreign)
        with self._first:
            rig = Rig(self._context, arm, node, start, self._halt.is_set, self._foreign)
            if fault.before != "unconfigured" and not self._warm.is_set():
                try:
                    rig.configure()
                except BaseException:
                    rig.close()  # nothing else closes it yet
                    raise
                self._warm.set()
            return rig


def _group(fault: Fault) -> tuple[str, str, str]:
    """Faults of one group can share a controller."""
    return fault.arms[0], fault.nodes[0], fault.law


def run(
    faults: Sequence[Fault], on_result: Callable[[Result], None], workers: int = WORKERS, *, foreign: bool = False
) -> tuple[Result, ...]:
    """Run faults; `on_result` is called with each result as it comes. Returns the results in the order of `faults`."""
    with Campaign(faults, workers, foreign=foreign) as campaign:
        waiting = dict(campaign.results)
        while waiting:
            for name in [name for name, future in waiting.items() if future.done()]:
                on_result(waiting.pop(name).result())
            time.sleep(0.05)
        return tuple(campaign.results[fault.name].result() for fault in faults)
