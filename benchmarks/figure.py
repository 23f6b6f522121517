"""One measured figure, the limit we set ourselves, and what the original program needs for the same."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement; ``limit`` is the most (or, with ``more_is_better``, the least) that we accept."""

    what: str
    value: float
    unit: str
    limit: float
    more_is_better: bool = False
    original: float | None = None
    source: str = ""

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.more_is_better else self.value <= self.limit

    @property
    def times_better(self) -> float | None:
        """How many times better than the original, e.g. 100 for a hundred times faster."""
        if self.original is None:
            return None
        return self.value / self.original if self.more_is_better else self.original / self.value


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process (user and system) that ``work`` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def best_cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least of a few measurements: what the work needs when nothing disturbs it."""
    return min(cpu_seconds(work) for _ in range(repeats))


def children_cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the processes that ``work`` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall_seconds(work: Callable[[], object]) -> float:
    """Seconds on the clock on the wall."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
