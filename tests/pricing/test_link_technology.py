"""What links are made of changes what is plugged in, and copper ends where it does not reach."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.pricing import LINK_TECHNOLOGIES, Bill, lengths_to_middle_m, network_bill, pricing_of


def bill(technology: str, fabric: str = "ideal-switch", **choices: float) -> Bill:
    pricing = pricing_of(link_technology=technology, **choices)  # type: ignore[arg-type]
    return network_bill(fabric, 32, 8, 400e9, pricing)


def counts(found: Bill) -> dict[tuple[str, float], float]:
    return {(line.item, (line.bandwidth_bps or 0) / 1e9): line.count for line in found.lines}


def test_linear_modules_take_the_place_of_all_others_and_draw_less() -> None:
    usual, linear = bill("pluggable"), bill("linear")
    assert counts(usual)["transceiver", 400] == counts(linear)["linear_transceiver", 400] == 256
    assert not any(line.item == "transceiver" for line in linear.lines)
    assert linear.known_usd < usual.known_usd
    assert linear.power_w is not None
    assert usual.power_w is not None
    # 256 modules of 9 W against 4.25 W, 128 of 17 W against 8.5 W
    assert usual.power_w - linear.power_w == pytest.approx(256 * (9 - 4.25) + 128 * (17 - 8.5))


def test_co_packaged_optics_come_with_every_port_of_switches_that_have_them() -> None:
    found = bill("co-packaged")
    (plane,) = found.planes
    assert plane.model.switch.optics == "co-packaged"
    ports = plane.switches * plane.model.switch.ports
    assert counts(found)["co_packaged_port", 800] == counts(found)["electrical_port", 800] == ports
    assert counts(found)["transceiver", 400] == 256  # at the servers
    assert ("transceiver", 800) not in counts(found)
    panels = bill("co-packaged", "topoopt")
    assert panels.known_usd == bill("pluggable", "topoopt").known_usd
    assert panels.note == "no packet switches: modules at servers are pluggable"


def test_copper_is_where_it_reaches_and_modules_beyond() -> None:
    found = counts(bill("copper"))
    # 32 servers in eight racks: active cables of 400 Gb/s reach 7 m, passive ones 2 m
    near = int((lengths_to_middle_m(32) <= 7).sum())
    assert near > 0
    assert found.get(("active_copper", 400), 0) == near * 8
    assert found.get(("transceiver", 400), 0) == (32 - near) * 8
    short = counts(bill("copper", fiber_length_m=2.0))
    assert short["passive_copper", 400] == 256
    assert ("fiber_m", 0) not in short
    assert ("transceiver", 400) not in short
    long = counts(bill("copper", fiber_length_m=30.0))
    assert long == counts(bill("pluggable", fiber_length_m=30.0))


def test_cables_between_servers_are_copper_only_where_they_are_known_to_be_short() -> None:
    assert counts(bill("copper", "torus", fiber_length_m=2.0)) == {
        ("nic", 400): 256,
        ("passive_copper", 400): 128,
    }
    assert counts(bill("copper", "torus")) == counts(bill("pluggable", "torus"))
    assert bill("copper", "topoopt").note == "circuits are of light: no copper"


def test_an_unknown_technology_offers_the_nearest_and_ports_have_no_copper() -> None:
    with pytest.raises(InvalidInput, match='link_technology: unknown name "coper"; did you mean copper'):
        bill("coper")
    for name in ("copper", "co-packaged"):
        with pytest.raises(InvalidInput, match="needs whole switches, and accounting paper counts ports"):
            network_bill("rail", 16, 2, 100e9, pricing_of(accounting="paper", link_technology=name))
    assert set(LINK_TECHNOLOGIES) == {"pluggable", "linear", "co-packaged", "copper"}
