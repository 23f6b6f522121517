"""Gradient buckets: tensors with equal replicas are AllReduced together, as data-parallel frameworks do."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.task_graph import distinct

FIRST_BUCKET_BYTES = 1024 * 1024
"""The first bucket of a group is as small as this, so that its AllReduce begins early (PyTorch's reducer,
``kDefaultFirstBucketBytes``)."""


@dataclass(frozen=True, eq=False)
class Sync:
    """One AllReduce and the numbers of the forward and backward tasks that hold its replicas."""

    operator: int
    members: tuple[int, ...]
    size_bytes: int
    delay_s: float
    forward: Ints
    backward: Ints


def in_buckets(syncs: Iterable[Sync], bucket_bytes: int) -> list[Sync]:
    """Return the AllReduces of whole buckets; those of different groups of replicas are apart.

    From the last tensor to the first, which is the order of the backward pass, a bucket takes one after the other until
    it holds ``bucket_bytes``: it may be larger by nearly its last tensor, which is never cut, and the last of a group
    may be smaller. The first of each group is full at :data:`FIRST_BUCKET_BYTES`.

    References
    ----------
    .. [1] PyTorch, ``compute_bucket_assignment_by_size`` in ``torch/csrc/distributed/c10d/reducer.cpp``. There each
       process group is a module wrapped on its own, and newer versions leave out the small first bucket where a size is
       given (pull request 121640).
    """
    done: list[Sync] = []
    filling: dict[tuple[int, ...], list[Sync]] = {}
    limits: dict[tuple[int, ...], int] = {}
    for sync in reversed(list(syncs)):
        bucket = filling.setdefault(sync.members, [])
        bucket.append(sync)
        limit = limits.get(sync.members, min(FIRST_BUCKET_BYTES, bucket_bytes))
        if sum(row.size_bytes for row in bucket) >= limit:
            done.append(_joined(filling.pop(sync.members)))
            limits[sync.members] = bucket_bytes
    return done + [_joined(bucket) for bucket in filling.values()]


def _joined(bucket: list[Sync]) -> Sync:
    return Sync(
        bucket[-1].operator,
        bucket[0].members,
        sum(row.size_bytes for row in bucket),
        sum(row.delay_s for row in bucket),
        distinct(np.concatenate([row.forward for row in bucket])),
        distinct(np.concatenate([row.backward for row in bucket])),
    )
