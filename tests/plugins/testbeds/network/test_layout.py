"""What is built of a plan: ports, addresses, buckets."""

from collections import Counter
from ipaddress import IPv4Interface

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.finder.rewiring import wire
from topoopt.plugins.testbeds.emulated_fabrics import EMULATED, PAPER_CLUSTER, emulated, paper_fabric
from topoopt.plugins.testbeds.network.layout import LOSSLESS, direct_layout, identity, switch_layout
from topoopt.routing import EcmpRoutes, Fabric, SingleShortestRoutes
from topoopt.topologies import circulant, fat_tree


def test_the_papers_testbed_is_twelve_servers_with_four_cables_each() -> None:
    layout = emulated("topoopt", PAPER_CLUSTER, paper_fabric()).layout
    assert (layout.servers, len(layout.cables), layout.forwarding) == (12, 24, "source")
    assert {server: len(ports) for server, ports in layout.ports_of.items()} == dict.fromkeys(range(12), 4)
    steps = Counter((far.node - near.node) % 12 for cable in layout.cables for near, far in cable.ends)
    assert steps == dict.fromkeys((1, 5, 7, 11), 12)
    assert layout.total_bandwidth_bps == 48 * 25e9
    assert len([route for route in layout.routes if route.source is None]) == 12 * 11


def test_addresses_are_of_one_port_each_and_those_of_a_cable_share_a_net() -> None:
    layout = emulated("topoopt", PAPER_CLUSTER, paper_fabric()).layout
    ports = [near for cable in layout.cables for near, _ in cable.ends]
    assert len({port.address for port in ports}) == len({port.mac for port in ports}) == 48
    for cable in layout.cables:
        assert (
            IPv4Interface(f"{cable.a.address}/31").network == IPv4Interface(f"{cable.b.address}/31").network
        )
    assert not {port.address for port in ports} & {identity(server) for server in range(12)}


def test_a_cable_keeps_its_addresses_when_others_go() -> None:
    whole, less = circulant(8, (1, 3), 1e9), circulant(8, (1,), 1e9)
    layouts = [
        direct_layout(
            Fabric("f", topology, SingleShortestRoutes(topology), {}), wire(topology, 4, "duplex"), 1e9
        )
        for topology in (whole, less)
    ]
    assert set(layouts[1].cables) <= set(layouts[0].cables)


def test_parallel_links_are_cables_of_their_own() -> None:
    topology = circulant(3, (1,), 1e9)
    doubled = type(topology)(
        "doubled",
        3,
        3,
        topology.src,
        topology.dst,
        2 * topology.ports,
        2 * topology.bandwidth_bps,
        topology.latency_s,
    )
    layout = direct_layout(
        Fabric("f", doubled, SingleShortestRoutes(doubled), {}), wire(doubled, 4, "duplex"), 1e9
    )
    assert len(layout.cables) == 6
    assert {len(route.ports) for route in layout.routes} == {2}


@pytest.mark.parametrize(
    ("name", "each_bps"),
    [("topoopt", 100e9), ("ideal-switch", 100e9), ("fat-tree", 31.25e9), ("switch", 25e9)],
)
def test_every_fabric_gives_a_server_its_bandwidth(name: str, each_bps: float) -> None:
    found = emulated(name, PAPER_CLUSTER, paper_fabric())
    assert found.server_bandwidth_bps == pytest.approx(each_bps)
    of_links = found.fabric.topology.bandwidth_bps[found.fabric.topology.src == 0].sum()
    assert of_links == pytest.approx(each_bps)
    assert set(found.fabric.rings) == {tuple(range(12))}


def test_a_directed_fiber_is_sent_on_at_one_end() -> None:
    cluster = ClusterSpec(5, 2, 25e9, links="directed")
    both = circulant(5, (1,), 25e9)
    fabric = Fabric("ring", both, SingleShortestRoutes(both), {})
    found = emulated("topoopt", cluster, fabric)
    assert len(found.layout.cables) == 10
    assert found.server_bandwidth_bps == 2 * 25e9
    assert found.layout.total_bandwidth_bps == 10 * 25e9
    assert {port.name[:2] for port in found.layout.senders} == {"tx"}


def test_the_list_of_fabrics_is_the_one_that_words_name() -> None:
    assert list(EMULATED) == ["topoopt", "ideal-switch", "fat-tree", "switch"]


def test_a_fabric_of_switches_has_no_cables_between_servers() -> None:
    topology = fat_tree(16, 1, 1e9)
    fabric = Fabric("fat-tree", topology, EcmpRoutes(topology), {})
    with pytest.raises(InvalidInput, match="expected links from server to server"):
        direct_layout(fabric, wire(circulant(16, (1,), 1e9), 2, "duplex"), 1e9)


def test_too_many_servers_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"must have 2\.\.254 servers, got 255"):
        switch_layout(255, 1e9)


def test_a_bucket_holds_two_packets_or_two_milliseconds() -> None:
    assert LOSSLESS.bucket_bytes(25e6) == 2 * LOSSLESS.frame_bytes == 18_028
    assert LOSSLESS.bucket_bytes(1e9) == 250_000
