"""A folder is written whole or not at all, and never takes the place of what others put there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import check_folder, write_folder

FILES: dict[str, str | bytes] = {"a.txt": "one", "deep/b.bin": b"\x00two"}


def there(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_files_and_a_list_of_them_are_written(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", FILES)
    written = there(tmp_path / "d")
    assert written.pop("written-by-topoopt.json").count(b"sha256:") == 2
    assert written == {"a.txt": b"one", "deep/b.bin": b"\x00two"}


def test_what_was_written_before_is_replaced_and_nothing_is_left_beside(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", FILES)
    write_folder(tmp_path / "d", {"c.txt": "three"})
    assert set(there(tmp_path / "d")) == {"c.txt", "written-by-topoopt.json"}
    assert [one.name for one in tmp_path.iterdir()] == ["d"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    write_folder(tmp_path / "d", FILES)
    assert len(there(tmp_path / "d")) == 3


def foreign_file(folder: Path) -> None:
    (folder / "mine.txt").write_text("mine")


def changed_file(folder: Path) -> None:
    (folder / "a.txt").write_text("mine")


def link_for_file(folder: Path) -> None:
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to("/etc/hostname")


def broken_list(folder: Path) -> None:
    (folder / "written-by-topoopt.json").write_text("[]")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (foreign_file, "holds mine.txt, which topoopt has not written; name another folder"),
        (changed_file, "a.txt was changed since it was written; move it away or name another folder"),
        (link_for_file, "holds a.txt, which topoopt has not written"),
        (broken_list, ", which topoopt has not written; name another folder"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_folder_with_anything_else_is_refused_and_stays(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    write_folder(tmp_path / "d", FILES)
    spoil(tmp_path / "d")
    before = there(tmp_path / "d")
    with pytest.raises(InvalidInput) as caught:
        write_folder(tmp_path / "d", {"c.txt": "three"})
    assert message in str(caught.value)
    assert there(tmp_path / "d") == before
    assert [one.name for one in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "expected the name of a folder, got nothing"),
        ("file", "is a file or a link, expected a folder"),
        ("link", "is a file or a link, expected a folder"),
        ("gone/d", "gone does not exist"),
        ("half\udc80", "the name is not UTF-8 text"),
    ],
)
def test_a_name_where_no_folder_can_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        check_folder(name)
    assert message in str(caught.value)


def test_a_write_that_fails_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "d", FILES)
    before = there(tmp_path / "d")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
        write_folder(tmp_path / "d", {"c.txt": "three"})
    assert there(tmp_path / "d") == before
    assert [one.name for one in tmp_path.iterdir()] == ["d"]
