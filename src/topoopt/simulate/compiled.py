"""Whether the simulators' kernels are compiled and on disk, or their first use will take seconds."""

from pathlib import Path

from topoopt.simulate.first_come_kernel import run_first_come


def is_compiled() -> bool:
    """Return whether Numba's cache holds the event loop of the analytic simulator."""
    # Numba has no public name for where it keeps what it compiled.
    cache = Path(run_first_come._cache.cache_path)  # type: ignore[attr-defined]
    return any(cache.glob("first_come_kernel.run_first_come*"))
