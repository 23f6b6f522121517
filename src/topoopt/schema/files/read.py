"""The content of a file: bytes or text of a regular file, never of a device, a pipe or a folder."""

import os
import stat
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_memory

LARGEST_FILE_BYTES = 2**32


def is_file(path: str | Path) -> bool:
    """Return whether there is such a regular file; a name that no file can have is none."""
    return os.path.isfile(path)  # Path.is_file() raises where a name is too long


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InvalidInput
        If there is no such file, it may not be read, is larger than 4 GiB, or is a directory, a device or a pipe,
        which might never end.
    """
    try:
        check_name(path)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            _check_kind(path, os.fstat(descriptor))
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path}: is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInput(f"{path}: cannot be read: {reason}") from None
    if len(data) > LARGEST_FILE_BYTES:
        raise InvalidInput(f"{path}: larger than {format_memory(LARGEST_FILE_BYTES)}")
    return data


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file; a binary file is an :class:`InvalidInput`."""
    return decoded(read_bytes(path), str(path))


def decoded(data: bytes, place: str, remedy: str = "") -> str:
    """Return the text of bytes; errors as :func:`read_text`, with the remedy behind them."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place}: not a text file: byte {error.start} is not UTF-8{remedy}") from None
    if "\0" in text:
        raise InvalidInput(f"{place}: not a text file: it holds a NUL byte{remedy}")
    return text


def check_name(path: str | Path) -> None:
    """Refuse a name that is not UTF-8: it could stand in no result and in no file.

    Raises
    ------
    InvalidInput
        If a character of it is NUL, or stands for a byte, or for half a character.
    """
    if "\0" in str(path):
        raise InvalidInput(f"{path}: a file name holds no NUL")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{path}: the name is not UTF-8 text; give the file another name") from None


def _check_kind(path: str | Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput(f"{path}: is a directory, expected a file")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(f"{path}: is a device or a pipe, expected a file")
    if status.st_size > LARGEST_FILE_BYTES:
        raise InvalidInput(f"{path}: larger than {format_memory(LARGEST_FILE_BYTES)}")
