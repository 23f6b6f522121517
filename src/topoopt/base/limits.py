"""The largest sensible value of everything that is counted: one table, at the command line and in Python.

A number above its limit is refused where it comes in, before anything is allocated for it.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from math import isfinite
from operator import index
from pathlib import Path
from typing import Final

from topoopt.base.errors import Infeasible, InvalidInput, shown
from topoopt.base.units import format_memory

_SMALL_BYTES = 64e6
LARGEST: Final = 2**53
"""Counts and bytes up to here are exact in every JSON reader, and fit into 64 bits."""
LARGEST_NUMBER: Final = 1e30
"""No amount of bytes, operations, seconds or money is larger; a few of them multiplied are still finite."""
SMALLEST_NUMBER: Final = 1e-30
"""Smallest nonzero number that is accepted: dividing by a smaller one would overflow to infinity."""
_MOST: Mapping[int, tuple[str, ...]] = {
    1000: ("degree", "rounds", "candidates", "max_vpp"),
    1024: ("accelerators_per_server", "logical_servers", "chains", "processes"),
    4096: (
        *("threads", "tables", "blocks", "doses"),
        *("feature_layers", "dense_layers", "bottom_layers", "top_layers"),
    ),
    10_000: ("layers", "experts", "experts_per_token", "operators"),
    100_000: ("shards", "jobs"),
    1_000_000: (
        *("servers", "servers_per_job", "region_servers"),
        *("runs", "iterations", "repetitions", "warm_up", "top"),
        *("tp", "pp", "dp", "cp", "ep", "etp", "vpp"),
        *("max_tp", "max_pp", "max_cp", "max_ep", "max_micro_batch"),
    ),
    10_000_000: ("accelerators",),
    100_000_000: ("budget", "baseline_budget", "proposals"),
    1_000_000_000: ("batch_per_accelerator", "global_batch", "seq", "buffer"),
    LARGEST: ("seed", "limit"),
}
MOST: Mapping[str, int] = {word: most for most, words in _MOST.items() for word in words}
"""Upper limits by keyword of the Python API; the flags of the command line have hyphens."""
MOST_OF_ANYTHING: Final = 1_000_000_000_000
"""The limit of a count that is not in :data:`MOST`, such as a hidden size or samples of a batch."""
LONGEST_DIGITS: Final = 20
"""More are no count of anything."""


def whole(word: str, value: object, least: int = 0, most: int | None = None) -> int:
    """Return an integer; refuse other values, and those outside ``least`` to ``most`` (by default from the table).

    Examples
    --------
    >>> whole("servers", 16, 2)
    16
    >>> whole("servers", 99999999, 2)
    Traceback (most recent call last):
    topoopt.base.errors.InvalidInput: servers: expected an integer <= 1000000, got 99999999
    """
    largest = MOST.get(word.removeprefix("--").replace("-", "_"), MOST_OF_ANYTHING) if most is None else most
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidInput(f"{word}: expected an integer >= {least}, got {shown(value)}")
    number = index(value)
    if number < least:
        raise InvalidInput(f"{word}: expected an integer >= {least}, got {shown(number)}")
    if number > largest:
        raise InvalidInput(f"{word}: expected an integer <= {largest}, got {shown(number)}")
    return number


def whole_or_digits(word: str, value: object, least: int = 0, most: int | None = None) -> int:
    """Return an integer that may be given as text, such as ``KEY=VALUE`` on the command line; else as :func:`whole`.

    Examples
    --------
    >>> whole_or_digits("samples", "16", 1)
    16
    """
    digits = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < LONGEST_DIGITS
    return whole(word, int(str(value)) if digits else value, least, most)


def finite(word: str, value: float) -> float:
    """Return a number; refuse infinity, NaN, and values too large or too close to zero."""
    if not isfinite(value):
        raise InvalidInput(f"{word}: expected a finite number, got {value}")
    if abs(value) > LARGEST_NUMBER:
        raise InvalidInput(f"{word}: expected a number up to {LARGEST_NUMBER:g}, got {value:g}")
    if 0 < abs(value) < SMALLEST_NUMBER:
        raise InvalidInput(f"{word}: expected 0 or a number from {SMALLEST_NUMBER:g} on, got {value:g}")
    return value


def available_bytes() -> float:
    """Return the memory that this process may still allocate: limited by the host, its container and its own limit."""
    return min(_of_the_machine(), _of_the_container(), _of_the_process())


def peak_bytes() -> int:
    """Return the peak memory of this process; 0 if the system does not report it."""
    if sys.platform == "win32":
        return 0
    resource = import_module("resource")
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def refuse_too_large(what: str, needed_bytes: float, remedy: str) -> None:
    """Refuse a computation that needs more memory than is available.

    Parameters
    ----------
    what
        The place and the value, such as ``servers 1000000``.

    Raises
    ------
    Infeasible
        With the memory needed, the memory available, and the remedy.
    """
    if needed_bytes < _SMALL_BYTES:  # asking the system takes longer than holding so little
        return
    available = available_bytes()
    if needed_bytes > available:
        raise Infeasible(
            f"{what}: needs {format_memory(needed_bytes)} of memory, and {format_memory(max(available, 0))} are left "
            f"here; {remedy}"
        )


def _of_the_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return float("inf")


def _of_the_container() -> float:
    try:
        group = Path("/sys/fs/cgroup")
        limit = group.joinpath("memory.max").read_text(encoding="utf-8")
        used = group.joinpath("memory.current").read_text(encoding="utf-8")
        return float(limit) - float(used)  # "max" where there is no limit
    except (OSError, ValueError):
        return float("inf")


def _of_the_process() -> float:
    if sys.platform == "win32":
        return float("inf")
    resource = import_module("resource")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    except (OSError, ValueError, IndexError):
        return float(limit)
    return float(limit - used * resource.getpagesize())
