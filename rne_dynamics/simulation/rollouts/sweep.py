"""One function over many cases: in this process, over processes, or over computers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from rne_dynamics.errors import SimulationError

Case = TypeVar("Case")
Result = TypeVar("Result")


class Client(Protocol):
    """An executor of concurrent.futures, or a client of dask.distributed."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Begin `function(*args)`; the future it returns has a method `result`."""


def sweep(
    function: Callable[[Case], Result],
    cases: Iterable[Case],
    *,
    client: Client | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """`function(case)` for every case, in the order of the cases.

    Parameters
    ----------
    function
        Where it runs in other processes it must be found there by name: a function of a module, not a lambda. What it
        needs it takes from the case: models, plants, laws and rollouts take about 10,000 bytes pickled.
    cases
        One argument each.
    client
        Runs the cases, e.g. ``dask.distributed.Client(address)`` or
        ``concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))``; None does one
        case after the other here, where `Rollout.run_many` uses all cores by itself.
    progress
        Called with the number of finished cases.

    Raises
    ------
    SimulationError
        A case failed; names it, and has its error as the cause. Cases that have not begun are cancelled.
    """
    cases, results = list(cases), []
    futures = None if client is None else [client.submit(function, case) for case in cases]
    try:
        for k, case in enumerate(cases):
            try:
                results.append(function(case) if futures is None else futures[k].result())
            except Exception as error:
                raise SimulationError(f"case {k} of {len(cases)} failed: {type(error).__name__}: {error}") from error
            if progress is not None:
                progress(k + 1)
    finally:
        for future in futures or ():
            future.cancel()
    return results
