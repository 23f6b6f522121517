"""CSV rows come with their lines, whatever a spreadsheet writes between and inside the cells."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import csv_lines, headed_rows, make_plain, packaged_rows, read_text


def test_a_cell_may_be_longer_than_python_likes() -> None:
    assert csv_lines("a," + "x" * 200_000, "t.csv")[0][1][1] == "x" * 200_000


def test_a_row_has_its_line_also_behind_a_cell_of_two_lines() -> None:
    assert csv_lines('a,"b\nc"\nd,e\n', "t.csv") == [(2, ["a", "b\nc"]), (3, ["d", "e"])]


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"t\.csv: line 2: not valid CSV"):
        csv_lines('a,b\n"a"x,b\n', "t.csv")


def test_rows_that_come_with_the_package_are_read_by_room_and_name() -> None:
    rows = packaged_rows("workloads.transformer", "config_keys")
    assert {"key": "num_hidden_layers", "word": "layers", "meaning": "number of layers"} in rows


def cells(text: str) -> list[list[str]]:
    return [row for _, row in csv_lines(text, "t.csv")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_separator_is_that_of_the_first_line(separator: str, end: str) -> None:
    text = end.join(separator.join(row) for row in (("item", "usd"), ("nic", "640"), ('"a;b, c\td"', "5")))
    assert cells(text) == [["item", "usd"], ["nic", "640"], ["a;b, c\td", "5"]]


def test_a_sign_in_a_heading_separates_nothing_unless_all_rows_have_it() -> None:
    assert cells("time, name;note\n1,a\n2,b\n") == [["time", " name;note"], ["1", "a"], ["2", "b"]]
    assert cells("0,5;1,2\n3,25;4\n") == [["0.5", "1.2"], ["3.25", "4"]]
    assert cells("sep=;\r\na;b\r\n1;2\r\n") == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("written", "number"),
    [("1.234,50", "1234.50"), ("1,234.5", "1234.5"), ("1.234.567", "1234567"), ("0,125", "0.125"),
     ("-1234,5", "-1234.5"), ("1’234", "1234"), ("1\u202f234,5", "1234.5"), ("1,5e3", "1.5e3"), ("1.450e3", "1.450e3"),
     (",5", ".5"), ("1.2.3", "1.2.3"), ("v1,5", "v1,5"), ("2026-01-05", "2026-01-05"), ("1 234", "1 234"),
     ("1 090,25", "1090.25"), ("-1 234 567.5", "-1234567.5"), ("12 34,5", "12 34,5")],
)  # fmt: skip
def test_beside_semicolons_a_number_that_says_its_decimal_sign_is_read(written: str, number: str) -> None:
    assert cells(f"a;b\nx;{written}\n")[1][1] == number


@pytest.mark.parametrize(
    ("others", "written", "number"),
    [
        ("0,5", "1.450", "1450"),
        ("0.5", "1.450", "1.450"),
        ("0,5", "1,450", "1.450"),
        ("0.5", "1,450", "1450"),
    ],
)
def test_what_may_be_thousands_is_read_as_the_other_numbers_say(
    others: str, written: str, number: str
) -> None:
    assert cells(f"a;b\n{written};{others}\n")[1][0] == number


@pytest.mark.parametrize("others", ["", "7", "0,5;0.5"])
def test_what_may_be_thousands_is_refused_where_nothing_says_it(others: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cells(f"a;b;c\n1.450;{others}\n")
    assert str(caught.value) == (
        't.csv: line 2: "1.450" may be 1450 or 1.45 in a table with semicolons or tabs; write 1450 or 1.4500'
    )


def test_beside_commas_the_decimal_sign_is_a_point() -> None:
    assert cells('a,b,c\n1.450,"1,450","1,450.5"\n')[1] == ["1.450", "1450", "1450.5"]
    assert cells('a\n"1,5"\n')[1] == ["1,5"]  # no number: whoever wants one refuses it


def test_dollars_are_numbers_in_a_column_of_dollars_and_other_money_is_refused() -> None:
    assert cells('a,usd\n$5,"$1,450"\n5,1450 USD\n') == [["a", "usd"], ["$5", "1450"], ["5", "1450"]]
    with pytest.raises(InvalidInput, match=r't\.csv: line 2: expected US dollars, got "1450 €"; convert'):
        cells("a;usd\nx;1450 €\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "an empty file"), ("a,b\n", "the header alone"), ("a,a\n1,2\n", 'column 2: "a" stands twice'),
     ("a,bb\n1,2\n", 'column 2: unknown name "bb"'), ("b\n1\n", 'missing column "a"'), ('a\n"1\n', "not valid CSV")],
)  # fmt: skip
def test_a_header_that_is_not_understood_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        headed_rows(text, "t.csv", ("a", "b"), "rows", needed=("a",))


def test_a_row_has_as_many_cells_as_the_header() -> None:
    with pytest.raises(InvalidInput, match=r"t\.csv: line 3: expected 2 cells as in the header, got 3"):
        list(headed_rows("a,b\n1,2\n1,2,3\n", "t.csv", ("a", "b"), "rows")[1])


def test_empty_columns_behind_the_last_are_left_out() -> None:
    header, rows = headed_rows("a;b;;\n1;2;;\n", "t.csv", ("a", "b"), "rows")
    assert header == ["a", "b"]
    assert [cells for _, _, cells in rows] == [{"a": "1", "b": "2"}]
    with pytest.raises(InvalidInput, match="expected 2 cells as in the header, got 4"):
        list(headed_rows("a;b;;\n1;2;;3\n", "t.csv", ("a", "b"), "rows")[1])


def test_unicode_text_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("Stück\tusd\r\nä\t0,5\r\n".encode("utf-16"))
    assert cells(read_text(path)) == [["Stück", "usd"], ["ä", "0.5"]]
    path.write_bytes(b"\xff\xfea\x00\x00")
    with pytest.raises(InvalidInput, match="not a text file: byte 4 is not UTF-16"):
        read_text(path)


def test_windows_1252_is_read_in_tables_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("item;usd;source\r\nnic;640,50;Angebot für 1 €\r\n".encode("cp1252"))
    assert cells(read_text(path))[1] == ["nic", "640.50", "Angebot für 1 €"]
    with pytest.raises(InvalidInput, match="not a text file: byte"):
        read_text(path.rename(tmp_path / "t.yaml"))
    path.write_bytes(b"a;b\n\x81;\xfc\n")
    with pytest.raises(InvalidInput, match="not a text file: byte 4 is not UTF-8"):
        read_text(path)


def test_a_number_keeps_its_unit_and_a_name_its_digits() -> None:
    text = "name;bandwidth\n0,5;100,5 Gbps\n1.450;1.450,5Gb/s\n"
    rows = [(line, list(row)) for line, row in enumerate((one.split(";") for one in text.splitlines()), 1)]
    make_plain(rows, "", european=True, left=(0,))
    assert [row for _, row in rows[1:]] == [["0,5", "100.5 Gbps"], ["1.450", "1450.5Gb/s"]]
    with pytest.raises(InvalidInput, match=r'^line 3: "1\.450" may be 1450 or 1\.45'):
        make_plain([(3, ["a", "1.450 Gbps"])], "", european=True)
