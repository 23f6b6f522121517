"""The answer about testbeds as JSON, as a table, as a page."""

import pytest

from topoopt.pages import page_of, page_text
from topoopt.plugins.testbeds import TestbedsAnswer
from topoopt.plugins.testbeds.network import TestbedState

STATE = TestbedState(
    "hall", ("topoopt-hall-s0", "topoopt-hall-s1"), 2, 1, "destination", 1000.0, 25e6, 1, 1, True, True
)


def test_a_row_says_what_stands() -> None:
    (row,) = TestbedsAnswer("status", (STATE,)).to_json()["testbeds"]
    assert (row["name"], row["standing"], row["link_bandwidth_bps"]) == ("hall", "up", 25e6)
    assert row["namespaces"] == ["topoopt-hall-s0", "topoopt-hall-s1"]


def test_a_table_has_a_row_a_testbed() -> None:
    pytest.importorskip("pandas")
    frame = TestbedsAnswer("status", (STATE, STATE)).to_frame()
    assert list(frame["name"]) == ["hall", "hall"]
    assert "namespaces" not in frame


def test_a_page_says_what_was_left_alone() -> None:
    said = page_text(page_of(TestbedsAnswer("down", (), left_alone={"hall": "process 7 runs on it"})))
    assert "testbeds removed\n  none\n" in said
    assert "hall was left alone: process 7 runs on it" in said


def test_a_page_says_how_servers_forward() -> None:
    said = page_text(page_of(TestbedsAnswer("up", (STATE,), 2, "one way only")))
    assert "25 Mb/s" in said
    assert "packets of all 2 pairs go as the plan says; one way only" in " ".join(said.split())
