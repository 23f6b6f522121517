"""CSV rows come with their lines."""

import pytest

from topoopt.errors import InvalidInput
from topoopt.files import csv_lines


def test_a_cell_may_be_longer_than_python_likes() -> None:
    assert csv_lines("a," + "x" * 200_000, "t.csv")[0][1][1] == "x" * 200_000


def test_a_row_has_its_line_also_behind_a_cell_of_two_lines() -> None:
    assert csv_lines('a,"b\nc"\nd,e\n', "t.csv") == [(2, ["a", "b\nc"]), (3, ["d", "e"])]


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"t\.csv: line 2: not valid CSV"):
        csv_lines('a,b\n"a"x,b\n', "t.csv", strict=True)
