"""Network namespaces: made with a name, entered by a thread, removed; through libc, for Python has no calls for it.

A namespace is of a thread, so all that is done inside one is done by a thread of its own, and the program's others stay
where they are.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TypeVar

FOLDER = Path("/run/netns")
"""Folder of named namespaces, as used by ``ip netns``."""

_CLONE_NEWNET = 0x40000000
_MS_BIND, _MS_REC, _MS_SHARED = 4096, 16384, 1 << 20
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_THREADS_NAMESPACE = "/proc/thread-self/ns/net"

R = TypeVar("R")


def create_namespace(name: str) -> None:
    """Create a namespace with that name; it lives until it is removed.

    Raises
    ------
    FileExistsError
        If there is one already.
    OSError
        Without the right to.
    """
    # let mounts in the folder be seen by all, as `ip netns` does, and make it where it is missing
    FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder = os.fsencode(FOLDER)
    if _libc().mount(b"", folder, b"none", _MS_SHARED | _MS_REC, None) != 0:
        _call("mount", folder, folder, b"none", _MS_BIND | _MS_REC, None)
        _call("mount", b"", folder, b"none", _MS_SHARED | _MS_REC, None)
    place = FOLDER / name
    os.close(os.open(place, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0))
    try:
        in_thread(lambda: _bind_new(place))
    except OSError:
        place.unlink()
        raise


def remove_namespace(name: str) -> bool:
    """Remove a name, and with it all that is inside once no process is; return whether it was there."""
    place = FOLDER / name
    if not place.exists() or place.is_symlink():
        return False
    while _libc().umount2(os.fsencode(place), _MNT_DETACH | _UMOUNT_NOFOLLOW) == 0:
        pass
    place.unlink(missing_ok=True)
    return True


def namespaces_named(prefix: str) -> tuple[str, ...]:
    """Return the names of the namespaces with this prefix."""
    if not FOLDER.is_dir():
        return ()
    places = [path for path in FOLDER.iterdir() if path.name.startswith(prefix)]
    return tuple(sorted(path.name for path in places if stat.S_ISREG(path.lstat().st_mode)))


def inside(name: str, function: Callable[[], R]) -> R:
    """Return the result of a function run in a namespace."""

    def entered() -> R:
        enter_namespace(name)
        return function()

    return in_thread(entered)


def inside_new(function: Callable[[], R]) -> R:
    """Return the result of a function run in an unnamed namespace, which ends with it."""

    def unshared() -> R:
        _call("unshare", _CLONE_NEWNET)
        return function()

    return in_thread(unshared)


def enter_namespace(name: str) -> None:
    """Move this thread into a namespace, for good."""
    handle = os.open(FOLDER / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", handle, _CLONE_NEWNET)
    finally:
        os.close(handle)


def processes_inside(names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the ids of the processes that run in one of the namespaces; never those of the machine's own."""
    of_the_machine = {_inode(Path("/proc", process, "ns", "net")) for process in ("self", "1")}
    inodes = {_inode(FOLDER / name) for name in names} - of_the_machine - {0}
    return tuple(
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdecimal() and _inode(process / "ns" / "net") in inodes
    )


def in_thread(function: Callable[[], R]) -> R:
    """Return the result of a function run in a thread of its own, or raise its exception."""
    answers: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(function())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]


def _inode(path: Path) -> int:
    """Return the number of a namespace, 0 if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return found.st_ino if stat.S_ISREG(found.st_mode) else 0


def _bind_new(place: Path) -> None:
    _call("unshare", _CLONE_NEWNET)
    _call("mount", os.fsencode(_THREADS_NAMESPACE), os.fsencode(place), b"none", _MS_BIND, None)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc(), name)(*arguments) != 0:
        number = ctypes.get_errno() or errno.EIO
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
