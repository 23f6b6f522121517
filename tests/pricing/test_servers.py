"""The price of a server: from the catalogue by its accelerators, or as somebody says; unknown stays unknown."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import AcceleratorServer, accelerator_servers
from topoopt.pricing import server_price


@pytest.mark.parametrize("accelerators", [4, 8, 72])
def test_a_server_is_priced_by_its_accelerators(accelerators: int) -> None:
    found = server_price("gb200", accelerators)
    assert found.usd == pytest.approx(3e6 * accelerators / 72)
    assert found.power_w == pytest.approx(120e3 * accelerators / 72 * 0.82)
    assert ("of 72 accelerators" in found.basis) == (accelerators != 72)


def test_low_and_high_are_the_ends_of_the_range() -> None:
    low, usual, high = (server_price("b300", 8, price=price) for price in ("low", None, "high"))
    assert (low.usd, usual.usd, high.usd) == (usual.low_usd, 450e3, usual.high_usd)


def test_what_is_given_has_no_range() -> None:
    found = server_price("h100", 8, price="250000", power_w=9000.0)
    assert (found.usd, found.low_usd, found.high_usd, found.power_w) == (250e3, 250e3, 250e3, 9000.0)


def test_unknown_is_none_and_never_zero() -> None:
    found = server_price("v100", 8)
    assert found.usd is found.low_usd is found.high_usd is found.power_w is None
    rack = server_price("vr200", 72)  # nobody says how little it may cost
    assert (rack.low_usd, rack.usd, rack.high_usd) == (None, 7.8e6, 9.1e6)
    assert server_price("v100", 8, price=60_000, power_w=3500.0).usd == 60_000


@pytest.mark.parametrize("price", ["cheap", -1, float("nan"), "inf"])
def test_a_price_that_is_none_is_refused(price: str | float) -> None:
    with pytest.raises(InvalidInput, match="server_price: expected dollars >= 0, low, typical or high"):
        server_price("h100", 8, price=price)


@pytest.mark.parametrize("row", accelerator_servers(), ids=lambda row: row.name)
def test_every_server_of_the_catalogue_can_be_priced_by_its_accelerator(row: AcceleratorServer) -> None:
    assert server_price(row.accelerator, row.accelerators).usd == row.typical_usd


def test_a_part_of_a_server_is_called_one() -> None:
    assert server_price("h100", 8).name == "HGX H100 (8)"
    assert server_price("h100", 4).name == "4 of 8 accelerators of HGX H100 (8)"
    assert server_price("h100", 16).name == "16 accelerators of HGX H100 (8)"
