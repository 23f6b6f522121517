"""The table of collective algorithms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.collectives.all_to_all import all_to_all
from topoopt.collectives.broadcast import broadcast_moves
from topoopt.collectives.double_binary_tree import double_binary_tree
from topoopt.collectives.halving_doubling import halving_doubling
from topoopt.collectives.hierarchical import hierarchical
from topoopt.collectives.multi_ring import multi_ring
from topoopt.collectives.parameter_server import parameter_server
from topoopt.collectives.ring import RING_MODELS, ring
from topoopt.collectives.schedule import MOST_RANKS, MakeSchedule, Moves, Schedule, merged
from topoopt.topologies import Topology

TREE_CHUNKS = (1, 4, 16, 64)
"""Chunks of each tree that are tried: few for a small message, many for a large one."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way of doing one collective, as one schedule or, cut into more or fewer chunks, several."""

    collective: str
    schedules: tuple[MakeSchedule, ...]


ALGORITHMS: Mapping[str, Algorithm] = {
    "ring": Algorithm("allreduce", (ring,)),
    "multi-ring": Algorithm("allreduce", (multi_ring,)),
    "tree": Algorithm(
        "allreduce", tuple(partial(double_binary_tree, chunks_per_tree=chunks) for chunks in TREE_CHUNKS)
    ),
    "halving-doubling": Algorithm("allreduce", (halving_doubling,)),
    "hierarchical": Algorithm("allreduce", (hierarchical,)),
    "parameter-server": Algorithm("allreduce", (parameter_server,)),
    "pairwise": Algorithm("all-to-all", (all_to_all,)),
}
ON_WIRINGS: Mapping[str, Callable[[Topology, tuple[int, ...]], tuple[Moves, ...]]] = {"bfb": broadcast_moves}
"""AllReduces that are made for the links among a group of servers, each cut into more or fewer parts; where its own
links do not join a group there is none, and it takes its rings."""
RING = "ring"
"""What every simulator knows as a whole, and what a collective runs as where nothing is said."""
QUICKEST = "auto"
"""Name under which the choice by closed form stands beside the algorithms that it chooses from."""
COLLECTIVE_NAMES = (*RING_MODELS, *ALGORITHMS, *ON_WIRINGS, QUICKEST)
"""All that a collective can be asked to be: a ring by one of its models, an algorithm, or the quickest."""


@lru_cache(maxsize=64)
def rank_moves(algorithm: str, ranks: int) -> tuple[Moves, ...]:
    """Return the transfers between ranks of each schedule of an algorithm.

    Raises
    ------
    InvalidInput
        For more than :data:`MOST_RANKS` ranks.
    """
    if ranks > MOST_RANKS:
        raise InvalidInput(
            f"collective: only a ring is simulated among more than {MOST_RANKS} servers, this has {ranks}"
        )
    return tuple(_between_ranks(make(ranks)) for make in ALGORITHMS[algorithm].schedules)


def _between_ranks(schedule: Schedule) -> Moves:
    rows = [(step, send.src, send.dst) for step, sends in enumerate(schedule.steps) for send in sends]
    step, src, dst = np.array(rows, np.int64).T
    return merged(Moves(step, src, dst, np.ones(len(rows), np.int64), schedule.pieces))
