"""Others that compute for us: processes, which end with the one that started them, and threads for compiled code."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_PR_SET_PDEATHSIG = 1
_MOST_THREADS = 8  # each holds a simulation; more would mostly wait for Python


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone; to be called first of all in a process.

    On Linux the kernel sees to it, also while compiled code keeps Python's threads from running. Elsewhere, and for
    a parent that was gone already, a thread waits for the parent's end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def in_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return what the function gives for each item, in their order; what Python's lock is free for goes side by side.

    Whatever is raised ends it, without those that have not begun.
    """
    rows = list(items)
    threads = min(len(rows), os.cpu_count() or 1, _MOST_THREADS)
    if threads < 2:
        return [function(row) for row in rows]
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(function, rows))
    finally:
        pool.shutdown(cancel_futures=True)


def _wait_for_the_end() -> None:
    parent = parent_process()
    assert parent is not None, "only a process that multiprocessing has started has a parent"
    parent.join()
    os._exit(1)
