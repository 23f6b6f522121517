"""A bill by the port counts every part once, under an accounting that it names: what the paper has."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.pricing import (
    ACCOUNTINGS,
    PAPER,
    Accounting,
    Bill,
    FabricOptions,
    PartTable,
    Pricing,
    find_accounting,
    find_power,
    find_prices,
    network_bill,
)

PRICES = find_prices("2022")
LINEAR = NETWORKS.that(lambda one: one.closed_form and one.name not in ("full-mesh", "rail"))
FEW_WATTS = tuple(row for row in find_power().rows if row.item != "nic")


def bill_of_materials(
    fabric: str,
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PartTable,
    accounting: Accounting | None = None,
    options: FabricOptions | None = None,
) -> Bill:
    rule = Pricing(prices, accounting or PAPER, options or FabricOptions())
    return network_bill(fabric, servers, degree, bandwidth_bps, rule)


def counts(fabric: str, servers: int, degree: int, accounting: Accounting | None = None) -> dict[str, float]:
    bill = bill_of_materials(fabric, servers, degree, 100e9, PRICES, accounting)
    return {line.item: line.count for line in bill.lines}


@pytest.mark.parametrize(("radix", "servers"), [(8, 128), (12, 432), (16, 1024), (20, 2000)])
def test_a_fat_tree_has_the_parts_of_the_k_ary_construction(radix: int, servers: int) -> None:
    # k-ary fat-tree: k²/2 edge, k²/2 aggregation and k²/4 core switches of k ports each
    assert servers == radix**3 // 4
    switches = radix**2 // 2 + radix**2 // 2 + radix**2 // 4
    found = counts("fat-tree", servers, 1)
    assert found["electrical_port"] == switches * radix == 5 * servers
    assert found["transceiver"] == 6 * servers
    assert found["fiber_m"] == 3 * servers * 500
    assert found["nic"] == servers


def test_topoopt_has_two_panel_ports_and_a_switch_for_every_interface() -> None:
    assert counts("topoopt", 128, 4) == {
        "nic": 512,
        "transceiver": 512,
        "patch_panel_port": 1024,
        "optical_switch_1x2": 512,
        "fiber_m": 2 * 512 * 500,
    }
    assert counts("topoopt", 128, 4, find_accounting("no-look-ahead")) == {
        "nic": 512,
        "transceiver": 512,
        "patch_panel_port": 512,
        "fiber_m": 512 * 500,
    }


def test_the_optical_switch_variant_has_one_port_for_every_interface() -> None:
    expected = {"nic": 512, "transceiver": 512, "ocs_port": 512, "fiber_m": 512 * 500}
    assert counts("topoopt-ocs", 128, 4) == expected
    assert counts("sip-ml", 128, 4) == expected
    bill = bill_of_materials("sip-ml", 128, 4, 100e9, PRICES)
    assert "no bill of SiP-ML is published" in bill.note


def test_expander_and_torus_need_nothing_but_the_servers_own_parts() -> None:
    for fabric in ("expander", "torus"):
        assert counts(fabric, 16, 4) == {"nic": 64, "transceiver": 64, "fiber_m": 64 * 500}


def test_an_oversubscribed_fat_tree_has_half_the_links_above_the_first_switch() -> None:
    # 16 host links, 8 to the second layer, 8 to the third: each upper link takes two ports
    assert counts("oversub-fat-tree", 16, 1) == {
        "nic": 16,
        "transceiver": 2 * 32,
        "electrical_port": 16 + 2 * 16,
        "fiber_m": 32 * 500,
    }


def test_the_ratio_of_oversubscription_says_how_many_links_go_up() -> None:
    def upper(ratio: float) -> float:
        options = FabricOptions(oversubscription=ratio)
        bill = bill_of_materials("oversub-fat-tree", 16, 1, 100e9, PRICES, None, options)
        ports = next(line.count for line in bill.lines if line.item == "electrical_port")
        return (ports - 16) / 2  # both tiers above together

    assert [upper(ratio) for ratio in (1, 2, 4, 3)] == [32, 16, 8, 12]  # 16 / 3 links are 6 in each tier
    assert upper(1) * 2 + 16 == counts("fat-tree", 16, 1)["electrical_port"]


def test_a_hybrid_has_some_interfaces_behind_switches_and_the_others_behind_panels() -> None:
    assert counts("topoopt-hybrid", 128, 4) == {
        "nic": 512,
        "transceiver": 512,
        "patch_panel_port": 2 * 256,
        "optical_switch_1x2": 256,
        "ocs_port": 256,
        "fiber_m": (2 * 256 + 256) * 500,  # the second panel has fibers of its own
    }
    one = bill_of_materials("topoopt-hybrid", 128, 4, 100e9, PRICES, None, FabricOptions(ocs_interfaces=1))
    assert {line.item: line.count for line in one.lines}["ocs_port"] == 128


@given(degree=st.integers(2, 16), switched=st.integers(1, 15))
@settings(max_examples=30)
def test_a_hybrid_costs_what_its_two_parts_cost(degree: int, switched: int) -> None:
    switched = min(switched, degree - 1)
    options = FabricOptions(ocs_interfaces=switched)
    whole = bill_of_materials("topoopt-hybrid", 12, degree, 100e9, PRICES, None, options)
    panels = bill_of_materials("topoopt", 12, degree - switched, 100e9, PRICES)
    switches = bill_of_materials("topoopt-ocs", 12, switched, 100e9, PRICES)
    assert whole.known_usd == pytest.approx(panels.known_usd + switches.known_usd)


def test_rails_need_spines_where_a_rail_has_more_than_one_leaf() -> None:
    assert counts("rail", 32, 8) == {
        "nic": 256,
        "transceiver": 512,
        "electrical_port": 256,
        "fiber_m": 256 * 500,
    }
    # beyond 32 servers every server link has an uplink: a port at its leaf and one at a spine
    assert counts("rail", 33, 8)["electrical_port"] == 33 * 8 * 3


def test_a_full_mesh_is_bought_as_an_interface_for_every_other_server() -> None:
    bill = bill_of_materials("full-mesh", 16, 4, 100e9, PRICES)
    assert {line.count for line in bill.lines if line.item != "fiber_m"} == {16 * 15}
    assert {line.bandwidth_bps for line in bill.lines if line.bandwidth_bps} == {400e9 / 15}
    # three servers of four interfaces: as they are, some of them in parallel
    assert counts("full-mesh", 3, 4) == counts("torus", 3, 4)


def test_a_price_between_listed_speeds_says_so() -> None:
    by_item = {line.item: line for line in bill_of_materials("topoopt", 16, 4, 150e9, PRICES).lines}
    assert by_item["nic"].basis == "interpolated between 100 Gb/s and 200 Gb/s"
    assert by_item["patch_panel_port"].basis == ""
    slow = {line.item: line for line in bill_of_materials("topoopt", 16, 4, 1e9, PRICES).lines}
    assert slow["nic"].basis == "as for 10 Gb/s, the slowest listed that is enough"
    assert not any(line.basis for line in bill_of_materials("topoopt", 16, 4, 100e9, PRICES).lines)


def test_watts_add_up_by_hand_and_a_missing_figure_is_named() -> None:
    # 16.2 W of a card, 3.5 W of a transceiver; panels, 1×2 switches and fiber draw nothing
    assert bill_of_materials("topoopt", 128, 4, 100e9, PRICES).power_w == pytest.approx(512 * (16.2 + 3.5))
    # the fat-tree has six transceivers and five ports of 4.7 W for every interface
    ideal = bill_of_materials("ideal-switch", 128, 4, 100e9, PRICES)
    assert ideal.power_w == pytest.approx(512 * (16.2 + 6 * 3.5 + 5 * 4.7))
    # no row has the watts of a card of 100 Gb/s: only those that are asked for are missing
    without_cards = Pricing(PRICES, PAPER, power=PartTable("power", "few", FEW_WATTS))
    few = network_bill("topoopt", 128, 4, 100e9, without_cards)
    assert few.power_w is None
    assert few.power_missing == ("nic of 100 Gb/s",)
    assert few.known_power_w == pytest.approx(512 * 3.5)
    uncounted = replace(without_cards, accounting=replace(PAPER, nics=False))
    assert network_bill("topoopt", 128, 4, 100e9, uncounted).power_w == pytest.approx(512 * 3.5)


@pytest.mark.parametrize("fabric", LINEAR)
@given(servers=st.integers(1, 200), speed=st.floats(1, 199))
@settings(max_examples=15)
def test_the_price_is_linear_in_the_servers_and_never_falls_with_the_speed(
    fabric: str, servers: int, speed: float
) -> None:
    def usd(count: int, gbps: float) -> float:
        return bill_of_materials(fabric, count, 4, gbps * 1e9, PRICES).known_usd

    assert usd(3 * servers, speed) == pytest.approx(3 * usd(servers, speed))
    assert usd(servers, speed + 1) >= usd(servers, speed)


@pytest.mark.parametrize("fabric", NETWORKS.that(lambda one: not one.closed_form))
@given(servers=st.integers(2, 200), speed=st.floats(1, 199))
@settings(max_examples=10)
def test_the_price_of_a_graph_of_switches_never_falls_with_the_speed(
    fabric: str, servers: int, speed: float
) -> None:
    def usd(gbps: float) -> float:
        return bill_of_materials(fabric, servers, 4, gbps * 1e9, PRICES).known_usd

    assert usd(speed + 1) >= usd(speed) * (1 - 1e-12)


def test_fewer_tiers_need_fewer_parts() -> None:
    assert counts("ideal-switch", 16, 2, replace(PAPER, tiers=1)) == {
        "nic": 32,
        "transceiver": 64,
        "electrical_port": 32,
        "fiber_m": 32 * 500,
    }


def test_a_bill_adds_up_by_hand() -> None:
    bill = bill_of_materials("topoopt", 128, 4, 100e9, PRICES)
    # 678 NIC + 99 transceiver + 2 × 100 panel + 25 switch + 2 × 150 fiber, four times a server
    assert bill.cost_per_server_usd == pytest.approx(4 * (678 + 99 + 200 + 25 + 300))
    assert bill.known_usd == bill.cost_usd == pytest.approx(128 * 4 * (678 + 99 + 200 + 25 + 300))
    ideal = bill_of_materials("ideal-switch", 128, 4, 100e9, PRICES)
    assert ideal.cost_per_server_usd == pytest.approx(4 * (678 + 6 * 99 + 5 * 187 + 3 * 150))


@pytest.mark.parametrize("fabric", NETWORKS)
@given(servers=st.integers(2, 500), degree=st.integers(2, 16), speed=st.floats(1, 200))
@settings(max_examples=15)
def test_a_bill_is_its_lines_and_grows_with_the_cluster(
    fabric: str, servers: int, degree: int, speed: float
) -> None:
    servers = min(servers, 72) if fabric == "full-mesh" else servers  # beyond, no server has the interfaces
    bill = bill_of_materials(fabric, servers, degree, speed * 1e9, PRICES)
    assert bill.known_usd == pytest.approx(sum(line.count * (line.unit_usd or 0.0) for line in bill.lines))
    assert all(line.count > 0 and (line.total_usd or 0.0) > 0 for line in bill.lines)
    larger = bill_of_materials(fabric, servers + 1, degree, speed * 1e9, PRICES)
    assert larger.known_usd > bill.known_usd


@pytest.mark.parametrize("fabric", NETWORKS)
def test_each_choice_of_the_accounting_only_takes_parts_away(fabric: str) -> None:
    full = bill_of_materials(fabric, 16, 4, 100e9, PRICES).known_usd
    for less in ({"nics": False}, {"look_ahead": False}, {"fiber_on": "none"}, {"look_ahead_fiber": False}):
        assert bill_of_materials(fabric, 16, 4, 100e9, PRICES, replace(PAPER, **less)).known_usd <= full
    no_nics = bill_of_materials(fabric, 16, 4, 100e9, PRICES, replace(PAPER, nics=False)).known_usd
    # in a full mesh 15 interfaces share what 4 would have: 26.7 Gb/s each, between the prices of 25 and 40 Gb/s
    mesh_nic_usd = 185 + (354 - 185) * (400 / 15 - 25) / (40 - 25)
    nics = 16 * 15 * mesh_nic_usd if fabric == "full-mesh" else 64 * 678
    assert full - no_nics == pytest.approx(nics)


def test_the_bill_names_its_prices_and_accounting() -> None:
    for accounting in ACCOUNTINGS.values():
        bill = bill_of_materials("topoopt", 16, 4, 100e9, PRICES, accounting)
        assert (bill.prices, bill.accounting.name) == ("2022", accounting.name)


def test_what_cannot_be_priced_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"fabric: unknown name .* did you mean fat-tree"):
        bill_of_materials("fattree", 16, 4, 100e9, PRICES)
    above = bill_of_materials("topoopt", 16, 4, 400e9, PRICES)
    assert above.cost_usd is None
    assert above.price_missing == ("nic of 400 Gb/s", "transceiver of 400 Gb/s")
    with pytest.raises(InvalidInput, match="topoopt-hybrid: a server needs 2 interfaces or more"):
        bill_of_materials("topoopt-hybrid", 16, 1, 100e9, PRICES)
    with pytest.raises(InvalidInput, match=r"ocs_interfaces must be 1\.\.3 of 4 interfaces, got 4"):
        bill_of_materials("topoopt-hybrid", 16, 4, 100e9, PRICES, None, FabricOptions(ocs_interfaces=4))
    with pytest.raises(InvalidInput, match=r"oversubscription: expected a ratio >= 1, got 0\.5"):
        FabricOptions(oversubscription=0.5)
    with pytest.raises(InvalidInput, match="servers and degree must be >= 1"):
        bill_of_materials("topoopt", 16, 0, 100e9, PRICES)
    with pytest.raises(InvalidInput, match="accounting: unknown name"):
        find_accounting("creative")
    with pytest.raises(InvalidInput, match="fiber_on: unknown name"):
        Accounting(fiber_on="everywhere")
    with pytest.raises(InvalidInput, match="tiers: expected 1, 2 or 3, got 4"):
        Accounting(tiers=4)
    with pytest.raises(InvalidInput, match="tiers: ports are counted of 1, 2 or 3 tiers; give one"):
        Accounting(switches="ports")
    with pytest.raises(InvalidInput, match="fiber_length_m: expected"):
        Accounting(fiber_length_m=float("nan"))


def test_mixnet_is_a_fat_tree_of_some_interfaces_and_circuit_ports_for_the_others() -> None:
    """8 interfaces, 2 of them electrical: as a fat-tree of 2 interfaces and an OCS fabric of 6."""
    both = bill_of_materials("mixnet", 128, 8, 100e9, PRICES)
    parts = (
        bill_of_materials("fat-tree", 128, 2, 100e9, PRICES),
        bill_of_materials("ocs-reconfig", 128, 6, 100e9, PRICES),
    )
    assert both.known_usd == pytest.approx(sum(part.known_usd for part in parts))
    assert both.power_w == pytest.approx(sum(part.power_w or 0.0 for part in parts))
    one = bill_of_materials("mixnet", 128, 8, 100e9, PRICES, None, FabricOptions(electrical_interfaces=4))
    assert both.known_usd < one.known_usd < bill_of_materials("fat-tree", 128, 8, 100e9, PRICES).known_usd
    assert both.note.startswith("2 of 8 interfaces on a full-bisection fat-tree")
    with pytest.raises(InvalidInput, match=r"electrical_interfaces must be 1\.\.7 of 8 interfaces, got 8"):
        bill_of_materials("mixnet", 16, 8, 100e9, PRICES, None, FabricOptions(electrical_interfaces=8))


def test_a_product_is_priced_as_its_technology_and_draws_its_own_watts() -> None:
    lists = find_prices("2026"), Accounting()
    bills = {
        name: bill_of_materials("topoopt-ocs", 128, 4, 100e9, *lists, FabricOptions(technology=name))
        for name in ("piezo", "polatis-384", "polatis-576", "coherent-320", "manual-panel", "plzt")
    }
    ports = {name: next(row for row in bill.lines if "port" in row.item) for name, bill in bills.items()}
    assert [(row.item, row.unit_usd, row.name) for row in ports.values()] == [
        ("piezo_port", 520, ""),
        ("piezo_port", 520, "polatis-384"),
        ("piezo_port", 520, "polatis-576"),
        ("liquid_crystal_port", 1040, "coherent-320"),
        ("manual_panel_port", 5, "manual-panel"),
        ("ocs_port", 520, ""),
    ]
    assert ports["polatis-384"].unit_w == pytest.approx(100 / 384)
    assert ports["polatis-576"].unit_w == ports["piezo"].unit_w == 0.26  # of that size nobody says it
    own = bill_of_materials("topoopt", 128, 4, 100e9, *lists, FabricOptions(technology="manual-panel"))
    panel = next(row for row in own.lines if row.item == "manual_panel_port")
    assert (panel.part.words, panel.unit_usd) == ("manual_panel_port manual-panel", 5)


@pytest.mark.parametrize(
    "item", ["patch_panel_port", "manual_panel_port", "ocs_port", "mems_port", "piezo_port"]
)
def test_ranges_of_optical_ports_hold_the_listed_price(item: str) -> None:
    (row,) = [row for row in find_prices("2026").rows if row.item == item]
    assert row.low is not None
    assert row.high is not None
    assert row.low <= row.value <= row.high
    assert row.source
