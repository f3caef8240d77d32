"""Distribution of a batch's rows over threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

#: Least number of rows for another thread.
FEWEST = 512
#: Parts per thread, so that a busy core does not delay the whole batch.
_PARTS = 8


def available() -> int:
    """Number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Crew:
    """Threads for batches, started with the first large batch; the calling one is one of them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def deal(self, work: Callable[[int, int], None], rows: int) -> None:
        """Call ``work(first, end)`` until all rows are done, here too: nobody waits for a thread that wakes up late."""
        size = max(FEWEST, -(-rows // (_PARTS * self.threads)))
        parts = [(first, min(first + size, rows)) for first in range(0, rows, size)]
        if self.threads == 1 or len(parts) < 2:
            work(0, rows)
            return
        left = iter(parts)  # a list's, from which several threads may take

        def share() -> None:
            for part in left:
                work(*part)

        executor = self._executor()
        others = [executor.submit(share) for _ in range(min(self.threads, len(parts)) - 1)]
        try:
            share()
        finally:
            begun = [future for future in others if not future.cancel()]
            wait(begun)
        for future in begun:
            future.result()

    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():  # after a fork the parent's threads are missing
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="bind_batch")
            self._process = os.getpid()
        return self._pool
