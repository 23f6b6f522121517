"""A file that a verb is asked to write: refused before the work where it cannot be written after it."""

import os

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import check_name, check_table_name, is_file, target_of


def check_writable(path: str | None, flag: str, *reads: str | None) -> None:
    """Refuse a place where nothing can be written, and what a written file must not take the place of.

    A file is replaced as a whole, so a device such as ``/dev/null`` or a pipe would be gone afterwards.

    Parameters
    ----------
    reads
        Files that the verb reads, and that must not be lost to what it writes.

    Raises
    ------
    InvalidInput
        If there is no file name, the path is a folder, a device, a pipe or one of ``reads``, or its folder does
        not exist or may not be written.
    """
    if path is None:
        return
    try:
        target = target_of(path)
    except InvalidInput as error:
        raise InvalidInput(f"{flag}: {error}") from None
    if target.exists() and any(is_file(one) and target.samefile(one) for one in reads if one):
        raise InvalidInput(f"{flag}: {path} is the file that is read; give another name")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidInput(f"{flag}: {path}: the folder {target.parent} may not be written")


def check_table(path: str | None, flag: str) -> None:
    """Refuse a table that could not be written after the work.

    Raises
    ------
    InvalidInput
        As :func:`check_writable`, for another suffix than those of tables, and for Parquet without pyarrow.
    """
    check_writable(path, flag)
    if path is None:
        return
    try:
        check_table_name(path)
    except InvalidInput as error:
        raise InvalidInput(f"{flag}: {error}") from None


def check_folder_name(path: str | None, flag: str) -> None:
    """Refuse what names no folder, or a file.

    Raises
    ------
    InvalidInput
        If the name is empty or is that of something else than a folder.
    """
    if path is None:
        return
    if not path:
        raise InvalidInput(f"{flag}: expected the name of a folder, got nothing")
    check_name(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise InvalidInput(f"{flag}: {path} is a file, expected a folder")
