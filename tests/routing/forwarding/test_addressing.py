"""Addresses: every server a block, every cable a /31, every link as many next hops as it has cables."""

from ipaddress import IPv4Address, IPv4Network

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring import Patch, wire
from topoopt.routing import Path, explicit_routes, make_routes
from topoopt.routing.forwarding import addressed, forwarding_tables, next_hops, server_tables
from topoopt.topologies import Link, circulant, topology_from_links


def test_servers_and_ends_have_addresses_of_their_own() -> None:
    wiring = wire(circulant(12, (1, 5), 1e9), 4, "duplex")
    found = addressed(12, wiring.patches, identities=3)
    assert found.identities == 4
    blocks = [IPv4Network(found.block(server)) for server in range(12)]
    assert blocks[1] == IPv4Network("10.99.0.4/30")
    identities = [found.identity(server, k) for server in range(12) for k in range(4)]
    links = [found.link_address(end) for end in range(found.ends)]
    assert len(set(identities + links)) == 12 * 4 + 12 * 4
    assert all(
        IPv4Address(found.identity(server, k)) in blocks[server] for server in range(12) for k in range(4)
    )
    for cable in range(0, found.ends, 2):  # a /31 begins at an even address
        assert int(IPv4Address(links[cable])) % 2 == 0
        assert int(IPv4Address(links[cable + 1])) == int(IPv4Address(links[cable])) + 1


def test_ends_are_where_the_patches_say() -> None:
    patches = (Patch(0, 1, 2, 0), Patch(1, 0, 2, 1))
    found = addressed(["a", "b", "c"], patches, interface_names=[["p0", "p1"]] * 3)
    assert found.end(0) == (0, 1, 1)
    assert found.end(3) == (2, 1, 2)
    assert found.interface_name(0) == "p1"
    assert found.mac(0) == "02:00:00:00:01:00"
    assert found.mac(1) == "02:00:00:02:00:00"
    assert found.ends_of_servers == ((0,), (2,), (1, 3))
    assert found.server_names == ("a", "b", "c")
    assert found.block(2) == "10.99.0.2/32"


def test_parallel_cables_are_as_many_next_hops_that_share_alike() -> None:
    links = [Link(0, 1, 1e9), Link(0, 1, 1e9), Link(0, 2, 1e9), Link(2, 1, 1e9)]
    topology = topology_from_links("test", 3, [*links, *(Link(x.dst, x.src, 1e9) for x in links)])
    wiring = wire(topology, 4, "duplex")
    paths = [Path((0, 1), 0.5), Path((0, 2, 1), 0.5), Path((2, 1))]
    pairs = np.array([0, 2]), np.array([1, 1])
    tables = forwarding_tables(topology, explicit_routes(topology, paths), pairs=pairs)
    found = addressed(3, wiring.patches)
    hops = next_hops(tables, found)
    assert hops.first.tolist() == [0, 3, 4]
    assert hops.weight.tolist() == [1, 1, 2, 1]
    far = [found.end(found.end(end).far).server for end in hops.end.tolist()]
    assert far == [1, 1, 2, 1]
    assert [found.end(end).server for end in hops.end.tolist()] == [0, 0, 0, 2]
    assert len(set(hops.end.tolist())) == 4
    assert hops.error == pytest.approx(0.0)


def test_fibers_are_left_at_their_source_only() -> None:
    topology = circulant(6, (1, 2), 1e9, links="directed")
    wiring = wire(topology, 2, "directed")
    found = addressed(6, wiring.patches, duplex=False)
    first, end = found.leaving(topology)
    assert first.tolist() == list(range(13))
    assert (end % 2 == 0).all()
    assert found.end_server[end].tolist() == topology.src.tolist()
    assert found.end_server[end ^ 1].tolist() == topology.dst.tolist()


