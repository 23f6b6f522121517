"""Compilation of kernels: functions that own no arrays, and stamps that distinguish versions in Numba's cache.

Counting would cost more than serving an event, for a state hands dozens of arrays to every function. And nothing but
kernels calls most of them, so they need no entry from Python and no file of their own on disk: both halve the time
that compiling takes. A kernel therefore makes no arrays; its wrapper does.
"""

import os
import pickle
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from numba import config, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, install_listener
from numba.extending import register_jitable

from topoopt.base.errors import Note
from topoopt.base.machine import kernel_folder, private_folder


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
_ENTRY: dict[str, Any] = {**_OPTIONS, "no_cfunc_wrapper": True}
UNKEPT = "TOPOOPT_KERNELS_UNKEPT"
"""Environment variable by which processes that this one starts know that kernels are not kept on disk."""


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
    return kept(njit(**_ENTRY)(function))


def concurrent_entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the function that Python calls, and let other threads of Python go on while it runs."""
    return kept(njit(**_ENTRY, nogil=True)(function))


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


class _CacheFile(IndexDataCacheFile):
    """The index of a kernel's compiled versions, and a file for each.

    Numba numbers the files and writes the index first: of two first runs, or after a kill between the two, it would
    take one version for another. Here a file is named by its version, comes before the index, and has a check sum.
    Damaged files are ignored, and written again.
    """

    def save(self, key: Hashable, data: object) -> None:
        version = sha256(repr((key, self._source_stamp)).encode()).digest()
        name = self._data_name(int.from_bytes(version[:8], "big"))
        self._save_data(name, data)
        overloads = {**self._load_index(), key: name}
        self._save_index(overloads)
        for old in Path(self._cache_path).glob(f"{self._index_name.removesuffix('.nbi')}.*.nbc"):
            if old.name not in overloads.values():
                old.unlink(missing_ok=True)

    def _load_index(self) -> dict[Hashable, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # whatever unpickling of damaged bytes raises
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            total, content = super()._load_data(name)
            if total == sha256(content).digest():
                return pickle.loads(content)
        except Exception as error:
            raise OSError(f"{name}: cannot be read") from error
        raise OSError(f"{name}: is damaged")

    def _save_data(self, name: str, data: object) -> None:
        content = self._dump(data)
        super()._save_data(name, (sha256(content).digest(), content))


class _KernelCache(FunctionCache):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFile(self.cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk
            _note_unkept(error)


def kept(kernel: Any) -> Any:
    """Keep a compiled function on disk: beside its file, in the home folder, else in a private folder, else nowhere."""
    if os.environ.get(UNKEPT):
        return kernel
    try:
        try:
            kernel._cache = _KernelCache(kernel.py_func)
        except RuntimeError:  # Numba has found no folder that can be written
            folder = str(private_folder(kernel_folder()))
            os.environ["NUMBA_CACHE_DIR"] = vars(config)["CACHE_DIR"] = folder
            kernel._cache = _KernelCache(kernel.py_func)
            text = f"the package and the home folder cannot be written, so kernels are kept in {folder}"
            warnings.warn(text, Note, stacklevel=2)
    except (OSError, RuntimeError) as error:
        _note_unkept(error)
    return kernel


def _note_unkept(error: Exception) -> None:
    if not os.environ.get(UNKEPT):
        os.environ[UNKEPT] = "1"
        warnings.warn(
            f"kernels cannot be kept on disk, so every run compiles them: {error}", Note, stacklevel=2
        )
