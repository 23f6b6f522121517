"""CSV rows come with their lines."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import csv_lines, packaged_rows


def test_a_cell_may_be_longer_than_python_likes() -> None:
    assert csv_lines("a," + "x" * 200_000, "t.csv")[0][1][1] == "x" * 200_000


def test_a_row_has_its_line_also_behind_a_cell_of_two_lines() -> None:
    assert csv_lines('a,"b\nc"\nd,e\n', "t.csv") == [(2, ["a", "b\nc"]), (3, ["d", "e"])]


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"t\.csv: line 2: not valid CSV"):
        csv_lines('a,b\n"a"x,b\n', "t.csv", strict=True)


def test_rows_that_come_with_the_package_are_read_by_room_and_name() -> None:
    rows = packaged_rows("workloads.transformer", "config_keys")
    assert {"key": "num_hidden_layers", "word": "layers", "meaning": "number of layers"} in rows
