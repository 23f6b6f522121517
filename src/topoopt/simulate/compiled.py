"""Whether the simulators' kernel is compiled and on disk, or its first use will take seconds."""

from pathlib import Path

from topoopt.simulate.kernel import run_events


def is_compiled() -> bool:
    """Return whether Numba's cache holds the event loop."""
    # Numba has no public name for where it keeps what it compiled.
    cache = Path(run_events._cache.cache_path)  # type: ignore[attr-defined]
    return any(cache.glob("kernel.run_events*"))
