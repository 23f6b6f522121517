"""Hear of kernels that must be compiled: Numba tells those who listen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener


@contextmanager
def on_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` when the first kernel within the block is to be compiled; never if all come from the disk."""
    with install_listener("numba:compile", _First(tell)):
        yield


class _First(Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Event) -> None:
        tell, self._tell = self._tell, None
        if tell:
            tell()

    def on_end(self, event: Event) -> None:
        pass
