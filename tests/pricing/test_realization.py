"""What a fabric is built of: ports, devices, light, and a remedy for what cannot be built."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.finder.rewiring import wire
from topoopt.pricing import (
    Cabling,
    FabricOptions,
    check_fits_a_panel,
    least_shards,
    ports_needed,
    realize,
    sharing_interfaces,
)
from topoopt.topologies import circulant


def test_interface_i_of_every_server_is_on_panel_i_and_its_spare() -> None:
    (panels,) = realize("topoopt", 128, 4, 100e9).optical
    assert (panels.technology, panels.count, panels.ports, panels.fits) == ("patch-panel", 8, 128, True)
    assert panels.one_holds_all  # 512 of 1008
    (without,) = realize("topoopt", 128, 4, 100e9, Cabling(look_ahead=False)).optical
    assert without.count == 4
    assert not realize("topoopt", 432, 8, 100e9).optical[0].one_holds_all


def test_a_switch_that_is_too_small_makes_way_for_the_next() -> None:
    assert realize("topoopt-ocs", 384, 4, 100e9).optical[0].technology == "3d-mems"
    assert realize("topoopt-ocs", 386, 4, 100e9).optical[0].technology == "piezo"
    (problem,) = realize("topoopt-ocs", 1000, 4, 100e9).problems
    assert problem == (
        "a device of 1000 ports is needed, the largest piezo has 576; shards=2 splits the cluster"
    )
    assert realize("topoopt-ocs", 1000, 4, 100e9, Cabling(shards=2)).problems == ()


def test_a_hybrid_has_devices_of_both_kinds() -> None:
    panels, switches = realize(
        "topoopt-hybrid", 128, 4, 100e9, options=FabricOptions(ocs_interfaces=1)
    ).optical
    assert (panels.technology, panels.count) == ("patch-panel", 6)  # three interfaces, and their spares
    assert (switches.technology, switches.count) == ("3d-mems", 1)


def test_an_odd_number_of_duplex_servers_needs_two_interfaces_on_a_device() -> None:
    # A ring over 129 servers is no two sets of pairs: one panel must see both ends of every link.
    (panels,) = realize("topoopt", 129, 4, 100e9, Cabling(look_ahead=False)).optical
    assert (panels.count, panels.ports) == (2, 258)
    (directed,) = realize("topoopt", 129, 4, 100e9, Cabling(links="directed", look_ahead=False)).optical
    assert (directed.count, directed.ports) == (4, 129)
    (wavelengths,) = realize("sip-ml", 129, 4, 100e9).optical  # they go one way
    assert wavelengths.ports == 129


def test_the_light_that_is_left_is_the_budget_less_the_worst_connection() -> None:
    # 100G CWDM4 can spare 5 dB; a patch panel loses 0.5, a 3D MEMS switch up to 2.7
    assert realize("topoopt", 128, 4, 100e9).margin_db == pytest.approx(4.5)
    assert realize("topoopt-ocs", 128, 4, 100e9).margin_db == pytest.approx(2.3)
    assert realize("topoopt-hybrid", 128, 4, 100e9).margin_db == pytest.approx(2.3)
    dim = realize("topoopt-ocs", 128, 4, 100e9, Cabling(technology="2d-mems"))
    assert dim.margin_db == pytest.approx(5 - 20)
    assert dim.problems == (
        "a connection may lose 20 dB and 100G-CWDM4 can spare 5 dB; take a technology that loses less "
        "(technology=NAME), or amplifiers",
    )


def test_a_product_has_its_own_ports_and_light() -> None:
    (mirrors,) = realize("topoopt-ocs", 320, 4, 100e9, Cabling(technology="lumentum-r300")).optical
    assert (mirrors.largest, mirrors.loss_db, mirrors.fits) == (300, (1.5, 1.5), False)
    halves = realize("topoopt-ocs", 320, 4, 100e9, Cabling(shards=2, technology="Lumentum-R300"))
    assert (halves.optical[0].technology, halves.optical[0].count, halves.problems) == (
        "lumentum-r300",
        8,
        (),
    )
    (robots,) = realize("topoopt", 128, 4, 100e9, Cabling(technology="telescent-g5")).optical
    assert robots.count == 8  # a panel, and its spare


def test_what_no_source_says_is_said_not_to_be_known() -> None:
    piezo = realize("topoopt-ocs", 400, 4, 100e9)
    assert piezo.margin_db is None
    assert "no source gives the loss of piezo: light not checked" in piezo.remarks
    assert any("no transceiver of 5 Tb/s" in remark for remark in realize("topoopt", 16, 4, 5e12).remarks)
    assert any("two 1×2 switches" in remark for remark in realize("topoopt", 16, 4, 100e9).remarks)
    fast = realize("topoopt", 16, 4, 800e9)
    assert any("2 fiber pairs, each takes a port" in remark for remark in fast.remarks)


def test_switched_fabrics_have_a_tree_for_every_interface() -> None:
    ideal = realize("ideal-switch", 128, 4, 100e9)
    assert ideal.tree is not None
    assert (ideal.trees, ideal.tree.radix, ideal.tree.switches) == (4, 8, 80)
    rails = realize("rail", 128, 8, 400e9)
    assert rails.tree is not None
    assert (rails.trees, rails.tree.edge, rails.tree.core) == (8, 4, 2)
    (problem,) = realize("ideal-switch", 1024, 4, 100e9, tiers=1).problems
    assert problem.startswith(
        "switches of 1024 ports of 100 Gb/s are needed, the largest of the catalogue has 144"
    )


def test_cables_have_two_ends() -> None:
    for fabric in ("topoopt", "expander"):
        odd = realize(fabric, 15, 3, 100e9)
        assert any("odd number of ends: one stays free" in remark for remark in odd.remarks)
        assert odd.problems == ()  # it can be built, and compare does
    assert not any("odd number" in remark for remark in realize("expander", 16, 3, 100e9).remarks)


@pytest.mark.parametrize("fabric", ["topoopt", "topoopt-ocs", "expander", "torus"])
def test_one_cable_a_server_joins_no_more_than_two(fabric: str) -> None:
    (problem,) = realize(fabric, 8, 1, 100e9).problems
    assert problem == "1 duplex interface joins servers in pairs, not 8 to each other; use 2 or more"
    assert realize(fabric, 2, 1, 100e9).problems == ()


def test_one_fiber_a_server_joins_them_all_in_a_ring() -> None:
    assert realize("topoopt", 8, 1, 100e9, Cabling(links="directed")).problems == ()


@pytest.mark.parametrize("fabric", NETWORKS)
def test_every_fabric_of_sixteen_servers_can_be_built(fabric: str) -> None:
    built = realize(fabric, 16, 4, 100e9)
    assert built.problems == ()
    assert bool(built.optical) == bool(NETWORKS[fabric].price().optics or fabric == "mixnet")


@given(
    servers=st.integers(2, 3000), ports=st.integers(4, 1008), links=st.sampled_from(["duplex", "directed"])
)
@settings(max_examples=100)
def test_the_least_number_of_shards_fits_and_one_less_does_not(servers: int, ports: int, links: str) -> None:
    def needed(count: int) -> int:
        return ports_needed(servers, count, sharing_interfaces(servers, count, links))

    count = least_shards(servers, ports, links)
    assert needed(count) <= ports
    assert count == 1 or needed(count - 1) > ports


@pytest.mark.parametrize("stride", [1, 5])
@pytest.mark.parametrize("servers", [12, 13])
def test_links_can_be_divided_among_as_many_devices_as_is_said(servers: int, stride: int) -> None:
    """The oracle: an edge coloring of a real wiring, as patches are plugged in."""
    built = realize("topoopt", servers, 2, 100e9, Cabling(look_ahead=False)).optical[0]
    wiring = wire(circulant(servers, (stride,), 100e9), 2, "duplex")
    assert wiring.interfaces_per_panel == built.ports // servers
    assert wiring.panels == built.count


def test_a_wiring_that_is_known_says_how_many_interfaces_share_a_device() -> None:
    # Eight rings of three among 24 servers: an even number of servers, and odd rings all the same.
    known = realize("topoopt", 24, 4, 100e9, Cabling(look_ahead=False, interfaces_per_device=2)).optical[0]
    assert (known.count, known.ports) == (2, 48)


def test_a_cluster_larger_than_any_panel_is_refused_with_a_remedy() -> None:
    with pytest.raises(Infeasible) as caught:
        check_fits_a_panel("topoopt", 2000)
    assert str(caught.value) == (
        "topoopt: 2000 servers need 2000 ports on each panel, and the largest (patch-panel) has 1008; use shards=2 "
        "(servers of different shards cannot be joined), or leave it out of fabrics"
    )
    check_fits_a_panel("topoopt", 2000, shards=2)
    check_fits_a_panel("topoopt", 1008)
    check_fits_a_panel("fat-tree", 100_000)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="fabric: unknown name"):
        realize("topopt", 16, 4, 100e9)
    with pytest.raises(InvalidInput, match=r"shards: expected 1\.\.16, got 17"):
        realize("topoopt", 16, 4, 100e9, Cabling(shards=17))
    with pytest.raises(InvalidInput, match="optical switch: unknown name"):
        realize("topoopt", 16, 4, 100e9, Cabling(technology="mirrors"))
    with pytest.raises(InvalidInput, match="servers and degree must be >= 1"):
        realize("topoopt", 0, 4, 100e9)
