"""The schedule of a breadth-first broadcast, played: every shard arrives, and no port carries more than it must."""

from fractions import Fraction

import numpy as np
import pytest

from tests.collectives.test_schedules import check_goal
from tests.collectives.wirings import (
    BPS,
    NAMED,
    complete,
    diamond,
    kautz,
    lifted_128_4,
    line_graph,
    random_digraph,
    wired,
)
from topoopt.collectives import (
    Schedule,
    Transfers,
    broadcast_schedule,
    one_after_the_other,
    play,
    transfers_of,
)
from topoopt.collectives.ring import all_gather, reduce_scatter, ring
from topoopt.collectives.schedule import Send
from topoopt.topologies import Topology, broadcast_steps, circulant, expander, reversed_links

WIRINGS: dict[str, Topology] = {name: make() for name, make in NAMED.items()} | {
    "C(24,{1,3,4})": circulant(24, (1, 3, 4), BPS),
    "lifted 128, 4": lifted_128_4(),
    "Kautz 3, 36": kautz(3, 36),
    "line graph": line_graph(diamond()),
    "random digraph": random_digraph(40, 3, 7),
    "random, 12 ports": expander(28, 12, BPS),
    "full mesh": complete(9),
}


def as_schedule(transfers: Transfers) -> Schedule:
    """The same as sends of single chunks."""
    steps: list[list[Send]] = [[] for _ in range(transfers.steps)]
    for row in range(len(transfers)):
        first, ends = int(transfers.first[row]), (int(transfers.src[row]), int(transfers.dst[row]))
        for chunk in range(first, first + int(transfers.count[row])):
            steps[transfers.step[row]].append(Send(*ends, chunk, bool(transfers.reduce[row])))
    return Schedule(
        transfers.name, transfers.collective, transfers.ranks, transfers.chunks, tuple(map(tuple, steps))
    )


@pytest.mark.parametrize("name", WIRINGS)
def test_every_shard_arrives_and_the_fullest_link_carries_what_it_must(name: str) -> None:
    wiring = WIRINGS[name]
    steps = broadcast_steps(wiring)
    gather = broadcast_schedule(wiring, steps.chunks)
    played = play(gather)
    assert played.missing == 0
    assert len(played.fullest) == steps.steps
    exact = tuple(Fraction(-(-steps.chunks * share // 1), steps.chunks) for share in steps.fullest)
    assert played.shards(wiring.servers) == exact


@pytest.mark.parametrize("name", [name for name in WIRINGS if name != "lifted 128, 4"])
def test_sets_of_contributions_agree_with_the_numbers(name: str) -> None:
    """The other executor, which knows whose part is in every sum."""
    wiring = WIRINGS[name]
    gather = broadcast_schedule(wiring, 2)
    scatter = broadcast_schedule(reversed_links(wiring), 2).backwards()
    for transfers in (gather, scatter, one_after_the_other(scatter, gather)):
        check_goal(as_schedule(transfers))


@pytest.mark.parametrize("name", WIRINGS)
def test_a_reduce_scatter_is_the_gather_of_the_wiring_backwards(name: str) -> None:
    wiring = WIRINGS[name]
    back = reversed_links(wiring)
    steps = broadcast_steps(back)
    scatter = broadcast_schedule(back, steps.chunks).backwards()
    assert play(scatter).missing == 0
    links = set(zip(wiring.src.tolist(), wiring.dst.tolist(), strict=True))
    assert set(zip(scatter.src.tolist(), scatter.dst.tolist(), strict=True)) <= links
    both = one_after_the_other(scatter, broadcast_schedule(wiring, steps.chunks))
    assert (play(both).missing, both.collective, both.steps) == (0, "allreduce", both.steps)


@pytest.mark.parametrize("chunks", [1, 2, 3, 5])
def test_too_few_chunks_cost_no_more_than_rounding(chunks: int) -> None:
    wiring = WIRINGS["C(24,{1,3,4})"]
    fullest = play(broadcast_schedule(wiring, chunks)).shards(24)
    exact = broadcast_steps(wiring).fullest
    assert fullest == tuple(Fraction(-(-chunks * share // 1), chunks) for share in exact)


@pytest.mark.parametrize("make", [ring, all_gather, reduce_scatter])
def test_schedules_as_arrays_are_played_alike(make: type) -> None:
    transfers = transfers_of(make(7))
    assert play(transfers).missing == 0
    assert play(transfers).fullest == (1,) * transfers.steps


def test_links_of_several_ports() -> None:
    both = [(i, (i + 1) % 6) for i in range(6)]
    wiring = wired(6, [*both, *both, *((b, a) for a, b in both)])
    assert play(broadcast_schedule(wiring, broadcast_steps(wiring).chunks)).missing == 0


def test_the_player_notices_what_is_missing_and_what_is_not_there() -> None:
    whole = broadcast_schedule(circulant(9, (1, 2), BPS), 2)
    kept = whole.step < whole.steps - 1
    columns = ("step", "src", "dst", "first", "count", "reduce")
    part = Transfers("bfb", "all-gather", 9, 18, *(getattr(whole, name)[kept] for name in columns))
    assert play(part).missing > 0
    late = Transfers("bfb", "all-gather", 9, 18, *(getattr(whole, name)[~kept] for name in columns))
    with pytest.raises(AssertionError, match="does not have"):
        play(late)
    assert np.array_equal(whole.in_order().first, whole.first)
