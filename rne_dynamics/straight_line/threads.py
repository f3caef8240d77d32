"""Distribution of a batch's rows over threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

#: Least number of rows for another thread.
FEWEST = 512
#: Parts per thread, so that a busy core does not delay the whole batch.
_PARTS = 4


def available() -> int:
    """Number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Crew:
    """Threads for batches, started with the first large batch."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def deal(self, work: Callable[[int, int], None], rows: int) -> None:
        """Call ``work(first, end)`` until all rows are done; the first exception is raised when all have ended."""
        size = max(FEWEST, -(-rows // (_PARTS * self.threads)))
        parts = [(first, min(first + size, rows)) for first in range(0, rows, size)]
        if self.threads == 1 or len(parts) < 2:
            work(0, rows)
            return
        futures = [self._executor().submit(work, *part) for part in parts]
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error

    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():  # after a fork the parent's threads are missing
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="bind_batch")
            self._process = os.getpid()
        return self._pool
