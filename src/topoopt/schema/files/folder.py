"""A folder of files that is written whole or not at all, and never takes the place of what others put there.

What was written is listed in the folder, with a digest of each file. A folder that holds anything else, or a file that
was changed since, is refused; one that is as it was written is replaced.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.schema.files.content import read_json
from topoopt.schema.files.read import check_name, read_bytes

LIST = "written-by-topoopt.json"
"""The file in which what was written is listed."""


def check_folder(path: str | Path) -> Path:
    """Return the folder that would be written, not made yet.

    Raises
    ------
    InvalidInput
        If the name is empty or that of a file or a link, its parent is no folder or may not be written, or the folder
        holds what was not written by us, or was changed.
    """
    if not str(path):
        raise InvalidInput("expected the name of a folder, got nothing")
    check_name(path)
    folder = Path(os.path.abspath(path))
    if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
        raise InvalidInput(f"{path}: is a file or a link, expected a folder")
    if not folder.parent.is_dir():
        raise InvalidInput(f"{path}: the folder {folder.parent} does not exist")
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise InvalidInput(f"{path}: the folder {folder.parent} may not be written")
    if folder.is_dir():
        _refuse_foreign(folder, str(path))
    return folder


def write_folder(path: str | Path, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder of their own; a folder that an earlier call has written is replaced.

    Parameters
    ----------
    files : mapping from names, which may have folders of their own before a slash, to text or bytes

    Raises
    ------
    InvalidInput
        As :func:`check_folder`, and if the disk is full.
    """
    folder = check_folder(path)
    contents = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    listed = {name: _digest(data) for name, data in sorted(contents.items())}
    contents[LIST] = (json.dumps({"files": listed}, indent=1) + "\n").encode()
    try:
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".topoopt."))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        _fill(temporary / "new", contents)
        if folder.is_dir():
            folder.rename(temporary / "old")
        try:
            (temporary / "new").rename(folder)
        except OSError:
            if (temporary / "old").is_dir():
                (temporary / "old").rename(folder)
            raise
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _fill(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in contents.items():
        place = folder / name
        assert folder in place.resolve().parents, name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _refuse_foreign(folder: Path, path: str) -> None:
    listed = _listed(folder) if (folder / LIST).is_file() else {}
    there = (one for one in folder.rglob("*") if not one.is_dir() or one.is_symlink())
    for place in there:  # of a large folder of others the first file is enough
        name = str(place.relative_to(folder))
        if name == LIST:
            continue
        if name not in listed or place.is_symlink():
            raise InvalidInput(f"{path}: holds {name}, which topoopt has not written; name another folder")
        if listed[name] != _digest(read_bytes(place)):
            raise InvalidInput(
                f"{path}: {name} was changed since it was written; move it away or name another folder"
            )


def _listed(folder: Path) -> dict[str, str]:
    content = read_json(folder / LIST, foreign=True)
    files = content.get("files") if isinstance(content, dict) else None
    return files if isinstance(files, dict) else {}


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
