"""Writes that are whole or not at all, and never take the place of a device, a pipe or a link."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from topoopt.base.errors import InvalidInput
from topoopt.schema.files.read import check_name


def write_atomically(path: str | Path, text: str) -> None:
    """Write a text file so that a reader, or a crash, never meets half of it.

    Half a character, which UTF-8 cannot hold, is written as JSON would write it: ``\\ud800``.

    Raises
    ------
    InvalidInput
        As :func:`target_of`, and if the folder may not be written or the disk is full.
    """
    write_bytes_atomically(path, text.encode(errors="backslashreplace"))


def write_bytes_atomically(path: str | Path, data: bytes) -> None:
    """Write a binary file; see :func:`write_atomically`."""
    with whole_file(path) as stream:
        stream.write(data)


def target_of(path: str | Path) -> Path:
    """Return the file that would be written: of a symbolic link, the file that it names.

    Raises
    ------
    InvalidInput
        If the name is empty, too long or not UTF-8; if it is a folder, a device, a pipe, or a symbolic link to
        nothing or in a circle; if its folder does not exist.
    """
    if not str(path):
        raise InvalidInput("expected a file name, got nothing")
    check_name(path)
    try:
        target = Path(path)
        if target.is_symlink():
            target = target.resolve(strict=True)
        if target.is_dir():
            raise InvalidInput(f"{path} is a folder, expected a file name")
        if target.exists() and not target.is_file():
            raise InvalidInput(f"{path} is a device or a pipe, expected a file name")
    except (FileNotFoundError, RuntimeError):
        raise InvalidInput(f"{path} is a symbolic link to nothing, or in a circle; remove it") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from None
    if not target.parent.is_dir():
        raise InvalidInput(f"{path}: the folder {target.parent} does not exist")
    return target


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to be written bit by bit, which takes its name when all is done, and is gone otherwise.

    Raises
    ------
    InvalidInput
        As :func:`write_atomically`.
    """
    target = target_of(path)
    try:
        # A short name of its own: with the target's name in it, the longest allowed name would become too long.
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".topoopt.")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        Path(temporary).chmod(_mode_of_new_files())
        Path(temporary).replace(target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
        raise


def _mode_of_new_files() -> int:
    # mkstemp makes private files; a result should get the mode that open() would have given it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
