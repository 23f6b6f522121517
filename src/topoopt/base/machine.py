"""Traces of a process on its machine: folders that only its user can enter, and signals by which it is ended.

Results of the checks of a machine are here, too.
"""

import os
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from topoopt.base.answers import shows_itself

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals by which people and systems end a program, and let it clean up."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that topoopt uses, as found on a machine; where it is missing, with the remedy."""

    name: str
    found: str
    remedy: str = ""


@shows_itself
@dataclass(frozen=True, repr=False)
class Installation:
    """Things that topoopt uses, as found on a machine: the answer of :func:`topoopt.doctor`."""

    checks: tuple[Check, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt doctor --json``."""
        return asdict(self)


def private_folder(path: Path) -> Path:
    """Return a folder in which only this user can write, made where it is missing.

    Raises
    ------
    OSError
        If it cannot be made, or as :func:`check_private`.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Refuse a folder in which others can write, or that belongs to another user.

    Raises
    ------
    OSError
        If there is none, or it is a link, belongs to another user, or others may write in it.
    """
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{path}: is a link or no folder")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise PermissionError(f"{path}: belongs to user {found.st_uid}")
    if found.st_mode & 0o022 and sys.platform != "win32":
        raise PermissionError(f"{path}: others may write in it")


def kernel_folder() -> Path:
    """Return the folder of this user for compiled kernels where the package and the home folder cannot be written."""
    user = os.getuid() if hasattr(os, "getuid") else "here"
    return Path(tempfile.gettempdir()) / f"topoopt-kernels-{user}"


@contextmanager
def later() -> Iterator[None]:
    """Delay signals until the end of the context, when its objects are recorded and can be removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears signals in its main thread only
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


@contextmanager
def as_errors() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise ``SystemExit``, as Ctrl-C raises ``KeyboardInterrupt``, so that contexts end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    changed = [one for one in ENDING if signal.getsignal(one) is signal.SIG_DFL]
    for one in changed:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in changed:
            signal.signal(one, signal.SIG_DFL)