def test_weights_that_are_no_ratio_are_off_by_little_and_that_is_told() -> None:
    topology = circulant(12, (1, 5), 1e9)
    paths = [Path((0, 1, 6), 0.123456), Path((0, 5, 6), 0.876544)]
    tables = forwarding_tables(
        topology, explicit_routes(topology, paths), pairs=(np.array([0]), np.array([6]))
    )
    hops = next_hops(tables, addressed(12, wire(topology, 4, "duplex").patches))
    assert 0 < hops.error < 1 / 255
    row = slice(*hops.first[:2].tolist())
    assert hops.weight[row] / hops.weight[row].sum() == pytest.approx(
        tables.share[:2], abs=hops.error * 1.001
    )


def test_prefixes_that_do_not_do_are_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"identity_prefix: 10\.99\.0\.0/30 has 4 addresses, 12 are needed; give a /28"
    ):
        addressed(12, (), prefixes=("10.99.0.0/30", "10.9.0.0/16"))
    with pytest.raises(InvalidInput, match="link_prefix: "):
        addressed(12, (), prefixes=("10.9.0.0/24", "10.9.0.0/16"))
    with pytest.raises(InvalidInput, match='got "here"'):
        addressed(12, (), prefixes=("here", "10.9.0.0/16"))


def test_cables_of_another_plan_are_refused() -> None:
    topology = circulant(12, (1, 5), 1e9)
    tables = forwarding_tables(topology, make_routes("ecmp", topology))
    with pytest.raises(InvalidInput, match="link 0->1 has 1 ports and 0 cables"):
        next_hops(tables, addressed(12, wire(circulant(12, (2, 5), 1e9), 4, "duplex").patches))


def test_pinned_paths_over_parallel_cables_have_an_address_for_each() -> None:
    """Over two cables, then three, 0→1→2 has six addresses; each cable has its share of them."""
    links = [Link(0, 1, 1e9)] * 2 + [Link(1, 2, 1e9)] * 3
    topology = topology_from_links("test", 3, [*links, *(Link(x.dst, x.src, 1e9) for x in links)])
    routes = explicit_routes(topology, [Path((0, 1, 2)), Path((1, 2))])
    tables = forwarding_tables(topology, routes, "pinned", (np.array([0, 1]), np.array([2, 2])))
    assert tables.ways.src.tolist() == [0] * 6 + [1] * 3
    assert tables.ways.identity.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert tables.ways.weight == pytest.approx([1 / 6] * 6 + [1 / 3] * 3)
    found = addressed(3, wire(topology, 5, "duplex").patches, identities=tables.identities)
    hops = next_hops(tables, found)
    first, second = hops.end[tables.node == 0], hops.end[(tables.node == 1) & (tables.identity < 6)]
    assert sorted(np.unique(first, return_counts=True)[1].tolist()) == [3, 3]
    assert sorted(np.unique(second, return_counts=True)[1].tolist()) == [2, 2, 2]
    assert tables.kind == "destination"
    assert (hops.weight == 1).all()


def test_a_server_is_told_addresses_and_names() -> None:
    topology = circulant(5, (1, 2), 1e9)
    paths = [Path((0, 1, 3), 0.25), Path((0, 2, 3), 0.75), Path((1, 2, 3)), Path((2, 3))]
    pairs = np.array([0, 1, 2]), np.array([3, 3, 3])
    tables = forwarding_tables(topology, explicit_routes(topology, paths), pairs=pairs)
    found = addressed(5, wire(topology, 4, "duplex").patches)
    told = list(server_tables(tables, found, next_hops(tables, found)))
    assert [one.server for one in told] == [0, 1, 2, 3, 4]
    (route,) = told[0].main
    assert route.address == "10.99.0.3"
    assert [hop.weight for hop in route.hops] == [1, 3]
    for hop, there in zip(route.hops, (1, 2), strict=True):
        assert found.end(hop.end).server == 0
        assert found.end(hop.end ^ 1).server == there
        assert hop.via == found.link_address(hop.end ^ 1)
        assert hop.interface == found.interface_name(hop.end)
    assert list(told[1].by_source) == [0]
    assert told[2].by_source == {}
    assert told[3] == told[3].__class__(3, (), {})
