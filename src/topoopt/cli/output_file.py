"""A file that a verb is asked to write: refused before the work where it cannot be written after it."""

import os
from pathlib import Path

from topoopt.errors import InvalidInput


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
    if not path:
        raise InvalidInput(f"{flag}: expected a file name, got nothing")
    place, folder = Path(path), Path(path).parent
    if place.is_dir():
        raise InvalidInput(f"{flag}: {path} is a folder, expected a file name")
    if not folder.is_dir():
        raise InvalidInput(f"{flag}: {path}: the folder {folder} does not exist")
    if place.exists() and not place.is_file():
        raise InvalidInput(f"{flag}: {path} is a device or a pipe, expected a file name")
    if place.exists() and any(Path(one).exists() and place.samefile(one) for one in reads if one):
        raise InvalidInput(f"{flag}: {path} is the file that is read; give another name")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"{flag}: {path}: the folder {folder} may not be written")


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
    if Path(path).exists() and not Path(path).is_dir():
        raise InvalidInput(f"{flag}: {path} is a file, expected a folder")
