"""Watts come with their source, from the package or from the user, and what is not known is not invented."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.pricing import PAPER, PRICE_TABLES, Item, bill_of_materials, find_power, find_prices


def test_every_figure_says_where_it_comes_from_and_how_sure_it_is() -> None:
    for row in find_power().rows:
        assert row.source
        assert row.confidence in ("published", "recalled", "derived", "assumed")


def test_between_two_listed_speeds_it_is_interpolated_and_above_the_list_nothing_is_known() -> None:
    table = find_power()
    assert table.known_value("nic", 300e9) == pytest.approx((19.3 + 24.9) / 2)
    assert table.known_value("electrical_port", 10e9) == table.known_value("electrical_port", 100e9)
    assert table.known_value("nic", 400e9) == 24.9
    assert table.known_value("nic", 3200e9) is None


def test_a_figure_that_is_listed_is_what_the_row_says() -> None:
    for table in (find_power(), *(find_prices(year) for year in PRICE_TABLES)):
        for row in table.rows:
            assert table.known_value(row.item, row.bandwidth_bps) == row.value
            assert table.rows_behind(row.item, row.bandwidth_bps) == (row,)
            assert not table.basis(row.item, row.bandwidth_bps)


@pytest.mark.parametrize("item", ["nic", "transceiver", "electrical_port"])
def test_faster_parts_draw_no_less(item: Item) -> None:
    table = find_power()
    watts = [table.known_value(item, gbps * 1e9) for gbps in (10, 25, 40, 100, 200, 400)]
    known = [value for value in watts if value is not None]
    assert known == sorted(known)
    assert len(known) == len(watts)


def test_the_rows_behind_a_figure_are_those_it_is_made_of() -> None:
    power, prices = find_power(), find_prices("2022")
    assert [row.bandwidth_bps for row in power.rows_behind("nic", 300e9)] == [200e9, 400e9]
    assert [row.bandwidth_bps for row in power.rows_behind("nic", 100e9)] == [100e9]
    assert [row.bandwidth_bps for row in prices.rows_behind("nic", 1e9)] == [10e9]
    assert power.rows_behind("nic", 3200e9) == ()
    assert [row.value for row in prices.rows_behind("ocs_port")] == [520]


def test_a_user_s_file_lies_over_the_typical_figures_and_behind_none_alone(tmp_path: Path) -> None:
    path = tmp_path / "watts.csv"
    path.write_text(
        "item,bandwidth_gbps,watts\nnic,100,20\ntransceiver,100,4\npatch_panel_port,,0\nfiber_m,,0\n"
    )
    words = ("topoopt", 16, 4, 100e9, find_prices("2022"), PAPER)
    over = bill_of_materials(*words, power=find_power(str(path)))
    assert over.power_w == pytest.approx(64 * 24)  # the 1×2 switches are those of the typical table
    alone = find_power(f"none,{path}")
    bill = bill_of_materials(*words, power=alone)
    assert bill.power_w is None
    assert bill.power_missing == ("optical_switch_1x2",)
    assert bill.known_power_w == pytest.approx(64 * 24)
    yaml = tmp_path / "watts.yaml"
    yaml.write_text("power:\n- {item: nic, bandwidth_gbps: 100, watts: 20}\n")
    assert find_power(str(yaml)).known_value("nic", 100e9) == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,bandwidth_gbps,watts\nnic,100,-5\n", 'row 1: watts: expected a number >= 0, got "-5"'),
        ("item,bandwidth_gbps,watts\nnic,,5\n", "row 1: nic needs a bandwidth_gbps"),
        ("item,bandwidth_gbps,watts\nfiber_m,10,5\n", "row 1: fiber_m has no bandwidth_gbps"),
        (
            "item,bandwidth_gbps,usd\nnic,100,5\n",
            'column 3: unknown name "usd"; '
            "Known: bandwidth_gbps, confidence, date, high_watts, item, "
            "low_watts, name, source, watts",
        ),
        ("item,bandwidth_gbps,watts\nnic,100,\n", 'row 1: missing key "watts": expected a number >= 0'),
        ("", "expected a header row with item and watts, and rows, got an empty file"),
    ],
)
def test_a_bad_row_is_one_line_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "watts.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        find_power(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_a_figure_that_stands_twice_and_an_unknown_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "watts.csv"
    path.write_text("item,bandwidth_gbps,watts\nnic,100,5\nnic,100,6\n")
    with pytest.raises(InvalidInput, match="nic of 100 Gb/s stands twice"):
        find_power(str(path))
    with pytest.raises(InvalidInput, match='power: unknown name "tipical"; did you mean typical'):
        find_power("tipical")
