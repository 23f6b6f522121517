"""Worker processes, which end with the process that started them, and threads for compiled code.

A second process that compiles kernels while this one imports, reads and plans; and functions that wait for its results.

Kernels are compiled at their first use and kept on disk. A first plan spends most of its time on that, one kernel
after the other, on one core. So where the disk holds none yet, a second process begins at once with those that are
needed last. It signals when a part is on disk; code that needs the part waits, since compiling it here would take as
long. It ends when everything is done, or when the pipe to it is closed.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from topoopt.base.machine import kernel_folder

PARTS = ("chain", "rings")
"""Kernels that are compiled ahead of time, in this order: search; rings and routes on any graph."""
LONGEST_WAIT_S = 60.0
PACKAGE = Path(__file__).parents[1]
_WORKER = "from topoopt.search.compile_ahead import compile_ahead; compile_ahead()"
T = TypeVar("T")
R = TypeVar("R")
_PR_SET_PDEATHSIG = 1
_MOST_THREADS = 8  # each holds a simulation; more would mostly wait for Python


def end_with_parent() -> None:
    """End this process when its parent ends; to be called first in a process.

    On Linux the kernel sees to it, also while compiled code keeps Python's threads from running. Elsewhere, and for
    a parent that had already ended, a thread waits for the parent's end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def in_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return the function's results for all items, in order; runs in threads, so code without the GIL runs in
    parallel.

    Any exception ends it; tasks not yet begun are not run.
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


def start_compiling_ahead() -> None:
    """Start the second process, once, if nothing is compiled yet and there is a second core; do not wait for it."""
    if (os.cpu_count() or 1) > 1 and not _is_compiled():
        _second_process()


def wait_for(part: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Wait for a part that the second process compiles now, until it is on disk or that process has ended.

    Return at once where there is no such process, or it has not reached the part yet. ``meanwhile`` runs first if
    there is something to wait for.
    """
    if not _second_process.cache_info().currsize:
        return
    done = _second_process()
    before = PARTS[: PARTS.index(part)]
    if not done[part].is_set() and all(done[other].is_set() for other in before):
        meanwhile()
        done[part].wait(LONGEST_WAIT_S)


@cache
def _second_process() -> dict[str, Event]:
    """Start the process; return an event per part, set when it is on disk."""
    done = {part: Event() for part in PARTS}
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is for the first process
        )
    except OSError:  # too many files or processes: all is compiled here
        for event in done.values():
            event.set()
        return done
    Thread(target=_listen, args=(process, done), daemon=True).start()
    return done


def _listen(process: "subprocess.Popen[str]", done: dict[str, Event]) -> None:
    with process:
        for line in process.stdout or ():
            done[line.strip()].set()
    for event in done.values():
        event.set()


def _is_compiled() -> bool:
    """Return whether a cache of Numba's holds the search's kernel, and is newer than the kernel's files."""
    folder = PACKAGE / "search" / "proposals"
    written_s = max(path.stat().st_mtime for path in folder.glob("*_kernel.py"))
    with suppress(OSError, RuntimeError):  # no home, or what is just replaced
        indices = (one for place in kernel_places(folder) for one in place.rglob("mcmc_kernel.*.nbi"))
        return any(index.stat().st_mtime >= written_s for index in indices)
    return False


def kernel_places(folder: Path = PACKAGE) -> tuple[Path, ...]:
    """Return where Numba keeps the compiled kernels of a folder of the package, the first choice first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return (Path(chosen),)
    return (folder,) if os.access(folder, os.W_OK) else (Path.home() / ".cache" / "numba", kernel_folder())
