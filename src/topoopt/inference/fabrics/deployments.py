"""All pairs of splits and numbers of replicas, by the most requests a second that they can take without a network."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.inference.deployment import Deployment, EngineSettings, Pool
from topoopt.inference.fabrics.splits import SplitRates
from topoopt.inference.network.waiting import busy_limits


@dataclass(frozen=True, slots=True)
class Contender:
    """A deployment, and the requests a second that it cannot exceed on any network."""

    bound_per_s: float
    deployment: Deployment


def contenders(
    rates: Sequence[SplitRates], accelerators: int, settings: EngineSettings, most: int
) -> tuple[list[Contender], int]:
    """Return the best deployments, the largest bound first, and how many were looked at.

    Of a pair of splits all numbers of prefill replicas are looked at, with as many decode replicas as then fit; and
    each split as one pool that does both. Of equal bounds that with fewer accelerators a replica comes first: it
    leaves the network less to do.
    """
    size = np.array([one.parallelism.accelerators for one in rates])
    copies = np.array([one.parallelism.attention_data for one in rates])
    reads = _read_per_s(rates, copies, accelerators // size)
    answers = np.array([one.decode_per_s for one in rates])
    count = np.arange(1, accelerators + 1)
    every = np.arange(len(rates))
    p, d, n_p = (axis.ravel() for axis in np.meshgrid(every, every, count, indexing="ij"))
    kept = n_p * size[p] <= accelerators
    p, d, n_p = p[kept], d[kept], n_p[kept]
    n_d = (accelerators - n_p * size[p]) // size[d]
    kept = n_d >= 1
    p, d, n_p, n_d = p[kept], d[kept], n_p[kept], n_d[kept]
    bound = np.minimum(reads[p, n_p], n_d * answers[d])
    order = np.lexsort((n_p, size[p] + size[d], -bound))
    found = [
        Contender(
            float(bound[row]), _apart(rates[p[row]], rates[d[row]], int(n_p[row]), int(n_d[row]), settings)
        )
        for row in order[:most].tolist()
        if bound[row] > 0
    ]
    fitting = [one for one in rates if one.parallelism.accelerators <= accelerators]
    found += [
        Contender(
            accelerators // one.parallelism.accelerators * one.shared_per_s,
            _shared(one, accelerators, settings),
        )
        for one in fitting
        if one.shared_per_s > 0
    ]
    return sorted(found, key=lambda one: -one.bound_per_s)[:most], len(bound) + len(fitting)


def _read_per_s(rates: Sequence[SplitRates], copies: Ints, most: Ints) -> Floats:
    """Return the prompts a second that so many replicas of each split read in time, shape (splits, replicas + 1)."""
    slack, stage_s = (np.array([getattr(one, name) for one in rates]) for name in ("slack", "stage_s"))
    found = np.zeros((len(rates), int(most.max(initial=0)) + 1))
    for replicas in range(1, found.shape[1]):
        for same in np.unique(copies[most >= replicas]):
            rows = np.flatnonzero((copies == same) & (most >= replicas))
            queues = replicas * int(same)
            found[rows, replicas] = queues * busy_limits(slack[rows], queues) / stage_s[rows]
    return found


def _apart(
    reads: SplitRates, answers: SplitRates, n_p: int, n_d: int, settings: EngineSettings
) -> Deployment:
    decode = Pool(answers.parallelism, n_d, answers.max_batch)
    return Deployment("disaggregated", decode, Pool(reads.parallelism, n_p), settings)


def _shared(one: SplitRates, accelerators: int, settings: EngineSettings) -> Deployment:
    pool = Pool(one.parallelism, accelerators // one.parallelism.accelerators, one.max_batch)
    return Deployment("prefill-first", pool, settings=settings)
