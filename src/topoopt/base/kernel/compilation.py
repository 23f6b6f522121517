"""Compilation of kernels: functions that own no arrays, and stamps that distinguish versions in Numba's cache.

Counting would cost more than serving an event, for a state hands dozens of arrays to every function. And nothing but
kernels calls most of them, so they need no entry from Python and no file of their own on disk: both halve the time
that compiling takes. A kernel therefore makes no arrays; its wrapper does.

Numba is imported when the first kernel is called: that takes longer than most answers that need no kernel.
"""

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}
_INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_ENTRY: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}
UNKEPT = "TOPOOPT_KERNELS_UNKEPT"
"""Environment variable by which processes that this one starts know that kernels are not kept on disk."""
SHARED: list[Callable[..., Any]] = []
"""Functions for kernels and Python, not yet registered with Numba."""
LISTENERS: list[Callable[[], None]] = []
"""Functions to call when the next kernel is compiled."""


class _Kernel:
    """A function that is compiled, or loaded from disk, when Python first calls it, or when another kernel needs it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, kept: bool = False) -> None:
        update_wrapper(self, function)
        self.py_func, self._options, self._kept = function, options, kept

    @cached_property
    def _dispatcher(self) -> Any:
        disk = import_module("topoopt.base.kernel.disk")  # imports Numba
        return disk.dispatcher(self.py_func, self._options, self._kept)

    def __call__(self, *values: Any) -> Any:
        return self._dispatcher(*values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dispatcher, name)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels call."""
    return cast(Callable[P, R], _Kernel(function, _INNER))


def vectorized(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that never meets a NaN, so that its minima and maxima may be vectorised."""
    return cast(Callable[P, R], _Kernel(function, {**_INNER, "fastmath": {"nnan", "nsz"}}))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a short function of the event loop inline into its callers."""
    return cast(Callable[P, R], _Kernel(function, {**_INNER, "forceinline": True}))


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and keep it on disk."""
    return cast(Callable[P, R], _Kernel(function, _ENTRY, kept=True))


def concurrent_entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and let other threads of Python go on while it runs."""
    return cast(Callable[P, R], _Kernel(function, {**_ENTRY, "nogil": True}, kept=True))


def owning_entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls and that makes arrays, and keep it on disk."""
    return cast(Callable[P, R], _Kernel(function, {"error_model": "numpy"}, kept=True))


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into kernels, and leave it to Python, too."""
    SHARED.append(function)
    return function


def spliced(function: Callable[P, R]) -> Callable[P, R]:
    """Insert a function into its only caller, before either is compiled."""
    return cast(Callable[P, R], _Kernel(function, {**_INNER, "inline": "always"}))


@contextmanager
def on_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` when the first kernel within the block is to be compiled; never if all come from the disk."""
    LISTENERS.append(tell)
    if "numba" in sys.modules:
        import_module("topoopt.base.kernel.disk")  # listens to Numba
    try:
        yield
    finally:
        if tell in LISTENERS:
            LISTENERS.remove(tell)


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
