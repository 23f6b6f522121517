"""Lower bound over strategies: an iteration time that no split of the operators beats on any network of these ports.

Three times are at most that of an iteration: the servers' computing, evenly shared; one chain of layers, forward and
backward, each as fast as its parts are; and the bytes that must move, at the rate of all ports together. Weighted means
of the three are therefore bounds, too, and such a mean is a sum over operators, and over the edges of the chain, of
the costs of their splits. Its least value is found exactly, operator by operator, and along the chain by dynamic
programming. The best weights make the bound (Lagrange duality).

The bytes are those of gradients, 2(b-1) times the parameters of an operator with b replicas, those that tables send to
their consumers, and the activations between two layers of the chain whose parts cannot all stay where they are.
Memory, latency and the order of work are left out. Of micro-batches all are computed, and one passes along the chain;
the least bound of all numbers of them holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.jobs import AUTO_MICROBATCHES, MICROBATCHES, Job, operators_of
from topoopt.search.bounds.lower_bound import link_ends
from topoopt.search.proposals.problem_tables import CHANNEL_DIMS, candidate_splits, reduced_bytes
from topoopt.workloads import OperatorSplit, part_samples

STEPS = 6
"""Steps of a weight from 0 to 1 at first; half as long ones follow around the best."""
HALVINGS = 4
IN, OUT = CHANNEL_DIMS.index("in"), CHANNEL_DIMS.index("out")


@dataclass(frozen=True, eq=False)
class _Choices:
    """Splits of an operator, and their costs.

    Attributes
    ----------
    batch, channel, dim : int64 arrays, shape (splits,)
    cost_s : float64 array, shape (3, splits)
        Computing of all servers, time of a part of a micro-batch, seconds of all ports.
    """

    batch: Ints
    channel: Ints
    dim: Ints
    cost_s: Floats


@lru_cache(maxsize=8)
def strategy_bound_s(job: Job) -> float:
    """Return the seconds that no strategy of operators beats; 0 for a job that has none.

    Examples
    --------
    >>> from topoopt.catalog import ClusterSpec
    >>> from topoopt.jobs import JobSettings, make_job
    >>> from topoopt.workloads import load_model
    >>> job = make_job(load_model("vgg16", servers=4), ClusterSpec(4, 2, 100e9), JobSettings())
    >>> round(strategy_bound_s(job), 4)
    0.0997
    """
    if job.work.kind != "operators":
        return 0.0
    given = job.settings.microbatches
    return min(
        _bound_in_pieces_s(job, count) for count in (MICROBATCHES if given == AUTO_MICROBATCHES else (given,))
    )


def _bound_in_pieces_s(job: Job, pieces: int) -> float:
    bytes_per_s = link_ends(job.cluster) * job.cluster.link_bandwidth_bps / 8
    rows = list(_choices(job, bytes_per_s, pieces))
    chain = _longest_chain(job, rows)
    edges = [_moved_s(job, rows[u], rows[v], u) / bytes_per_s for u, v in pairwise(chain)]
    others = [row.cost_s for index, row in enumerate(rows) if index not in chain]

    def bound_s(weights: tuple[int, ...], scale: int) -> float:
        weight = np.array(weights) / scale
        total = sum(float((weight[::2] @ cost[::2]).min()) for cost in others)
        least_s = weight @ rows[chain[0]].cost_s if chain else np.zeros(1)
        for index, edge in zip(chain[1:], edges, strict=True):
            least_s = (least_s[:, None] + weight[2] * edge).min(axis=0) + weight @ rows[index].cost_s
        return total + float(least_s.min())

    scale = STEPS
    tried = [(i, j, scale - i - j) for i in range(scale + 1) for j in range(scale + 1 - i)]
    best_s, best = max((bound_s(weights, scale), weights) for weights in tried)
    for _ in range(HALVINGS):
        scale *= 2
        middle = tuple(2 * weight for weight in best)
        near = [(middle[0] + i, middle[1] + j, middle[2] - i - j) for i, j in product((-1, 0, 1), repeat=2)]
        best_s, best = max((bound_s(weights, scale), weights) for weights in near if min(weights) >= 0)
    return best_s


def _choices(job: Job, bytes_per_s: float, pieces: int) -> Iterator[_Choices]:
    servers, work, batch = job.cluster.servers, operators_of(job), job.global_batch
    divisors = np.array([k for k in range(1, servers + 1) if servers % k == 0])
    factor = job.settings.embedding_bytes_factor
    for index, rows in enumerate(candidate_splits(job, divisors, False)):
        op, costs = work.graph.operators[index], list[tuple[float, float, float]]()
        looked_up = sum(
            work.graph.operators[producer].output_bytes_per_sample
            for producer in op.inputs
            if work.graph.operators[producer].is_embedding
        )
        for b, c, dim in rows:
            split = OperatorSplit(int(divisors[b]), 0, int(divisors[c]), CHANNEL_DIMS[dim])
            time = work.timer.time(op, part_samples(split, batch) / pieces, split.channel_degree)
            piece_s = time.forward_s + time.backward_s
            copies = 1 if dim == IN else split.channel_degree
            here = -(-batch // split.batch_degree)
            moved = 2 * factor * looked_up * max(copies * batch - here, 0)
            moved += split.channel_degree * 2 * (split.batch_degree - 1) * sum(reduced_bytes(job, op, split))
            computed_s = 0.0 if op.is_embedding else split.parts * pieces * piece_s / servers
            costs.append((computed_s, piece_s, moved / bytes_per_s))
        table = np.array(rows, np.int64)
        yield _Choices(divisors[table[:, 0]], divisors[table[:, 1]], table[:, 2], np.array(costs).T)


def _longest_chain(job: Job, rows: list[_Choices]) -> list[int]:
    """Return the chain of operators that compute most, tables left out."""
    operators = operators_of(job).graph.operators
    longest_s, before = np.zeros(len(operators)), [-1] * len(operators)
    for index, op in enumerate(operators):
        producers = [producer for producer in op.inputs if not operators[producer].is_embedding]
        before[index] = max(producers, key=lambda producer: longest_s[producer], default=-1)
        own_s = 0.0 if op.is_embedding else float(rows[index].cost_s[0].min())
        longest_s[index] = own_s + (longest_s[before[index]] if before[index] >= 0 else 0.0)
    chain = [int(np.argmax(longest_s))]
    while before[chain[-1]] >= 0:
        chain.append(before[chain[-1]])
    return chain[::-1]


def _moved_s(job: Job, source: _Choices, target: _Choices, producer: int) -> Floats:
    """Return the bytes that move between two layers, both ways, for all their splits, shape (splits, splits).

    A server that has a part of both keeps the bytes that both have, at most those of the smaller.
    """
    width, batch = operators_of(job).graph.operators[producer].output_bytes_per_sample, job.global_batch
    copies = np.where(target.dim == IN, 1, target.channel)
    needed = -(-batch // target.batch) * -(-width // np.where(target.dim == IN, target.channel, 1))
    made = -(-batch // source.batch) * -(-width // np.where(source.dim == OUT, source.channel, 1))
    both = np.minimum.outer(source.batch * source.channel, target.batch * target.channel)
    kept = both * np.minimum.outer(made, needed)
    moved: Floats = 2.0 * np.maximum(copies * float(batch * width) - kept, 0.0)
    return moved
