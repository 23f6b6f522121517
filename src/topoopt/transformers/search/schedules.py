"""Schedules of stages, and all-to-alls that overlap, as columns of a search that tries them."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.transformers.columns import Bools
from topoopt.transformers.configuration import SCHEDULES

Columns = dict[str, Ints]

SCHEDULED: Mapping[str, Sequence[object]] = {"schedule": SCHEDULES, "overlap_experts": (False, True)}
"""Columns that a search varies if it is asked to, and their values."""

INTERLEAVED, ZERO_BUBBLE, DUALPIPE = range(len(SCHEDULES))


def schedule_rules(accelerators: int, global_batch: int) -> Mapping[str, Callable[[Columns], Bools]]:
    """Return which rows are valid by the rules of :func:`~topoopt.transformers.check_configuration`.

    DualPipe overlaps all-to-alls in any case, so that it stands in the list once.
    """

    def batches(by: Columns) -> Ints:
        replicas = accelerators // (by["tp"] * by["pp"] * by["cp"])
        return np.asarray(global_batch // (replicas * by["micro_batch"]), np.int64)

    def ordered(by: Columns) -> Bools:
        one_chunk = (by["pp"] > 1) & (by["vpp"] == 1)
        count = batches(by)
        paired = (by["pp"] % 2 == 0) & (count % 2 == 0) & (count >= 2 * by["pp"]) & (by["zero"] < 2)
        plain = by["schedule"] == INTERLEAVED
        return np.asarray(plain | (one_chunk & ((by["schedule"] == ZERO_BUBBLE) | paired)))

    def overlapping(by: Columns) -> Bools:
        beside = (by["pp"] == 1) | (by["vpp"] > 1)
        able = (by["schedule"] == INTERLEAVED) & (by["ep"] > 1) & beside & (batches(by) > 1)
        return np.asarray((by["overlap_experts"] == 0) | able)

    return {"schedule": ordered, "overlap_experts": overlapping}
