"""What no schedule undercuts: by flows, by all sets of servers, and on wirings whose bound is known."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tests.collectives.wirings import (
    BPS,
    arcs_of,
    complete,
    diamond,
    kautz,
    lifted_128_4,
    random_digraph,
    wired,
    without_offsets,
)
from topoopt.collectives.frontier import collective_answer
from topoopt.collectives.frontier.answer import bound_of
from topoopt.collectives.frontier.wiring import Wiring, wiring_of
from topoopt.collectives.tightest_set import tightest_set
from topoopt.topologies import Topology, broadcast_steps, circulant, expander, hop_metrics


def by_all_sets(topology: Topology) -> Fraction:
    n, arcs = topology.servers, arcs_of(topology)
    best = Fraction(0)
    for size in range(1, n):
        for chosen in combinations(range(n), size):
            inside = set(chosen)
            best = max(best, Fraction(size, sum(a in inside and b not in inside for a, b in arcs)))
    return best


PARTS = ["01", "12", "23", "34", "40", "02", "13", "56", "67", "78", "89", "95", "57", "45"]
BROKEN = wired(10, [(int(pair[i]), int(pair[1 - i])) for pair in PARTS for i in (0, 1)])
"""Two parts with one cable between them."""


@pytest.mark.parametrize("seed", range(6))
def test_flows_find_the_tightest_set(seed: int) -> None:
    wiring = random_digraph(8 + seed % 3, 2, seed)
    assert tightest_set(wiring).ratio == by_all_sets(wiring)


def test_one_cable_between_two_parts_bounds_everything() -> None:
    found = tightest_set(BROKEN)
    assert (found.ratio, found.servers, found.ports_out) == (by_all_sets(BROKEN), 5, 1)


def test_a_union_of_hamiltonian_cycles_reaches_all_but_one_server() -> None:
    """(n - 1) / n of the message: what d/2 rings both ways take."""
    for topology in (lifted_128_4(), without_offsets(circulant(60, (7, 11), BPS)), expander(30, 6, BPS)):
        wiring = wiring_of("given", topology)
        bound = bound_of("all-gather", wiring, hop_metrics(topology))
        assert bound.volume == pytest.approx((wiring.servers - 1) / wiring.servers)


@pytest.mark.parametrize("topology", [diamond(), complete(6), kautz(2, 12), random_digraph(24, 3, 1), BROKEN])
def test_no_broadcast_is_below_the_bound(topology: Topology) -> None:
    ports = int(np.bincount(topology.src, topology.ports).max())
    wiring = wiring_of("given", topology, ports)
    bound = bound_of("all-gather", wiring, hop_metrics(topology))
    steps = broadcast_steps(topology, ports)
    assert bound.steps == steps.steps
    assert bound.volume <= float(steps.volume) + 1e-12


def test_random_schedules_do_not_beat_the_bound() -> None:
    """Shards handed on at random, many times: the bytes of every run stay at or above the bound's."""
    wiring = wiring_of("given", random_digraph(12, 2, 3))
    bound = bound_of("all-gather", wiring, hop_metrics(wiring.topology))
    volumes = [random_gather(wiring, seed) for seed in range(40)]
    assert min(volumes) >= bound.volume - 1e-12


def random_gather(wiring: Wiring, seed: int) -> float:
    """Each step, every link carries one shard drawn among those that its end lacks; links over steps are bytes."""
    rng, n = np.random.default_rng(seed), wiring.servers
    has, steps = np.eye(n, dtype=bool), 0
    while not has.all():
        before, steps = has.copy(), steps + 1
        for src, dst in arcs_of(wiring.topology):
            useful = np.flatnonzero(before[src] & ~has[dst])
            if len(useful):
                has[dst, rng.choice(useful)] = True
    return steps * wiring.ports / n


def test_an_all_to_all_crosses_its_hops() -> None:
    wiring = wiring_of("circulant", circulant(128, (1, 15), BPS))
    hops = hop_metrics(wiring.topology)
    assert bound_of("all-to-all", wiring, hops).volume == pytest.approx(hops.average_hops * 127 / 128)
    large = wiring_of("lifted", lifted_128_4())
    hops = hop_metrics(large.topology)
    bound = bound_of("all-to-all", large, hops)
    assert bound.volume == pytest.approx(hops.average_hops * 127 / 128)
    assert bound.why == "every byte takes its shortest way"


@pytest.mark.parametrize(("degree", "servers"), [(2, 12), (2, 24), (3, 36)])
def test_on_kautz_no_shortest_ways_are_the_best_for_an_all_to_all(degree: int, servers: int) -> None:
    """The best routing takes detours there: it is above what hops allow, and below all routings of shortest ways."""
    answer = collective_answer("all-to-all", 1e6, wiring_of("kautz", kautz(degree, servers)), 1e-6)
    assert answer.bound.volume > 1.03 * answer.hops.average_hops * (servers - 1) / servers
    assert answer.chosen.volume > 1.03 * answer.bound.volume


def test_directed_links_bound_both_halves_of_an_allreduce() -> None:
    wiring = wiring_of("given", random_digraph(10, 2, 5))
    hops = hop_metrics(wiring.topology)
    halves = [bound_of(half, wiring, hops).volume for half in ("reduce-scatter", "all-gather")]
    assert bound_of("allreduce", wiring, hops).volume == pytest.approx(sum(halves))
