"""Servers with accelerators: every row names a part of the catalogue, prices in order, a source."""

import pytest

from topoopt.catalog import AcceleratorServer, accelerator_servers, find_accelerator, server_with


@pytest.mark.parametrize("row", accelerator_servers(), ids=lambda row: row.name)
def test_a_row_is_whole(row: AcceleratorServer) -> None:
    part = find_accelerator(row.accelerator)
    assert part.name == row.accelerator
    assert row.source
    assert row.quality
    prices = (row.low_usd, row.typical_usd, row.high_usd)
    if row.quality == "unknown":
        assert prices == (None, None, None)
        assert row.rated_w is None
        return
    known = [price for price in prices if price is not None]
    assert row.typical_usd in known
    assert known == sorted(known)
    # The host, its fans and its switches draw something beside the accelerators, and less than these twice over.
    assert part.tdp_w is not None
    assert row.rated_w is not None
    assert row.accelerators * part.tdp_w < row.rated_w < 2.1 * row.accelerators * part.tdp_w


def test_the_generations_of_the_question_are_there() -> None:
    for name in ("a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x", "mi355x"):
        row = server_with(name)
        assert row is not None
        assert row.typical_usd


def test_an_accelerator_without_a_server_has_none() -> None:
    assert server_with("v100") is None
