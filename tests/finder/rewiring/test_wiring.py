"""Patches through panels: ports are taken once, no patch leaves its panel, every topology can be wired."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder.rewiring import Patch, Wiring, ported, wire
from topoopt.topologies import LiftShape, Link, Topology, circulant, fat_tree, lifted, topology_from_links


def cables(servers: int, pairs: list[tuple[int, int]]) -> Topology:
    both = [Link(*ends, 1e9) for a, b in pairs for ends in ((a, b), (b, a))]
    return topology_from_links("direct", servers, both)


PETERSEN = [
    *((i, (i + 1) % 5) for i in range(5)),
    *((i, i + 5) for i in range(5)),
    *((5 + i, 5 + (i + 2) % 5) for i in range(5)),
]


def test_a_ring_of_fibers_is_one_panel() -> None:
    wiring = wire(circulant(5, (1, 2), 1e9, links="directed"), 2, "directed")
    assert wiring.panels == 2
    assert {p for p in wiring.patches if wiring.panel_of(p) == 0} == {
        Patch(i, 0, (i + 1) % 5, 0) for i in range(5)
    }


def test_an_even_ring_of_cables_alternates_between_two_panels() -> None:
    wiring = wire(circulant(6, (1,), 1e9), 2, "duplex")
    assert wiring.interfaces_per_panel == 1
    assert sorted(wiring.panel_of(p) for p in wiring.patches) == [0, 0, 0, 1, 1, 1]


def test_an_odd_ring_of_cables_needs_two_interfaces_on_one_panel() -> None:
    assert wire(circulant(5, (1,), 1e9), 2, "duplex").interfaces_per_panel == 2
    with pytest.raises(Infeasible, match="use 2 interfaces per panel"):
        wire(circulant(5, (1,), 1e9), 2, "duplex", interfaces_per_panel=1)


def test_the_petersen_graph_has_no_three_matchings() -> None:
    assert wire(cables(10, PETERSEN), 3, "duplex").interfaces_per_panel == 2


@given(
    servers=st.integers(2, 11),
    degree=st.integers(1, 5),
    model=st.sampled_from(["duplex", "directed"]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_every_topology_within_its_degree_can_be_wired(
    servers: int, degree: int, model: str, seed: int
) -> None:
    topology = random_topology(servers, degree, model, seed)
    wiring = wire(topology, degree, model)
    wanted = Counter(
        {(int(a), int(b)): int(p) for a, b, p in zip(topology.src, topology.dst, topology.ports, strict=True)}
    )
    found = Counter((p.src, p.dst) for p in wiring.patches)
    if model == "duplex":
        found += Counter((p.dst, p.src) for p in wiring.patches)
    assert found == wanted  # and Wiring itself has checked the ports


def random_topology(servers: int, degree: int, model: str, seed: int) -> Topology:
    rng = np.random.default_rng(seed)
    out, into = np.full(servers, degree), np.full(servers, degree)
    links = []
    for _ in range(servers * degree * 2):
        a, b = (int(one) for one in rng.choice(servers, 2, replace=False))
        if model == "directed" and out[a] and into[b]:
            out[a] -= 1
            into[b] -= 1
            links.append(Link(a, b, 1e9))
        elif model == "duplex" and out[a] and out[b]:
            out[[a, b]] -= 1
            links += [Link(a, b, 1e9), Link(b, a, 1e9)]
    return topology_from_links("direct", servers, links)


def test_what_a_wiring_refuses() -> None:
    with pytest.raises(InvalidInput, match="port 0 of server 1 is taken twice"):
        Wiring("duplex", 2, 1, (Patch(0, 0, 1, 0), Patch(1, 0, 2, 0)))
    with pytest.raises(InvalidInput, match="joins ports of two panels"):
        Wiring("duplex", 2, 1, (Patch(0, 0, 1, 1),))
    with pytest.raises(InvalidInput, match=r"interfaces are 0\.\.1"):
        Wiring("duplex", 2, 1, (Patch(0, 2, 1, 2),))
    with pytest.raises(InvalidInput, match="the lower one first"):
        Wiring("duplex", 2, 1, (Patch(1, 0, 0, 0),))
    with pytest.raises(InvalidInput, match="to remove"):
        Wiring("directed", 2).changed([Patch(0, 0, 1, 0)], ())


def test_what_cannot_be_wired_is_refused() -> None:
    with pytest.raises(InvalidInput, match="hang on switches"):
        wire(fat_tree(16, 1e9), 1, "duplex")
    with pytest.raises(InvalidInput, match="server 0 has 4 links and 2 interfaces"):
        wire(circulant(8, (1, 3), 1e9), 2, "duplex")
    with pytest.raises(InvalidInput, match="link 0->1 has no link back"):
        wire(circulant(8, (1, 3), 1e9, links="directed"), 2, "duplex")


@pytest.mark.parametrize("servers", [15, 16, 33, 64])
@pytest.mark.parametrize("degree", [4, 6])
def test_panels_are_matchings_petersens_or_koenigs(servers: int, degree: int) -> None:
    """Spec D: cycles of an even number of servers are matchings, one interface a panel; an odd one needs two."""
    made = lifted(LiftShape(servers, degree), 0)
    assert wire(made.topology(), degree, "duplex").interfaces_per_panel == 1 + servers % 2
    assert ported(made).interfaces_per_panel == 1 + servers % 2
    fibers = lifted(LiftShape(servers, degree, "directed"), 0)
    assert wire(fibers.topology(), degree, "directed").interfaces_per_panel == 1
    if servers % 2 == 0:
        odd = lifted(LiftShape(servers, degree + 1), 0)
        assert wire(odd.topology(), degree + 1, "duplex").interfaces_per_panel == 1
        assert ported(odd).interfaces_per_panel == 1


@pytest.mark.parametrize("servers", [15, 65])
def test_cables_around_an_odd_number_do_not_fit_on_panels_of_one_interface(servers: int) -> None:
    """nd/2 cables are more than d matchings of (n - 1)/2 have."""
    with pytest.raises(Infeasible, match="use 2 interfaces per panel"):
        wire(lifted(LiftShape(servers, 4), 0).topology(), 4, "duplex", 1)
