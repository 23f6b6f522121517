"""What servers send each other in one pipelined iteration."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.workloads.pipelined_step.groups import SWEEPS, Exchange, Synchronization
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic

Rows = tuple[Ints, Ints, Ints]
"""Source, destination and bytes."""


def iteration_traffic(
    servers: int,
    micro_batches: int,
    sent: Rows,
    exchanges: Sequence[Exchange],
    synchronizations: Sequence[Synchronization],
) -> Traffic:
    """Return the traffic of an iteration from the bytes that chunks ``sent`` on, and from what goes on in groups."""
    rings: Counter[tuple[int, ...]] = Counter()
    exchanged: list[AllToAllGroup] = []
    rows = [sent]
    for one in exchanges:
        if one.pair_bytes:
            rows.append(_pair_rows(one, micro_batches))
        elif one.collective == "all-to-all":
            pair = one.size_bytes // len(one.members)
            exchanged.append(AllToAllGroup(tuple(sorted(one.members)), pair * micro_batches))
        else:
            rings[tuple(sorted(one.members))] += SWEEPS[one.collective] * one.size_bytes * micro_batches
    for sync in synchronizations:
        swept = SWEEPS[sync.collective] * sync.size_bytes + sync.gather_bytes
        rings[tuple(sorted(sync.members))] += swept
    groups = [AllReduceGroup(members, twice // 2) for members, twice in rings.items()]
    columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    return merged_traffic(servers, groups, exchanged, Transfers(*columns))


def _pair_rows(one: Exchange, micro_batches: int) -> Rows:
    members = np.array(one.members, np.int64)
    sizes = np.array(one.pair_bytes, np.int64).ravel() * micro_batches
    return np.repeat(members, len(members)), np.tile(members, len(members)), sizes
