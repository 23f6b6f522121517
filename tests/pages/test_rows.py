"""Rows as a table and as bars: every way of naming a value, and how it is written."""

from dataclasses import dataclass

from topoopt.pages.tables import bars, facts, joined, number, table, text


@dataclass(frozen=True)
class Part:
    name: str
    time_s: float
    cost_usd: float | None = None


ROWS = ({"part": Part("switch", 0.002, 1500.0), "share": 0.25}, {"part": Part("cable", 3.0), "share": 0.75})


def test_a_value_is_written_by_the_unit_in_its_name_or_as_the_column_says() -> None:
    described = table(
        "Parts",
        ROWS,
        text("part", "part.name"),
        number("time", "part.time_s"),
        number("price", "part.cost_usd"),
        number("share", "share", ".0%"),
        number("twice", lambda row: 2 * row["share"], ".1f"),
        text("loud", "part.name", str.upper),
        folded=True,
    )
    assert described.columns == ("part", "time", "price", "share", "twice", "loud")
    assert described.rows == (
        ("switch", "2 ms", "$1.5 k", "25%", "0.5", "SWITCH"),
        ("cable", "3 s", "–", "75%", "1.5", "CABLE"),
    )
    assert described.numbers == ("time", "price", "share", "twice")
    assert described.folded


def test_things_that_belong_together_are_rows() -> None:
    rows = joined(part=(row["part"] for row in ROWS), share=(row["share"] for row in ROWS))
    described = table("", rows, text("part", "part.name"), number("share", "share", ".2f"))
    assert described.rows == (("switch", "0.25"), ("cable", "0.75"))


def test_bars_are_the_same_values_over_a_scale() -> None:
    (series,) = bars(ROWS, "part.name", {"time": "part.time_s"}, 1e-3)
    assert (series.name, series.x, series.y) == ("time", ("switch", "cable"), (2.0, 3000.0))


def test_only_the_first_of_several_lines_bears_the_name() -> None:
    block = facts({"rings": ["stride 1", "stride 5"], "none": [], "routing": "ecmp"})
    assert block.rows == (("rings", "stride 1"), ("", "stride 5"), ("routing", "ecmp"))
