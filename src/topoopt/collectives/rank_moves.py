"""The transfers of an algorithm of the table, between any ranks."""

from functools import lru_cache

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.collectives.moves import MOST_RANKS, Moves, merged
from topoopt.collectives.schedule import Schedule
from topoopt.collectives.table import ALGORITHMS


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
