"""Graphs of switches against their published counts, degrees and diameters."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.topologies import (
    RailShape,
    Topology,
    dragonfly,
    dragonfly_plus,
    hops_from,
    in_planes,
    jellyfish,
    leaf_spine,
    polarfly,
    rail_optimized,
    slim_fly_plane,
)

SIZE = (100e9, 1e-6)


def ports_of_switches(graph: Topology) -> Counter[int]:
    ends = np.bincount(graph.src, graph.ports, graph.nodes)[graph.servers :]
    return Counter(ends.astype(int).tolist())


def diameter(graph: Topology) -> int:
    """Return the most links between two switches."""
    switches = np.arange(graph.servers, graph.nodes)
    return int(hops_from(graph, switches)[:, graph.servers :].max())


def links_between_switches(graph: Topology) -> np.ndarray:
    inside = (graph.src >= graph.servers) & (graph.dst >= graph.servers)
    return np.bincount(graph.src[inside], graph.ports[inside], graph.nodes)[graph.servers :].astype(int)


def test_slim_fly_of_order_5() -> None:
    """Besta and Hoefler, SC 2014, section II-B: the Hoffman-Singleton graph has 50 switches of degree 7."""
    graph = slim_fly_plane(200, *SIZE, q=5)
    assert graph.nodes - graph.servers == 50
    assert set(links_between_switches(graph).tolist()) == {7}
    assert set(ports_of_switches(graph)) == {11}  # and 4 servers each
    assert diameter(graph) == 2


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 11])
def test_polarfly(q: int) -> None:
    """Lakhotia et al., SC 2022: q² + q + 1 switches of degree q + 1, the q + 1 self-orthogonal ones of one less."""
    graph = polarfly(2, *SIZE, q=q)
    links = Counter(links_between_switches(graph).tolist())
    assert graph.nodes - graph.servers == q * q + q + 1
    assert links == {q + 1: q * q, q: q + 1}
    assert diameter(graph) == 2


@pytest.mark.parametrize("servers", [6, 72, 200, 342])
def test_dragonfly(servers: int) -> None:
    """Kim et al., ISCA 2008: a = 2p = 2h, and with a·h + 1 groups one cable between every two of them."""
    graph = dragonfly(servers, *SIZE, per_switch=3)
    groups = -(-servers // 18)
    assert graph.nodes - graph.servers == 6 * groups
    assert diameter(graph) <= 3
    assert max(ports_of_switches(graph)) <= 3 + 5 + 3
    group = (np.arange(graph.nodes) - graph.servers) // 6
    inside = (graph.src >= servers) & (graph.dst >= servers)
    pairs = Counter(zip(group[graph.src[inside]].tolist(), group[graph.dst[inside]].tolist(), strict=True))
    between = [pairs[a, b] for a in range(groups) for b in range(groups) if a != b]
    assert not between or min(between) >= 1
    if servers == 342:
        assert set(between) == {1}


def test_dragonfly_plus() -> None:
    """Shpiner et al., HiPINEB 2017: leaves of k/2 servers, complete to spines; three links between switches."""
    graph = dragonfly_plus(20 * 4, *SIZE, radix=8)
    assert graph.nodes - graph.servers == 2 * 4 * 5  # five groups of 16 servers
    assert max(ports_of_switches(graph)) <= 8
    leaves = np.unique(graph.dst[graph.src < graph.servers]).astype(np.int64)
    assert hops_from(graph, leaves)[:, leaves].max() == 3


def test_jellyfish_is_regular_and_connected() -> None:
    graph = jellyfish(100, *SIZE, seed=3, ports=15, per_switch=5)
    assert ports_of_switches(graph) == {15: 20}
    assert diameter(graph) <= 3


def test_leaves_and_spines_have_the_bandwidth_of_their_ratio() -> None:
    """Two tiers and 1:7 above them (Gangidi et al., SIGCOMM 2024)."""
    shape = {"leaf_servers": 8, "pod_servers": 56, "pod_oversubscription": 7.0}
    for switches in (False, True):
        graph = leaf_spine(112, *SIZE, **shape, switches=switches)  # type: ignore[arg-type]
        level = np.zeros(graph.nodes, int)
        leaves = np.unique(graph.dst[graph.src < graph.servers])
        level[leaves] = 1
        above = np.unique(graph.dst[np.isin(graph.src, leaves) & (graph.dst >= graph.servers)])
        level[above] = 2
        level[(level == 0) & (np.arange(graph.nodes) >= graph.servers)] = 3
        up = {
            k: graph.bandwidth_bps[(level[graph.src] == k) & (level[graph.dst] == k + 1)].sum()
            for k in range(3)
        }
        assert up[0] == up[1] == 112 * 100e9
        assert up[2] == pytest.approx(up[0] / 7)


@pytest.mark.parametrize(
    ("servers", "shape", "switches", "links"),
    [
        (8, RailShape(planes=2, leaf_servers=8, spines=8), 32, 128 + 128),
        (1920, RailShape(planes=2, leaf_servers=128, spines=60), 360, 60 * 240 + 1920 * 16),
    ],
)
def test_hpn_has_the_switches_and_cables_of_simai(
    servers: int, shape: RailShape, switches: int, links: int
) -> None:
    """First lines of SimAI's files: 104 8 8 32 320 and 17640 8 1920 360 60480, less the links inside servers."""
    graph = rail_optimized(servers, 8, 400e9, 1e-6, shape, True)
    assert graph.nodes - servers == switches
    assert int(graph.ports.sum()) // 2 == links


def test_planes_are_equal_and_apart() -> None:
    one = dragonfly(20, *SIZE)
    four = in_planes(one, 4)
    assert four.nodes - 20 == 4 * (one.nodes - 20)
    assert int(four.ports.sum()) == 4 * int(one.ports.sum())
    hops = hops_from(four, np.arange(20))
    assert np.array_equal(hops[:, :20], hops_from(one, np.arange(20))[:, :20])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dragonfly(400, *SIZE, per_switch=3), "use a larger per_switch"),
        (lambda: dragonfly_plus(10, *SIZE, radix=7), "radix must be even"),
        (lambda: slim_fly_plane(10, *SIZE, q=6), "q must be one of 3, 4, 5"),
        (lambda: polarfly(10_000, *SIZE, q=5), "q = 5 holds 93 servers"),
        (lambda: jellyfish(10, *SIZE, ports=4, per_switch=4), "per_switch must be"),
        (lambda: leaf_spine(64, *SIZE, leaf_servers=8, pod_servers=20), "multiple of leaf_servers"),
        (lambda: leaf_spine(64, *SIZE, oversubscription=0.5), "at least 1"),
        (lambda: rail_optimized(8, 8, 400e9, 1e-6, RailShape(planes=0)), "planes"),
    ],
)
def test_impossible_sizes_are_one_line(make: Callable[[], Topology], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
