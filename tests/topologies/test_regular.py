"""Every family of direct wirings: who exists, that no interface idles, and published facts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from topoopt.topologies import WIRING_FAMILIES, moore_average_hops, moore_histogram, wiring_hops
from topoopt.topologies.families.algebraic import galois_field, prime_power
from topoopt.topologies.families.circulant import best_of_all_strides, circulant_wiring

NUMBERS = [
    (servers, degree, links)
    for servers, degree in [
        (8, 4),
        (12, 4),
        (15, 4),
        (16, 3),
        (18, 4),
        (18, 5),
        (32, 6),
        (50, 7),
        (54, 6),
        (64, 2),
    ]
    for links in ("duplex", "directed")
] + [(2184, 6, "duplex")]


@pytest.mark.parametrize("name", WIRING_FAMILIES)
def test_a_family_uses_every_interface_and_its_hops_are_those_of_scipy(name: str) -> None:
    family, met = WIRING_FAMILIES[name], 0
    for servers, degree, links in NUMBERS:
        if not family.exists(servers, degree, links) or (servers > 100 and name != "lps"):
            continue
        for wiring in family.build(servers, degree, links):
            met += 1
            src, dst = wiring.arcs
            assert (wiring.servers, wiring.degree, wiring.links) == (servers, degree, links)
            assert wiring.idle_interfaces <= 2  # a loop that no other can be joined with
            if links == "duplex":
                assert sorted(zip(src, dst, strict=True)) == sorted(zip(dst, src, strict=True))
            graph = csr_array((np.ones(len(src)), (src, dst)), shape=(servers, servers))
            plain = shortest_path(graph, unweighted=True)
            hops = wiring_hops(wiring)
            assert hops.average_hops == pytest.approx(plain.sum() / servers / (servers - 1), abs=1e-12)
            assert hops.diameter == plain.max()
            assert hops.average_hops >= moore_average_hops(servers, degree, links) - 1e-12
    assert met


@pytest.mark.parametrize(
    ("servers", "strides", "diameter", "hops"),
    [(12, (2, 3), 2, 1.6364), (16, (3, 4), 3, 2.0), (12, (1, 5), 3, 1.8182), (16, (1, 5), 4, 2.1333)],
)
def test_circulants_of_the_paper_and_better_ones(
    servers: int, strides: tuple[int, ...], diameter: int, hops: float
) -> None:
    found = wiring_hops(circulant_wiring(servers, strides, "duplex"))
    assert (found.diameter, round(found.average_hops, 4)) == (diameter, hops)


def test_two_strides_next_to_each_other_have_the_least_diameter() -> None:
    """C(n, {k, k+1}), k = ⌈(√(2n-1) - 1) / 2⌉, has diameter k, and none of two strides less."""
    for servers in range(6, 400):
        k = int(np.ceil((np.sqrt(2 * servers - 1) - 1) / 2 - 1e-12))
        assert wiring_hops(circulant_wiring(servers, (k, k + 1), "duplex")).diameter == k
    for servers in (20, 41, 64):
        k = int(np.ceil((np.sqrt(2 * servers - 1) - 1) / 2 - 1e-12))
        best = circulant_wiring(servers, best_of_all_strides(servers, 4, "duplex"), "duplex")
        assert wiring_hops(best).diameter == k


@pytest.mark.parametrize(("servers", "degree"), [(18, 5), (32, 6), (50, 7), (98, 11), (128, 12), (162, 13)])
def test_slim_fly_joins_all_in_two_hops(servers: int, degree: int) -> None:
    wiring = next(WIRING_FAMILIES["slim-fly"].build(servers, degree, "duplex"))
    assert wiring_hops(wiring).diameter == 2


def test_a_kautz_wiring_of_1024_servers_has_five_hops() -> None:
    assert wiring_hops(next(WIRING_FAMILIES["kautz"].build(1024, 4, "directed"))).diameter == 5


def test_a_line_graph_has_one_hop_more() -> None:
    three = [
        wiring
        for wiring in WIRING_FAMILIES["line-graph"].build(1024, 4, "directed")
        if wiring.recipe["times"] == 3
    ]
    assert min(wiring_hops(wiring).diameter for wiring in three) == 6


def test_a_field_has_an_inverse_of_everything_but_zero() -> None:
    for size in (4, 8, 9, 25):
        order = prime_power(size)
        assert order is not None
        field = galois_field(*order)
        assert sorted(field.powers()) == list(range(1, size))
        assert all((row == 1).sum() == 1 for row in field.times[1:])
    assert prime_power(12) is None


def test_moores_bound_counts_every_server_once() -> None:
    assert sum(moore_histogram(1000, 4)) == 999
    assert list(moore_histogram(5, 2)) == [2, 2]
    assert moore_average_hops(1024, 4) == pytest.approx(5.3001, abs=1e-4)
