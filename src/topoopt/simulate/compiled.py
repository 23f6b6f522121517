"""Whether the simulators' kernels are compiled and on disk, or their first use will take seconds."""

from pathlib import Path
from typing import Any

from topoopt.simulate.first_come_kernel import run_first_come
from topoopt.simulate.packet.kernel import advance


def is_compiled() -> bool:
    """Return whether Numba's cache holds the event loop of the analytic simulator."""
    # Numba has no public name for where it keeps what it compiled.
    cache = Path(run_first_come._cache.cache_path)  # type: ignore[attr-defined]
    return any(cache.glob("first_come_kernel.run_first_come*"))


def is_packet_engine_compiled() -> bool:
    """Return whether Numba's cache holds the packet engine in its present form, for this processor."""
    # The file of the cache stays when the code changes; its keys tell.
    compiled: Any = advance
    cache = compiled._cache
    wanted = cache._index_key(None, compiled.targetctx.codegen())[1:]
    return any(key[1:] == wanted for key in cache._cache_file._load_index())
