"""After how many servers the links of a topology are the same again, against trying out every turn."""

import numpy as np
import pytest

from topoopt.topologies import (
    Topology,
    circulant,
    ideal_switch,
    link_orbits,
    topology_from_arrays,
    torus,
    turn_of,
)

GRID = torus(24, 4e9)
"""6 by 4: a turn by 4 servers is one step along the longer side."""


def turned(topology: Topology, step: int) -> set[tuple[int, int, int]]:
    """Return all links with their ports, moved so many servers further."""
    ends = zip(topology.src.tolist(), topology.dst.tolist(), topology.ports.tolist(), strict=True)
    servers = topology.servers
    return {((a + step) % servers, (b + step) % servers, ports) for a, b, ports in ends}


def first_turn(topology: Topology) -> int:
    steps = range(1, topology.servers + 1)
    return next(step for step in steps if turned(topology, step) == turned(topology, 0))


def test_links_are_the_same_again_after_the_first_turn_that_leaves_them_as_they_are() -> None:
    ring, chords = np.arange(24), np.arange(0, 24, 4)
    ends = np.concatenate([ring, chords]), np.concatenate([ring + 1, chords + 7]) % 24
    chorded = topology_from_arrays("direct", 24, *ends, 1e9, 1e-6)
    for topology in (circulant(12, (1, 5), 1e9), GRID, torus(36, 6e9, dimensions=3), chorded):
        assert turn_of(topology) == first_turn(topology)
    assert turn_of(chorded) == 4


def test_orbits_number_every_link_once_and_a_turn_adds_to_the_number() -> None:
    topology, orbits = GRID, link_orbits(GRID, 4)
    assert orbits is not None
    assert np.array_equal(orbits.link[orbits.code], np.arange(len(topology)))
    after = orbits.link[(orbits.code + orbits.orbits) % len(topology)]
    assert np.array_equal(topology.src[after], (topology.src + 4) % 24)
    assert np.array_equal(topology.dst[after], (topology.dst + 4) % 24)


@pytest.mark.parametrize("step", [0, -4, 5, 6, 48])
def test_what_is_no_turn_has_no_orbits(step: int) -> None:
    assert link_orbits(GRID, step) is None


def test_links_of_other_bandwidth_are_not_alike() -> None:
    ring = np.arange(8)
    bandwidth = np.where(ring % 2, 1e9, 2e9)
    topology = topology_from_arrays("direct", 8, ring, (ring + 1) % 8, bandwidth, 1e-6)
    assert turn_of(topology) == 2


def test_switches_are_not_turned() -> None:
    assert turn_of(ideal_switch(8, 1e9)) == 8


def test_a_demand_may_be_the_same_again_later_than_the_links() -> None:
    topology, demand = GRID, np.ones((24, 24))
    assert turn_of(topology, demand) == 4
    demand[0::12, 1] = 2.0
    demand[0::12, 13] = 2.0
    assert turn_of(topology, demand) == 12
    demand[3, 4] = 5.0
    assert turn_of(topology, demand) == 24
