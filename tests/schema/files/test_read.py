"""Files are read whole, and what is no file is refused."""

import os
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import is_file, read_bytes, read_text


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "plan.bin"
    binary.write_bytes(b"\x89NG\xff")
    zeros = tmp_path / "zeros"
    zeros.write_bytes(bytes(4))
    for path, part in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "is a directory"),
        (binary, "not a text file: byte 0"),
        (zeros, "not a text file: it holds a NUL"),
    ):
        with pytest.raises(InvalidInput, match=part):
            read_text(path)


def test_what_might_never_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidInput, match="is a device or a pipe"):
            read_bytes(path)


def test_a_file_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(2**33)  # takes no room on the disk
    with pytest.raises(InvalidInput, match="larger than 4 GiB"):
        read_bytes(tmp_path / "large")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("n" * 300, "File name too long"),
        ("a\0b", "a file name holds no NUL"),
        ("\udcff.json", "not UTF-8 text"),
    ],
)
def test_a_name_that_no_file_can_have(name: str, part: str) -> None:
    assert not is_file(name)
    with pytest.raises(InvalidInput, match=part):
        read_bytes(name)
