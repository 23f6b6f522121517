"""Price lists come with the package or from the user, and are refused in one line."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.pricing import PRICE_TABLES, Item, PartTable, find_power, find_prices

PARTS: tuple[Item, ...] = ("transceiver", "nic", "electrical_port")
LIST_2022 = {
    10: (20, 185, 94),
    25: (39, 185, 144),
    40: (39, 354, 144),
    100: (99, 678, 187),
    200: (198, 815, 374),
}
LIST_2025 = {100: (99, 659, 187), 200: (239, 1079, 374), 400: (659, 1499, 1090), 800: (1399, 2248, 1400)}


@pytest.mark.parametrize(("year", "listed"), [("2022", LIST_2022), ("2025", LIST_2025)])
def test_the_shipped_lists_are_the_published_ones(year: str, listed: dict[int, tuple[int, int, int]]) -> None:
    table = find_prices(year)
    assert table.speeds_bps() == tuple(speed * 1e9 for speed in listed)
    for speed, prices in listed.items():
        assert tuple(table.price_usd(item, speed * 1e9) for item in PARTS) == prices
    assert table.price_usd("patch_panel_port") == 100
    assert table.price_usd("ocs_port") == 520
    assert table.price_usd("optical_switch_1x2") == 25
    assert table.price_usd("fiber_m") == 0.3


@pytest.mark.parametrize("year", PRICE_TABLES)
def test_every_price_says_how_sure_it_is(year: str) -> None:
    for row in find_prices(year).rows:
        assert row.source
        assert row.confidence in ("recalled", "confirmed", "published", "derived", "assumed")
        assert row.date or year != "2026"


def test_a_speed_between_two_listed_ones_is_interpolated() -> None:
    table = find_prices("2022")
    assert table.price_usd("nic", 150e9) == pytest.approx((678 + 815) / 2)
    assert table.price_usd("nic", 5e9) == 185  # nothing slower can be bought
    with pytest.raises(InvalidInput) as caught:
        table.price_usd("nic", 400e9)
    assert str(caught.value) == (
        "prices 2022: no nic of 400 Gb/s: the list ends at 200 Gb/s; use more interfaces, or another price list"
    )


@given(speed=st.floats(10, 200), more=st.floats(0, 50))
@settings(max_examples=50)
def test_no_speed_costs_less_than_a_slower_one(speed: float, more: float) -> None:
    table, faster = find_prices("2022"), min(speed + more, 200)
    for item in PARTS:
        assert table.price_usd(item, faster * 1e9) >= table.price_usd(item, speed * 1e9) - 1e-9


def test_a_user_s_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("item,bandwidth_gbps,usd\nnic,100,500\npatch_panel_port,,80\n")
    (tmp_path / "p.yaml").write_text(
        "prices:\n- {item: nic, bandwidth_gbps: 100, usd: 500}\n- {item: patch_panel_port, usd: 80}\n"
    )
    (tmp_path / "q.yaml").write_text("- {item: nic, bandwidth_gbps: 100, usd: 500}\n")
    tables = [find_prices(f"none,{tmp_path / name}") for name in ("p.csv", "p.yaml", "q.yaml")]
    assert tables[0].rows == tables[1].rows
    assert [table.price_usd("nic", 100e9) for table in tables] == [500] * 3
    with pytest.raises(InvalidInput, match='no price of "ocs_port"; add a row'):
        tables[0].price_usd("ocs_port")
    with pytest.raises(InvalidInput, match='no price of "transceiver"; add a row'):
        tables[0].price_usd("transceiver", 100e9)


@pytest.mark.parametrize(
    ("usd", "price"), [("1450", 1450), ("1.450,00", 1450), ("$1450", 1450), ("1.449,5 USD", 1449.5)]
)
def test_a_price_of_a_european_spreadsheet_is_read(tmp_path: Path, usd: str, price: float) -> None:
    path = tmp_path / "prices.csv"
    text = f"item;bandwidth_gbps;usd;confidence;source\r\nnic;400;{usd};user;Angebot\r\ntransceiver;400;610;user;\r\n"
    path.write_text(text, encoding="utf-8-sig", newline="")
    assert find_prices(f"none,{path}").price_usd("nic", 400e9) == price


def test_a_price_that_may_be_thousands_is_refused(tmp_path: Path) -> None:
    """A re-creation of a European spreadsheet: 1.450 beside semicolons is 1450 there, and 1.45 elsewhere."""
    path = tmp_path / "prices.csv"
    path.write_text("item;bandwidth_gbps;usd;confidence;source\nnic;400;1.450;user;Angebot\n")
    with pytest.raises(InvalidInput, match=r'line 2: "1.450" may be 1450 or 1.45 in a table with semicolons'):
        find_prices(str(path))


def test_a_file_of_two_prices_overrides_two_rows(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item,bandwidth_gbps,usd,source\nnic,400,1200,an offer\nbreakout_cable,,60,an offer\n")
    for name, base in ((str(path), "2026"), (f"2025,{path}", "2025")):
        laid, under = find_prices(name), find_prices(base)
        changed = [row for row in laid.rows if row not in under.rows]
        assert {(row.item, row.value, row.source) for row in changed} == {
            ("nic", 1200, "an offer"),
            ("breakout_cable", 60, "an offer"),
        }
        assert laid.name == f"{base},{path}"
        kept = [row for row in under.rows if row.item != "breakout_cable" and row.key != ("nic", 400e9, "")]
        assert [row for row in laid.rows if row in under.rows] == kept
    (tmp_path / "later.csv").write_text("item,bandwidth_gbps,usd\nnic,400,1100\n")
    both = find_prices("mine.csv, later.csv", tmp_path)
    assert (both.price_usd("nic", 400e9), both.price_usd("breakout_cable")) == (1100, 60)
    with pytest.raises(InvalidInput, match="prices: none has no rows"):
        find_prices("none")


def test_a_switch_has_a_price_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "switch.yaml"
    path.write_text("- {item: switch, name: NVIDIA SN5600, usd: 60000, date: '2026-11'}\n")
    (row,) = find_prices(f"none,{path}").rows
    assert (row.name, row.value, row.date) == ("NVIDIA SN5600", 60000, "2026-11")
    for text, message in (
        ("- {item: switch, usd: 5}\n", "switch needs a name"),
        ("- {item: fiber_m, name: thick, usd: 5}\n", "fiber_m has no name"),
        ("- {item: switch, name: SN5601, usd: 5}\n", "switch: unknown name"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            find_prices(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,bandwidth_gbps,usd\nnick,100,5\n",
            'row 1: item: unknown name "nick"; did you mean nic? A row without an item is told all 18 names',
        ),
        ("item,bandwidth_gbps,usd\nnic,100,-5\n", 'row 1: usd: expected a number >= 0, got "-5"'),
        ("item,bandwidth_gbps,usd\nnic,100,1_450\n", 'row 1: usd: expected a number >= 0, got "1_450"'),
        ("item,bandwidth_gbps,usd\nnic,100,\n", 'row 1: missing key "usd": expected a number >= 0'),
        ("item,bandwidth_gbps,usd\nnic,,5\n", "row 1: nic needs a bandwidth_gbps"),
        ("item,bandwidth_gbps,usd\nocs_port,10,5\n", "row 1: ocs_port has no bandwidth_gbps"),
        (
            "item,gbps,usd\nnic,100,5\n",
            'column 2: unknown name "gbps"; did you mean bandwidth_gbps? '
            "Known: bandwidth_gbps, confidence, date, high_usd, item, low_usd, name, source, usd",
        ),
        ("item,bandwidth_gbps,usd\nnic,100,5,x,y,z\n", "line 2: expected 3 cells as in the header, got 6"),
        ("", "expected a header row with item and usd, and rows, got an empty file"),
    ],
)
def test_a_bad_row_is_one_line_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        find_prices(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_a_price_that_stands_twice_and_an_unknown_list_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("item,bandwidth_gbps,usd\nnic,100,5\nnic,100,6\n")
    with pytest.raises(InvalidInput, match="nic of 100 Gb/s stands twice"):
        find_prices(str(path))
    other = tmp_path / "slurm.conf"
    with pytest.raises(InvalidInput, match=r"^prices: .*slurm\.conf: no such file$"):
        find_prices(str(other))
    other.touch()
    with pytest.raises(InvalidInput, match=r"^prices: .*slurm\.conf: is no price list; .* \.csv, .*\.yaml"):
        find_prices(str(other))
    with pytest.raises(InvalidInput, match='prices: unknown name "2023"; did you mean'):
        find_prices("2023")
    with pytest.raises(InvalidInput, match=r"no such file"):
        find_prices(str(tmp_path / "none.csv"))


def test_a_range_comes_with_a_price_and_holds_it(tmp_path: Path) -> None:
    row = next(row for row in find_prices("2026").rows if row.key == ("transceiver", 1600e9, ""))
    assert (row.low, row.value, row.high) == (1200, 2000, 3750)
    path = tmp_path / "mine.csv"
    path.write_text("item,bandwidth_gbps,usd,low_usd\nnic,100,500,600\n")
    with pytest.raises(
        InvalidInput, match=r"mine\.csv: row 1: nic: 500 lies outside of its own range, 600 to 500"
    ):
        find_prices(str(path))


@pytest.mark.parametrize("table", [find_prices("2026"), find_power()], ids=["prices", "watts"])
def test_what_is_assumed_at_the_newest_speeds_has_a_range(table: PartTable) -> None:
    new = [row for row in table.rows if row.confidence == "assumed" and row.bandwidth_bps == 1600e9]
    assert new
    assert all(row.low is not None and row.high is not None for row in new)
    assert {row.confidence for row in table.rows} <= {"published", "derived", "recalled", "assumed"}


def test_a_misspelled_item_is_told_the_nearest_and_an_empty_one_all(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item,bandwidth_gbps,usd\nnicc,100,5\n")
    with pytest.raises(InvalidInput, match='row 1: item: unknown name "nicc"; did you mean nic') as error:
        find_prices(str(path))
    assert "fiber_m" not in str(error.value)
    path.write_text("item,bandwidth_gbps,usd\n,100,5\n")
    with pytest.raises(InvalidInput, match="missing key") as error:
        find_prices(str(path))
    assert all(item in str(error.value) for item in get_args(Item))
