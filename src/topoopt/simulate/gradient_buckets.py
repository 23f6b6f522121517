"""Gradient buckets: tensors with equal replicas are AllReduced together, as data-parallel frameworks do."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from topoopt.simulate.task_graph import Ints, distinct

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

    In the order of the backward pass a bucket takes one tensor after the other until it holds ``bucket_bytes``: it may
    be as much larger as its last tensor, which is never cut, and the last of a group may be smaller. The first of each
    group is full at :data:`FIRST_BUCKET_BYTES`.

    References
    ----------
    .. [1] PyTorch, ``compute_bucket_assignment_by_size`` in ``torch/csrc/distributed/c10d/reducer.cpp``, with the
       buckets rebuilt in the order in which gradients are ready. There each process group is a wrapped module of its
       own; and since PyTorch 2.4 only the default size has a small first bucket.
    """
    done: list[Sync] = []
    filling: dict[tuple[int, ...], list[Sync]] = {}
    limits: dict[tuple[int, ...], int] = {}
    for sync in sorted(syncs, key=lambda row: -row.operator):
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
