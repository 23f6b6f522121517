"""Writes that are whole or not at all, and never take the place of a device, a pipe or a link.

A folder of files that is written whole or not at all, and never replaces files of others.

The folder lists the files written, with a digest of each. A folder that holds anything else, or a file that
was changed since, is refused; one that is as it was written is replaced.
"""

import contextlib
import csv
import hashlib
import io
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from topoopt.base.errors import InvalidInput
from topoopt.base.extras import library
from topoopt.schema.files.content import any_bytes, check_name, read_json

LIST = "written-by-topoopt.json"
"""File that lists the files written."""
CSV, PARQUET = ".csv", ".parquet"
PIECE = 100_000
"""Rows that are held at once."""


def check_table_name(path: str) -> None:
    """Refuse the name of a table that could not be written after the work.

    Raises
    ------
    InvalidInput
        For another suffix, and for Parquet without pyarrow.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in (CSV, PARQUET):
        raise InvalidInput(f"{path}: expected a file name that ends in {CSV} or {PARQUET}")
    if suffix == PARQUET:
        library("pyarrow", "parquet", f"{path}: Parquet ({CSV} needs no library)")


def write_table(path: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all; long ones in pieces, so that they need little memory.

    Parameters
    ----------
    columns : names
    rows : values of each row; ``None`` is empty

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    if PurePath(path).suffix.lower() == PARQUET:
        with whole_file(path) as stream:
            _write_parquet(stream, columns, rows)
    else:
        write_csv(path, columns, rows)


def write_csv(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV, whatever the file is called; see :func:`write_table`."""
    with whole_file(os.fspath(path)) as stream:
        text = io.TextIOWrapper(
            stream, encoding="utf-8", errors="backslashreplace", newline="", write_through=True
        )
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        text.detach()


def _write_parquet(stream: BinaryIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    import pyarrow  # noqa: PLC0415 - not everybody has it
    from pyarrow import parquet  # noqa: PLC0415

    writer = None
    for piece in _pieces(rows):
        by_column = list(zip(*piece, strict=True)) or [()] * len(columns)
        table = pyarrow.table(dict(zip(columns, map(list, by_column), strict=True)))
        writer = writer or parquet.ParquetWriter(stream, table.schema)
        writer.write_table(table)
    assert writer is not None, "there is always a first piece"
    writer.close()


def _pieces(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    """Yield the rows some at a time; of a table without rows, one empty piece."""
    source = iter(rows)
    piece = list(islice(source, PIECE))
    yield piece
    while piece := list(islice(source, PIECE)):
        yield piece


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
    """Open a file to be written in parts, which gets its name at the end, and is deleted on failure.

    Raises
    ------
    InvalidInput
        As :func:`write_atomically`.
    """
    target = target_of(path)
    try:
        handle, temporary = _new_file(target.parent)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if not os.path.lexists(temporary):
                os.link(
                    f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle
                )  # follows the link with a descriptor
        # mkstemp makes private files; a result should get the mode that open() would have given it.
        mask = os.umask(0)
        os.umask(mask)
        mode_of_new_files = 0o666 & ~mask
        Path(temporary).chmod(mode_of_new_files)
        Path(temporary).replace(target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
        raise


def _new_file(folder: Path) -> tuple[int, str]:
    """Return a new file and the name that it has, or is to have once it is whole.

    Without a name until then, nothing of it is left where the process is killed. Not every file system has such files.
    The name is short: with the target's name in it, the longest allowed name would become too long.
    """
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
        if os.path.exists(f"/proc/self/fd/{handle}"):
            return handle, str(folder / f".topoopt.{secrets.token_hex(4)}")
        os.close(handle)
    return tempfile.mkstemp(dir=folder, prefix=".topoopt.")


def check_folder(path: str | Path) -> Path:
    """Return the folder that would be written, not made yet.

    Raises
    ------
    InvalidInput
        If the name is empty or that of a file or a link, its parent is no folder or may not be written, or the folder
        holds files not written by us, or was changed.
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
        if listed[name] != _digest(any_bytes(place)):
            raise InvalidInput(
                f"{path}: {name} was changed since it was written; move it away or name another folder"
            )


def _listed(folder: Path) -> dict[str, str]:
    content = read_json(folder / LIST, foreign=True)
    files = content.get("files") if isinstance(content, dict) else None
    return files if isinstance(files, dict) else {}


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
