"""The preset's network: the published counts, and paths that stay."""

import numpy as np
import pytest

from topoopt.clusters.scheduling.network import cassini_24


def test_the_preset_has_the_published_numbers() -> None:
    """24 servers, 13 logical switches, 48 duplex links, 50 Gb/s, 2:1 oversubscribed."""
    network = cassini_24()
    topology = network.fabric.topology
    assert (network.servers, topology.nodes - topology.servers) == (24, 13)
    assert (topology.ports == 1).all()
    assert len(topology) == 2 * 48
    assert topology.both_ways
    assert set(network.capacities_bps.tolist()) == {50e9}
    assert network.server_bandwidth_bps == 50e9


def test_racks_have_half_the_bandwidth_up_and_the_layers_above_all_of_it() -> None:
    network = cassini_24()
    topology = network.fabric.topology
    racks, aggregation, cores = range(24, 30), range(30, 34), range(34, 37)

    def between(below: range, above: range) -> int:
        return int((np.isin(topology.src, below) & np.isin(topology.dst, above)).sum())

    assert between(range(24), racks) == 24
    assert between(racks, aggregation) == 12
    assert between(aggregation, cores) == 12


def test_servers_know_their_rack_and_pod() -> None:
    network = cassini_24()
    assert network.racks == tuple(server // 4 for server in range(24))
    assert network.pods == tuple(server // 12 for server in range(24))


@pytest.mark.parametrize(("src", "dst", "hops"), [(0, 3, 2), (0, 4, 4), (0, 23, 6)])
def test_a_connection_takes_one_shortest_path(src: int, dst: int, hops: int) -> None:
    network = cassini_24()
    links, shares = network.link_shares("a", np.array([src]), np.array([dst]), np.array([0.5]))
    assert len(links) == hops
    assert shares.tolist() == [0.5] * hops
    topology = network.fabric.topology
    assert src in topology.src[links]
    assert dst in topology.dst[links]


def test_connections_of_a_job_on_one_link_add_up() -> None:
    network = cassini_24()
    links, shares = network.link_shares("a", np.array([0, 0]), np.array([1, 2]), np.array([0.25, 0.5]))
    first = network.fabric.topology.link_id(0, 24)
    assert shares[links == first].tolist() == [0.75]


def test_paths_are_drawn_by_seed_and_job_and_stay() -> None:
    pairs = np.repeat(np.arange(12), 12), np.tile(np.arange(12, 24), 12), np.ones(144)
    one, other = cassini_24(), cassini_24(seed=1)
    links, shares = one.link_shares("a", *pairs)
    again = one.link_shares("a", *pairs)
    assert (links.tolist(), shares.tolist()) == (again[0].tolist(), again[1].tolist())
    assert shares.tolist() != one.link_shares("b", *pairs)[1].tolist()
    assert shares.tolist() != other.link_shares("a", *pairs)[1].tolist()


def test_bytes_of_a_served_model_are_on_all_shortest_paths() -> None:
    network = cassini_24()
    links, shares = network.spread_shares(np.array([0]), np.array([4]), np.array([1.0]))
    topology = network.fabric.topology
    of = dict(zip(links.tolist(), shares.tolist(), strict=True))
    assert of[topology.link_id(0, 24)] == of[topology.link_id(25, 4)] == 1.0
    assert [of[topology.link_id(24, above)] for above in (30, 31)] == [0.5, 0.5]
