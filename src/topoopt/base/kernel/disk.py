"""Numba's side of kernels: dispatchers, and compiled versions on disk, with check sums.

A version on disk is loaded without Numba's tables of types and of implementations, whose filling takes 0.4 s: a
kernel without arrays of its own calls nothing of the runtime that they would set up.
"""

import os
import pickle
import warnings
from collections.abc import Callable, Hashable
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, register
from numba.extending import register_jitable

from topoopt.base.errors import Note
from topoopt.base.kernel.compilation import LISTENERS, OPTIONS, SHARED, UNKEPT
from topoopt.base.machine import kernel_folder, private_folder

_LOCK = Lock()


class _Compilations(Listener):
    def on_start(self, event: Event) -> None:
        while LISTENERS:
            LISTENERS.pop()()

    def on_end(self, event: Event) -> None:
        pass


register("numba:compile", _Compilations())


def dispatcher(function: Callable[..., Any], options: dict[str, Any], kept: bool) -> Any:
    """Return Numba's dispatcher of a function, after telling Numba of all shared functions so far."""
    with _LOCK:
        while SHARED:
            register_jitable(**OPTIONS)(SHARED.pop())
    made = njit(**options)(function)
    return _keep(made) if kept else made


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
    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.py_func)
        self._owns_arrays = kernel.targetoptions.get("_nrt", True)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: object, target_context: Any) -> Any:
        if self._owns_arrays:
            target_context.refresh()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk
            _note_unkept(error)


def _keep(kernel: Any) -> Any:
    """Keep a compiled function on disk: beside its file, in the home folder, else in a private folder, else nowhere."""
    if os.environ.get(UNKEPT):
        return kernel
    try:
        try:
            kernel._cache = _KernelCache(kernel)
        except RuntimeError:  # Numba has found no folder that can be written
            folder = str(private_folder(kernel_folder()))
            os.environ["NUMBA_CACHE_DIR"] = vars(config)["CACHE_DIR"] = folder
            kernel._cache = _KernelCache(kernel)
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
