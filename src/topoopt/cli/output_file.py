"""A file that a verb is asked to write: refused before the work where it cannot be written after it."""

from pathlib import Path

from topoopt.errors import InvalidInput


def check_writable(path: str | None, flag: str) -> None:
    """Refuse a place where nothing can be written.

    Raises
    ------
    InvalidInput
        If the path is a folder, or lies in one that does not exist.
    """
    if path is None:
        return
    if Path(path).is_dir():
        raise InvalidInput(f"{flag}: {path} is a folder, expected a file name")
    if not Path(path).parent.is_dir():
        raise InvalidInput(f"{flag}: {path}: the folder {Path(path).parent} does not exist")
