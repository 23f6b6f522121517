"""What this machine can still hold; what would not fit is refused before it is allocated."""

import os
import sys
from importlib import import_module
from pathlib import Path

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_memory


def available_bytes() -> float:
    """Return what this process may still take: of the machine, of its container and of its own limit."""
    return min(_of_the_machine(), _of_the_container(), _of_the_process())


def peak_bytes() -> int:
    """Return the most memory that this process has had; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    resource = import_module("resource")
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def refuse_too_large(what: str, needed_bytes: float, remedy: str) -> None:
    """Refuse what would need more memory than there is.

    Parameters
    ----------
    what
        The place and the value, such as ``servers 1000000``.

    Raises
    ------
    Infeasible
        With the need, what there is, and the remedy.
    """
    if needed_bytes < _SMALL_BYTES:  # asking the system takes longer than holding so little
        return
    available = available_bytes()
    if needed_bytes > available:
        raise Infeasible(
            f"{what}: needs {format_memory(needed_bytes)} of memory, and {format_memory(max(available, 0))} are left "
            f"here; {remedy}"
        )


_SMALL_BYTES = 64e6


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
