"""Packed files (gzip, xz, zip) within a budget of memory; one line for each error of a foreign decoder."""

import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError

from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.schema.files.content import read_bytes

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
MOST_PACKING = 100
"""Most bytes for a packed one; traces pack about 20 to 1, and a file that was made to fill the memory 1000 to 1."""
SMALLEST_LIMIT_BYTES = 4 << 20
_XZ_MEMORY_BYTES = 128 << 20
"""Above the 66 MB that unpacking what ``xz -9`` wrote needs."""
_PIECE_BYTES = 1 << 20
_AGAIN = "copy the file again"


@contextmanager
def decoding(place: object, failure: str, remedy: str = _AGAIN) -> Iterator[None]:
    """Raise one line where a decoder of other people's formats fails; each has errors of its own, and some have bugs.

    Parameters
    ----------
    place : prefix of the message
    failure : the middle of the message, such as ``no model in ONNX``
    remedy : end of the message

    Raises
    ------
    InvalidInput
        For every exception but one of ours. A lack of memory is one, too: sizes in a damaged file are arbitrary.
    """
    try:
        yield
    except TopoOptError:
        raise
    except Exception as error:  # zlib.error, EOFError, struct.error, protobuf's, RecursionError and many more
        reason = str(error).strip(" .")
        reason = reason if " " in reason else f"{type(error).__name__} {reason}".strip()
        reason = (
            "it has no such header, or holds pickled objects, which are never loaded"
            if "pickle" in reason
            else reason
        )
        if isinstance(error, MemoryError | SyntaxError | TokenError):
            reason = "its sizes or its header are damaged"
        raise InvalidInput(f"{place}: {failure}: {reason}; {remedy}") from None


def unpacked(data: bytes, place: str, most: int | None = None) -> bytes:
    """Return the content of a file's bytes: unpacked if they are packed with gzip or xz, else as they are.

    Parameters
    ----------
    most : int, optional
        Number of bytes that are needed of a packed one, fewer where it is damaged behind its beginning; all of it, if
        it is not given.

    Raises
    ------
    InvalidInput
        If they are damaged or cut short, or grow more than a hundredfold.
    """
    kind = "gzip" if data.startswith(GZIP) else "xz" if data.startswith(XZ) else ""
    if not kind:
        return data
    limit = max(SMALLEST_LIMIT_BYTES, MOST_PACKING * len(data))
    pieces, length = [], 0
    try:
        with decoding(place, f"cannot be unpacked with {kind}"):
            for piece in _from_gzip(data) if kind == "gzip" else _from_xz(data):
                pieces.append(piece)
                length += len(piece)
                if length >= (limit if most is None else most):
                    break
    except InvalidInput:
        if most is None or not pieces:
            raise
    if most is None and length >= limit:
        grows = f"the {kind} file grows beyond {MOST_PACKING} times its size"
        raise InvalidInput(f"{place}: {grows}; unpack it, or give less of it")
    return b"".join(pieces)[:most]


def _from_gzip(data: bytes) -> Iterator[bytes]:
    """Yield the content in pieces, that of files that were joined one after the other."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        yield from iter(lambda: stream.read1(_PIECE_BYTES), b"")


def _from_xz(data: bytes) -> Iterator[bytes]:
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
    fed = data
    while not decoder.eof:
        if decoder.needs_input and not fed:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        yield decoder.decompress(fed, _PIECE_BYTES)
        fed = b""


def zip_entry(path: str | Path, endings: tuple[str, ...], what: str, remedy: str) -> bytes:
    """Return the first file in an archive whose name ends in one of these.

    Raises
    ------
    InvalidInput
        If the file is no archive, is damaged, has no such file, or the file would grow more than a hundredfold.
    """
    with (
        decoding(path, f"no {what}, or cut short", remedy),
        zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive,
    ):
        entry = next((one for one in archive.infolist() if one.filename.endswith(endings)), None)
        if entry is None:
            raise InvalidInput(f"{path}: an archive without {' or '.join(endings)}; {remedy}")
        if entry.file_size > max(SMALLEST_LIMIT_BYTES, MOST_PACKING * entry.compress_size):
            raise InvalidInput(
                f"{path}: {entry.filename}: grows beyond {MOST_PACKING} times its size; {remedy}"
            )
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidInput(f"{path}: {entry.filename}: packed by a method other than deflate; {remedy}")
        return archive.read(entry)
