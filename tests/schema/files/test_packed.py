"""Packed files: whole, damaged in every way, and made to fill the memory; whatever a decoder raises is one line."""

import gzip
import io
import lzma
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import decoding, unpacked, zip_entry

TEXT = b"".join(b"line %d of a trace\n" % number for number in range(2000))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
def test_content_is_that_of_the_packed_file(pack: type[bytes]) -> None:
    assert unpacked(pack(TEXT), "f") == TEXT
    assert unpacked(pack(TEXT), "f", 100) in (TEXT[:100], TEXT)


def test_files_that_were_joined_are_read_to_the_end() -> None:
    assert unpacked(gzip.compress(TEXT) + gzip.compress(b"end"), "f") == TEXT + b"end"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_every_damaged_byte_and_every_cut_is_one_line(pack: type[bytes]) -> None:
    data = pack(TEXT)
    for place in range(2 if pack is gzip.compress else 6, len(data), 97):
        with pytest.raises(
            InvalidInput,
            match=r"^f: cannot be unpacked with (gzip|xz): Compressed file ended .*; copy the file again$",
        ):
            unpacked(data[:place], "f")
        with suppress(InvalidInput):  # a byte of a header may not matter
            assert unpacked(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :], "f") == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_file_that_grows_beyond_measure_is_refused(pack: type[bytes]) -> None:
    with pytest.raises(InvalidInput, match="grows beyond 100 times its size"):
        unpacked(pack(bytes(5 << 20)), "f")
    assert len(unpacked(pack(bytes(5 << 20)), "f", 1000)) == 1000


def archive(text: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        made.writestr("a/model.json", text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no archive", "no thing, or cut short: File is not a zip file; do it again"),
        (archive(TEXT)[:-30], "no thing, or cut short: "),
        (archive(bytes(5 << 20)), "a/model.json: grows beyond 100 times its size"),
        (archive(TEXT, zipfile.ZIP_LZMA), "a/model.json: packed by a method other than deflate"),
        (archive(TEXT).replace(b"a/model.json", b"a/mode1.json"), "an archive without model.json"),
        (archive(TEXT)[:60] + b"\xff" * 40 + archive(TEXT)[100:], "no thing, or cut short: "),
    ],
)
def test_archives_that_cannot_be_read_are_one_line(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.zip"
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=message):
        zip_entry(path, ("model.json",), "thing", "do it again")


@pytest.mark.parametrize(
    "error", [KeyError("graph"), RecursionError(), EOFError(), MemoryError("7 EiB are needed")]
)
def test_whatever_a_decoder_raises_is_one_line(error: Exception) -> None:
    message = (
        f"^f: is none: .*({type(error).__name__}|its sizes or its header are damaged).*; copy the file again$"
    )
    with pytest.raises(InvalidInput, match=message), decoding("f", "is none"):
        raise error


def test_our_own_errors_pass() -> None:
    with pytest.raises(InvalidInput, match=r"^mine$"), decoding("f", "is none"):
        raise InvalidInput("mine")
