"""Compilation of kernels: functions that own no arrays, and stamps that distinguish versions in Numba's cache.

Counting would cost more than serving an event, for a state hands dozens of arrays to every function. And nothing but
kernels calls most of them, so they need no entry from Python and no file of their own on disk: both halve the time
that compiling takes. A kernel therefore makes no arrays; its wrapper does.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.core.event import Event, Listener, install_listener
from numba.extending import register_jitable


class _First(Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Event) -> None:
        tell, self._tell = self._tell, None
        if tell:
            tell()

    def on_end(self, event: Event) -> None:
        pass


P = ParamSpec("P")
R = TypeVar("R")
_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_ENTRY: dict[str, Any] = {**_OPTIONS, "cache": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels call."""
    return njit(**_INNER)(function)


def vectorized(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that never meets a NaN, so that its minima and maxima may be vectorised."""
    return njit(**_INNER, fastmath={"nnan", "nsz"})(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a short function of the event loop inline into its callers."""
    return njit(**_INNER, forceinline=True)(function)


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and keep it on disk."""
    return njit(**_ENTRY)(function)


def concurrent_entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and let other threads of Python go on while it runs."""
    return njit(**_ENTRY, nogil=True)(function)


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into kernels, and leave it to Python, too."""
    return register_jitable(**_OPTIONS)(function)


def spliced(function: Callable[P, R]) -> Callable[P, R]:
    """Insert a function into its only caller, before either is compiled."""
    return njit(**_INNER, inline="always")(function)


@contextmanager
def on_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` when the first kernel within the block is to be compiled; never if all come from the disk."""
    with install_listener("numba:compile", _First(tell)):
        yield


def stamp(files: Iterable[Path]) -> int:
    """Return a number, never 0, that changes with any of the files and with this room."""
    paths = sorted({*files, *Path(__file__).parent.glob("*.py")})
    return zlib.crc32(b"".join(path.read_bytes() for path in paths)) | 1


def stamped(number: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Add an unused number to a function's closure: closure variables are part of its key in the disk cache.

    A default argument would be, too. But Numba distinguishes the values of omitted arguments quickly only for
    the first one that a process meets, and looks for the right version in Python, 0.3 ms a call, for all others.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        plain = cast(FunctionType, function)
        code = plain.__code__.replace(co_freevars=(*plain.__code__.co_freevars, "stamp"))
        cells = (*(plain.__closure__ or ()), CellType(number))
        marked = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, cells)
        update_wrapper(marked, plain)
        del vars(marked)["__wrapped__"]
        return cast(Callable[P, R], marked)

    return mark
