"""An AllReduce by breadth-first broadcast: every shard arrives, and links carry in each step what is counted."""

from fractions import Fraction

import numpy as np
import pytest

from tests.collectives.wirings import complete_bipartite, kautz
from topoopt.collectives import ON_WIRINGS, Moves, moves_on_links, pipelined, play
from topoopt.collectives.algorithms.bfb import allreduce_by_broadcast
from topoopt.collectives.table import PIPELINES
from topoopt.topologies import Topology, broadcast_steps, circulant, ideal_switch, topology_from_arrays, torus

BPS = 100e9
WIRINGS = {
    "circulant": circulant(16, [3, 4], BPS),
    "one ring": circulant(5, [1], BPS),
    "torus": torus(16, 2, BPS),
    "halves": complete_bipartite(4),
    "one way": kautz(4, 20),
}


def fullest_chunks(moves: Moves, topology: Topology) -> list[int]:
    """Chunks on the fullest port in each step."""
    link = topology.link_ids(moves.src, moves.dst)
    assert (link >= 0).all()
    steps = int(moves.step[-1]) + 1
    load = np.zeros((steps, len(topology)))
    np.add.at(load, (moves.step, link), moves.chunks)
    return np.ceil(load / topology.ports).max(axis=1).astype(int).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", WIRINGS)
def test_every_shard_arrives_and_steps_carry_what_is_counted(name: str) -> None:
    topology = WIRINGS[name]
    whole = allreduce_by_broadcast(topology)
    assert play(whole).missing == 0
    gather = broadcast_steps(topology)
    moves = moves_on_links("bfb", topology, tuple(range(topology.servers)))[0]
    shards = [Fraction(count, moves.pieces // topology.servers) for count in fullest_chunks(moves, topology)]
    assert shards[gather.steps :] == list(gather.fullest)
    assert len(shards) == 2 * gather.steps
    assert sum(moves.chunks) == 2 * (topology.servers - 1) * moves.pieces  # as few bytes as there can be


@pytest.mark.parametrize("parts", PIPELINES)
def test_parts_follow_each_other_a_step_apart(parts: int) -> None:
    """No byte more, all of them a link's neighbors, and no step fuller than all steps of the schedule together."""
    topology = WIRINGS["torus"]
    once = moves_on_links("bfb", topology, tuple(range(16)))[0]
    cut = pipelined(once, parts)
    assert cut.step[-1] == once.step[-1] + parts - 1
    assert cut.chunks.sum() * once.pieces == once.chunks.sum() * cut.pieces
    pairs = {*zip(once.src.tolist(), once.dst.tolist(), strict=True)}
    assert {*zip(cut.src.tolist(), cut.dst.tolist(), strict=True)} == pairs
    assert max(fullest_chunks(cut, topology)) <= sum(fullest_chunks(once, topology))


def test_a_group_takes_the_links_among_its_members() -> None:
    """Every second server of a circulant with strides 2 and 3: a ring of 8 along stride 2."""
    topology = circulant(16, [2, 3], BPS)
    members = tuple(range(1, 16, 2))
    moves = moves_on_links("bfb", topology, members)[0]
    assert {*np.unique(moves.src).tolist()} == {*members}
    assert {*np.unique((moves.dst - moves.src) % 16).tolist()} == {2, 14}
    ring = moves_on_links("bfb", circulant(8, [1], BPS), tuple(range(8)))[0]
    assert (moves.pieces, moves.step.tolist(), moves.chunks.tolist()) == (
        ring.pieces,
        ring.step.tolist(),
        ring.chunks.tolist(),
    )


def test_groups_that_their_own_links_do_not_join_have_none() -> None:
    assert moves_on_links("bfb", circulant(16, [1, 3], BPS), (0, 2, 4, 6)) == ()
    assert moves_on_links("bfb", ideal_switch(8, BPS), tuple(range(8))) == ()
    src, dst = np.array([0, 1, 2]), np.array([1, 2, 1])
    one_way = topology_from_arrays("path", 3, src, dst, BPS, 1e-6)
    assert moves_on_links("bfb", one_way, (0, 1, 2)) == ()
    assert tuple(ON_WIRINGS) == ("bfb", "spanning-trees")
