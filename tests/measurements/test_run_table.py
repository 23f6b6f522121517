"""The reader of measured runs: headings as people write them, lines without cells, what is refused, for every kind."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements import RunColumns, read_run_table
from topoopt.measurements.run_table import plain_heading
from topoopt.measurements.serving.run import COLUMNS as SERVING
from topoopt.measurements.training.run import COLUMNS as TRAINING
from topoopt.reinforcement.runs import COLUMNS as RL
from topoopt.schema.files import packaged_rows

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
KINDS = {"train": TRAINING, "serving": SERVING, "rl": RL}
pytestmark = pytest.mark.parametrize("kind", KINDS)


def written(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_bytes(text.encode())
    return path


def table(known: RunColumns, *more: str, separator: str = ",") -> str:
    names = (*known.needed, *more)
    return separator.join(names) + "\n" + separator.join("1" for _ in names) + "\n"


def test_the_published_table_has_no_column_that_is_not_known(kind: str) -> None:
    found = read_run_table(DATA / f"{kind}_runs.csv", KINDS[kind])
    assert found.unknown_columns == ()
    assert all(row.name and row.dataset != "runs" for row in found.rows)


def test_no_heading_means_two_columns(kind: str) -> None:
    meant: dict[str, set[str]] = {}
    for row in packaged_rows(KINDS[kind].room, "run_columns"):
        for name in (row["column"], *row.get("other_names", "").split()):
            meant.setdefault(plain_heading(name), set()).add(row["column"])
            assert KINDS[kind].column_of(name) == row["column"]
    assert all(len(columns) == 1 for columns in meant.values())


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_headings_may_be_written_in_other_ways(tmp_path: Path, kind: str, separator: str) -> None:
    known = KINDS[kind]
    text = table(known, "weather", separator=separator)
    found = read_run_table(written(tmp_path, text.upper()), known)
    assert found.unknown_columns == ("WEATHER",)
    assert {name: found.rows[0].cells[name] for name in known.needed} == dict.fromkeys(known.needed, "1")


def test_lines_without_cells_are_no_rows_and_a_cell_may_have_lines(tmp_path: Path, kind: str) -> None:
    head, first = table(KINDS[kind], "note").split()
    second = first[:-1] + '"two\nlines\u2028"'
    text = f"\ufeff{head}\r\n\r\n{first}\r\n,,,\r\n  \r\n{second}\r\n".replace(",,,", "," * head.count(","))
    found = read_run_table(written(tmp_path, text), KINDS[kind])
    assert [row.cells["note"] for row in found.rows] == ["1", "two\nlines\u2028"]
    assert [(row.place, row.name, row.dataset) for row in found.rows] == [
        (0, "line 3", "runs"),
        (1, "line 7", "runs"),
    ]


def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    known = KINDS[kind]
    whole = table(known)
    columns, (first, *others) = len(known.needed), known.needed
    for text, complaint in {
        "": "is empty; expected a table of runs with columns " + ", ".join(known.needed),
        "a,b\n1,2\n": f"not a table of runs: there is no column {first}; needed: {', '.join(known.needed)}",
        ",".join(others) + "\n": f"there is no column {first}",
        whole.splitlines()[0]: "has columns and no row",
        table(known, first.upper()): f'the columns "{first}" and "{first.upper()}" say the same',
        table(known, *map(str, range(1000))): "columns, and cells of up to",
        f"{whole}{'1,' * (columns - 1)}{' ' * 3000}1\n": "and cells of up to 3001 characters",
        f"{whole}1\n": f"line 3: expected {columns} cells as in the first line, got 1",
        f'{whole}"open': "line 3: not valid CSV",
    }.items():
        with pytest.raises(InvalidInput) as caught:
            read_run_table(written(tmp_path, text), known)
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_heading_that_is_nearly_known_is_refused(tmp_path: Path, kind: str) -> None:
    known = KINDS[kind]
    path = written(tmp_path, table(known, "datasett"))
    with pytest.raises(InvalidInput, match='line 1: unknown column "datasett"; did you mean dataset'):
        read_run_table(path, known)
    path = written(tmp_path, table(known, "dataset", "datasett"))
    assert read_run_table(path, known).unknown_columns == ("datasett",)
