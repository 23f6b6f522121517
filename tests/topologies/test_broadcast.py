"""Breadth-first broadcast: its steps and bytes by a second method, on wirings whose values are known, expanded."""

from fractions import Fraction
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.collectives.wirings import (
    BPS,
    NAMED,
    arcs_of,
    cartesian,
    complete,
    complete_bipartite,
    diamond,
    kautz,
    lifted_128_4,
    lifted_128_8,
    line_graph,
    nearest_strides,
    power,
    random_digraph,
    ring_one_way,
    times_degree,
    wired,
    without_offsets,
)
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.topologies import (
    BroadcastSteps,
    Topology,
    broadcast,
    broadcast_steps,
    circulant,
    expander,
    fat_tree,
    hops_from,
    reversed_links,
)


def by_linear_program(topology: Topology) -> list[float]:
    """The fullest link of each step, by HiGHS: each shard split at will, the largest load into a server least."""
    n = topology.servers
    hops = hops_from(topology, np.arange(n))
    fullest = [0.0] * int(hops.max())
    into: dict[int, list[int]] = {u: [] for u in range(n)}
    for src, dst in arcs_of(topology):
        into[dst].append(src)
    for u in range(n):
        for t in range(1, int(hops[:, u].max()) + 1):
            shards = [v for v in range(n) if hops[v, u] == t]
            open_to = [
                (i, j) for i, v in enumerate(shards) for j, w in enumerate(into[u]) if hops[v, w] == t - 1
            ]
            count, links = len(open_to), len(into[u])
            load = np.zeros((links, count + 1))
            load[:, -1] = -1
            whole = np.zeros((len(shards), count + 1))
            for column, (i, j) in enumerate(open_to):
                load[j, column] = whole[i, column] = 1
            cost = np.append(np.zeros(count), 1.0)
            best = linprog(cost, load, np.zeros(links), whole, np.ones(len(shards)), method="highs")
            fullest[t - 1] = max(fullest[t - 1], float(best.fun or 0.0))
    return fullest


def law(topology: Topology, ports: int | None = None) -> tuple[int, Fraction]:
    steps = broadcast_steps(topology, ports)
    return steps.steps, steps.volume


@pytest.mark.parametrize("seed", range(12))
def test_the_fullest_link_is_the_linear_programs(seed: int) -> None:
    wiring = random_digraph(8 + 3 * (seed % 4), 2 + seed % 3, seed)
    assert [float(share) for share in broadcast_steps(wiring).fullest] == pytest.approx(
        by_linear_program(wiring)
    )


