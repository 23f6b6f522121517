"""How the engine is compiled: its functions own no arrays, so Numba need not count references to them.

Counting would cost more than serving an event, for ``State`` hands two dozen arrays to every function. And nothing
but the engine calls them, so they need no entry from Python.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from numba import njit
from numba.extending import register_jitable

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of its own."""
    return njit(**_INNER)(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a short function on the way of every packet into those that call it."""
    return njit(**_INNER, forceinline=True)(function)


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and keep it on disk."""
    return njit(**_OPTIONS, cache=True)(function)


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into the engine's, and leave it to Python, too."""
    return register_jitable(**_OPTIONS)(function)


def spliced(function: Callable[P, R]) -> Callable[P, R]:
    """Put a function into the one place that calls it, before either is compiled."""
    return njit(**_INNER, inline="always")(function)
