"""Tables as CSV and Parquet: whole or not at all, in pieces, with empty cells."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import write_table

ROWS = [(number, f"name, {number}", None) for number in range(10)]


@pytest.mark.parametrize("piece", [3, 10, 100])
def test_rows_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="topoopt[parquet] is not installed")
    monkeypatch.setattr("topoopt.schema.files.table.PIECE", piece)
    for name in ("t.csv", "t.parquet"):
        write_table(str(tmp_path / name), ("a", "b", "c"), iter(ROWS))
    assert (tmp_path / "t.csv").read_text() == "a,b,c\n" + "".join(f'{n},"{name}",\n' for n, name, _ in ROWS)
    read = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [tuple(row.values()) for row in read] == ROWS


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="topoopt[parquet] is not installed")
    for name in ("t.csv", "t.parquet"):
        write_table(str(tmp_path / name), ("a", "b"), [])
    assert (tmp_path / "t.csv").read_text() == "a,b\n"
    assert parquet.read_table(tmp_path / "t.parquet").column_names == ["a", "b"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_what_is_interrupted_leaves_nothing(tmp_path: Path, name: str) -> None:
    def rows() -> Iterator[tuple[int]]:
        yield (1,)
        raise KeyboardInterrupt

    (tmp_path / name).write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_table(str(tmp_path / name), ("a",), rows())
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        write_table(str(tmp_path / "no" / "t.csv"), ("a",), [])