def test_links_of_several_ports_carry_as_much_more() -> None:
    ring = [(i, (i + 1) % 6) for i in range(6)]
    wiring = wired(6, [*ring, *ring, *((b, a) for a, b in ring)])
    assert [float(share) for share in broadcast_steps(wiring).fullest] == pytest.approx(
        by_linear_program(wiring)
    )


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_links_and_flows_agree(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    wiring = random_digraph(30, 3 + seed, seed)
    by_subsets = broadcast_steps(wiring)
    monkeypatch.setattr(broadcast, "MOST_LINKS_OF_SUBSETS", 0)
    assert broadcast_steps(wiring) == by_subsets


def test_one_server_speaks_for_all_of_a_circulant() -> None:
    for wiring in (circulant(24, (1, 3, 4), BPS), circulant(30, (1, 7), BPS, links="directed")):
        assert broadcast_steps(wiring) == broadcast_steps(without_offsets(wiring))


KNOWN: dict[str, tuple[Topology, int, Fraction]] = {
    "±1, ±15 of 128": (circulant(128, (1, 15), BPS), 8, Fraction(127, 128)),
    "C(24,{1,3,4})": (circulant(24, (1, 3, 4), BPS), 3, Fraction(47, 48)),
    "C(12,{2,3})": (circulant(12, (2, 3), BPS), 2, Fraction(11, 12)),
    "C(16,{3,4})": (circulant(16, (3, 4), BPS), 3, Fraction(15, 16)),
    "diamond": (diamond(), 3, Fraction(7, 8)),
    "Kautz 4, 1024": (kautz(4, 1024), 5, Fraction(341, 256)),
    "directed 1024": (circulant(1024, (1, 295, 626, 667), BPS, links="directed"), 13, Fraction(1023, 1024)),
    "directed 128": (circulant(128, (1, 73, 77, 118), BPS, links="directed"), 7, Fraction(127, 128)),
    "lifted 128, 4": (lifted_128_4(), 5, Fraction(67, 64)),
    "lifted 128, 8": (lifted_128_8(), 3, Fraction(127, 128)),
    "complete 4": (complete(4), 1, Fraction(3, 4)),
    "complete bipartite 4": (complete_bipartite(4), 2, Fraction(7, 8)),
    "one-way ring": (ring_one_way(9), 8, Fraction(8, 9)),
}
"""Steps and bytes that the specification of the wirings has as exact."""


@pytest.mark.parametrize("name", KNOWN)
def test_known_wirings_have_their_steps_and_bytes(name: str) -> None:
    wiring, steps, volume = KNOWN[name]
    assert law(wiring, 4 if name.startswith("Kautz") else None) == (steps, volume)


def test_known_wirings_of_1024_servers_made_of_small_ones() -> None:
    """The frontier of 1,024 servers of 4 ports; the second and the third are made by expansion."""
    thrice = line_graph(line_graph(line_graph(circulant(16, (3, 4), BPS))))
    assert law(thrice) == (6, Fraction(261, 256))
    twice = line_graph(line_graph(power(diamond(), 2)))
    assert law(twice) == (8, Fraction(1))
    rings = power(cartesian(ring_one_way(4), ring_one_way(8)), 2)
    assert law(rings) == (20, Fraction(1023, 1024))


def test_kautz_of_128() -> None:
    steps, volume = law(kautz(4, 128), 4)
    assert (steps, round(float(volume), 3)) == (4, 1.656)


def connected_pairs(n: int) -> list[tuple[int, int]]:
    """Strides of every connected circulant of four ports that is no other's by renaming them ±."""
    return [(a, b) for a, b in combinations(range(1, (n + 1) // 2), 2) if gcd(gcd(a, b), n) == 1]


def test_every_circulant_of_four_ports_has_the_least_bytes() -> None:
    """All 295 connected ones of up to 22 servers."""
    count = 0
    for n in range(5, 23):
        for strides in connected_pairs(n):
            assert broadcast_steps(circulant(n, strides, BPS)).volume == Fraction(n - 1, n), (n, strides)
            count += 1
    assert count == 295


def test_two_neighboring_strides_have_the_least_diameter() -> None:
    for n in range(6, 400):
        k = int(np.ceil((np.sqrt(2 * n - 1) - 1) / 2))
        assert 2 * k * (k + 1) + 1 >= n > 2 * k * (k - 1) + 1  # as many as k steps of two strides reach
        assert broadcast_steps(nearest_strides(n)).steps == k, n


@pytest.mark.parametrize("name", NAMED)
def test_a_line_graph_takes_one_more_step_and_one_more_shard(name: str) -> None:
    """(dN, d, T_L + 1, T_B + 1/N)."""
    base = NAMED[name]()
    before, after = broadcast_steps(base), broadcast_steps(line_graph(base))
    assert (after.servers, after.ports) == (before.ports * before.servers, before.ports)
    assert after.steps <= before.steps + 1  # that of a one-way ring is the ring itself
    assert after.volume <= before.volume + Fraction(1, before.servers)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", NAMED)
def test_a_multiplied_degree(name: str, k: int) -> None:
    """(kN, kd, T_L + 1, T_B + (k-1)/(kN)): copies of a server are two hops apart at least."""
    base = NAMED[name]()
    before, after = broadcast_steps(base), broadcast_steps(times_degree(base, k))
    assert (after.servers, after.ports) == (k * before.servers, k * before.ports)
    assert after.steps <= before.steps + 1
    assert after.volume <= before.volume + Fraction(k - 1, k * before.servers)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", NAMED)
def test_a_cartesian_power(name: str, k: int) -> None:
    """(N^k, kd, k·T_L, T_B·N/(N-1)·(N^k-1)/N^k)."""
    base = NAMED[name]()
    if base.servers**k > 600:
        pytest.skip("large")
    before, after = broadcast_steps(base), broadcast_steps(power(base, k))
    n = before.servers
    assert (after.servers, after.ports, after.steps) == (n**k, k * before.ports, k * before.steps)
    assert after.volume <= before.volume * Fraction(n, n - 1) * Fraction(n**k - 1, n**k)


OPTIMAL = ("complete 4", "complete bipartite 3", "diamond", "one-way ring of 4", "ring of 5", "C(16,{3,4})")


@pytest.mark.parametrize(("first", "second"), list(combinations(OPTIMAL, 2)))
def test_products_of_the_best_are_the_best(first: str, second: str) -> None:
    one, two = NAMED[first](), NAMED[second]()
    whole = broadcast_steps(cartesian(one, two))
    assert whole.steps == broadcast_steps(one).steps + broadcast_steps(two).steps
    assert whole.volume == Fraction(whole.servers - 1, whole.servers)


def test_a_wiring_backwards_has_the_links_backwards() -> None:
    wiring = kautz(2, 12)
    assert sorted(arcs_of(reversed_links(wiring))) == sorted((b, a) for a, b in arcs_of(wiring))
    turned = reversed_links(circulant(12, (1, 5), BPS, links="directed"))
    assert turned.offsets == (7, 11)
    assert law(turned) == law(circulant(12, (1, 5), BPS, links="directed"))


def test_chunks_make_whole_what_the_fullest_ports_carry() -> None:
    assert BroadcastSteps(9, 3, (Fraction(1), Fraction(5, 3), Fraction(1, 2))).chunks == 6
    many = BroadcastSteps(9, 13, tuple(Fraction(1, prime) for prime in (7, 11, 13)))
    assert many.chunks <= broadcast.MOST_CHUNKS


@pytest.mark.parametrize(
    ("wiring", "error", "said"),
    [
        (
            wired(3, [(0, 1), (1, 0), (1, 2), (2, 1)]),
            InvalidInput,
            "not regular: server 1 has 2 ports out, most have 1; .*degree=2",
        ),
        (wired(4, [(0, 1), (1, 0), (2, 3), (3, 2)]), NoRoute, "server 0 is reached by 1 others"),
        (fat_tree(16, BPS), InvalidInput, "servers hang on switches"),
    ],
)
def test_what_no_broadcast_is_for_is_refused(wiring: Topology, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        broadcast_steps(wiring)


def test_more_ports_than_sets_are_counted_for() -> None:
    """Above ten links a flow finds the fullest; above sixty-two only a full mesh is known."""
    wiring = expander(30, 12, BPS)
    assert [float(share) for share in broadcast_steps(wiring).fullest] == pytest.approx(
        by_linear_program(wiring)
    )
    assert law(complete(70)) == (1, Fraction(69, 70))
    with pytest.raises(InvalidInput, match="has 64 neighbors; breadth-first broadcast takes at most 62"):
        broadcast_steps(expander(100, 64, BPS))
