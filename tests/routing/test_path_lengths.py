import numpy as np
import pytest
from numpy.typing import NDArray

from topoopt.routing import (
    CoinChangeRoutes,
    KShortestRoutes,
    Routes,
    SingleShortestRoutes,
    all_pair_links,
    bandwidth_tax,
    coin_length_distribution,
    link_loads,
)
from topoopt.topologies import Topology, topology_from_arrays

# Cumulative share of server pairs within 1..10 hops of C128(±1, ±13), from the authors' published topology.
C128 = [0.0315, 0.0945, 0.189, 0.315, 0.472, 0.638, 0.780, 0.890, 0.969, 1]


def circulant(n: int, *strides: int) -> Topology:
    offsets = tuple(sorted({offset for p in strides for offset in (p, n - p)}))
    src = np.repeat(np.arange(n), len(offsets))
    dst = (src + np.tile(offsets, n)) % n
    size = len(src)
    return topology_from_arrays(
        "circulant", n, src, dst, np.full(size, 100e9), np.full(size, 1e-6), None, offsets
    )


def hop_counts(topology: Topology, routes: Routes) -> NDArray[np.float64]:
    n = topology.servers
    return all_pair_links(topology, routes).mean_hops().reshape(n, n)


@pytest.mark.parametrize("method", [CoinChangeRoutes, KShortestRoutes, SingleShortestRoutes])
def test_path_lengths_of_the_published_128_server_circulant(method: type) -> None:
    topology = circulant(128, 1, 13)
    hops = hop_counts(topology, method(topology))
    longest = np.ceil(
        hops[hops > 0] - 1e-9
    )  # k shortest paths may be one longer: then their mean is not whole
    within = [(longest <= most).mean() for most in range(1, 11)]
    assert within == pytest.approx(C128, abs=6e-4)
    assert coin_length_distribution(CoinChangeRoutes(topology).table) == pytest.approx(C128, abs=6e-4)


def test_hops_are_those_of_the_coin_table_whatever_counts_them() -> None:
    topology = circulant(30, 1, 7)
    by_coins = hop_counts(topology, CoinChangeRoutes(topology))
    assert np.allclose(by_coins, hop_counts(topology, KShortestRoutes(topology)))
    assert np.allclose(by_coins.sum() / (30 * 29), CoinChangeRoutes(topology).table.average_hops)
    assert (np.diag(by_coins) == 0).all()


def test_longer_paths_count_with_their_mean() -> None:
    topology = circulant(5, 1)
    routes = KShortestRoutes(topology, k=2, slack=3)
    hops = hop_counts(topology, routes)
    assert hops[0].tolist() == [0, 2.5, 2.5, 2.5, 2.5]  # 1 and 4 hops, or 2 and 3


def test_bandwidth_tax_of_the_all_to_all_study() -> None:
    # DLRM, 128 servers, d=4: at batch 2048 the all-to-all is 80 % of the AllReduce, in proportion below.
    ratio = 0.8 * 64 / 2048
    topology = circulant(128, 1, 13)
    hops = CoinChangeRoutes(topology).table.average_hops
    assert round(bandwidth_tax(ratio, hops), 2) == 1.11


def test_bandwidth_tax_formula_is_bytes_on_links_over_bytes_demanded() -> None:
    topology = circulant(12, 1, 5)
    routes = CoinChangeRoutes(topology)
    demand = np.full((12, 12), 3.0) * (1 - np.eye(12))
    allreduce = 1000.0
    on_links = allreduce + link_loads(topology, routes, demand).sum()
    tax = on_links / (allreduce + demand.sum())
    assert bandwidth_tax(demand.sum() / allreduce, routes.table.average_hops) == pytest.approx(tax)
