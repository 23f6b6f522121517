"""All pairs of splits and numbers of replicas, by the most requests a second that they can take without a network."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import TopoOptError
from topoopt.catalog import ClusterSpec
from topoopt.inference.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.inference.fabric_evaluation import places_of
from topoopt.inference.queueing import busy_limits
from topoopt.inference.requests import RequestLoad
from topoopt.inference.step.law import step_table
from topoopt.inference.step.replica import served_system
from topoopt.workloads.transformer import TransformerModel

MOST_STAGES = 4


@dataclass(frozen=True, slots=True)
class SplitRates:
    """One replica of a split without a network: times, and the maximum request rate within the objectives.

    Attributes
    ----------
    decode_per_s : float
        0 where not even one request is in time.
    shared_per_s : float
        The same for a replica that also prefills, however long prompts wait.
    prompt_s, token_s : float
        Times of a request that has the replica to itself.
    stage_s : float
        Interval between prefills; as many at a time as copies of attention.
    slack : float
        Time that a prompt may wait, in units of ``stage_s``.
    max_batch : int
        Most concurrent requests.
    """

    parallelism: Parallelism
    decode_per_s: float
    shared_per_s: float
    prompt_s: float
    token_s: float
    stage_s: float
    slack: float
    max_batch: int


@dataclass(frozen=True, slots=True)
class Contender:
    """A deployment, and the requests a second that it cannot exceed on any network."""

    bound_per_s: float
    deployment: Deployment


def contenders(
    rates: Sequence[SplitRates], accelerators: int, settings: EngineSettings, most: int
) -> tuple[list[Contender], int]:
    """Return the best deployments, the largest bound first, and the number considered.

    For a pair of splits, all numbers of prefill replicas are considered, with as many decode replicas as then fit;
    and each split as one pool that does both. Among equal bounds, the one with fewer accelerators per replica
    comes first: it depends less on the network.
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
    """Return the prompts per second that replicas of each split prefill in time, shape (splits, replicas + 1)."""
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


def splits(model: TransformerModel, most_accelerators: int) -> Iterator[Parallelism]:
    """Yield the splits that are tried: powers of two; experts over all accelerators of a stage, or over none.

    Copies of attention that share experts are for models that have some; of others a copy is a replica.
    """
    for tensor in _powers(most_accelerators):
        if model.heads % tensor:
            continue
        for copies in _powers(most_accelerators // tensor):
            stage = tensor * copies
            if copies > 1 and not (model.experts and model.experts.count % stage == 0):
                continue
            for stages in _powers(min(most_accelerators // stage, MOST_STAGES, model.layers)):
                yield Parallelism(tensor, stages, stage if copies > 1 else 1, copies)
                if copies == 1 and stage > 1 and model.experts and model.experts.count % stage == 0:
                    yield Parallelism(tensor, stages, stage, 1)


def split_rates(
    model: TransformerModel,
    parallelism: Parallelism,
    settings: EngineSettings,
    cluster: ClusterSpec,
    load: RequestLoad,
    objectives_s: tuple[float, float],
    batch_a_copy: int = 256,
) -> SplitRates | None:
    """Return the request rate of a replica within the objectives, without a network; None where the model does not
    fit.

    Parameters
    ----------
    objectives_s
        Seconds of the first token, and of each further one.
    """
    batch = batch_a_copy * parallelism.attention_data
    try:
        places = places_of(model, cluster.accelerator, Pool(parallelism, 1, batch), settings, load)
        table = step_table(model, cluster.accelerator, parallelism, settings, fabric=served_system(cluster))
    except TopoOptError:
        return None
    copies, (ttft_s, tpot_s) = parallelism.attention_data, objectives_s
    prompt_s = table.prefill_s(load.prompt_tokens * copies, copies)
    stage_s = prompt_s / table.stages
    batches = np.unique(np.geomspace(1, places, 64).round(9).astype(np.int64))
    looked_at = batches.astype(np.float64) * (1 + settings.drafted_tokens)
    step_s = (
        table.at(looked_at, table.base_s)
        + table.at(looked_at, table.head_s)
        + table.decode_s_per_token * batches * (load.prompt_tokens + load.answer_tokens / 2)
    ) / settings.accepted_tokens
    answered = batches / (load.answer_tokens * step_s)
    both = 1 / (1 / answered + stage_s / copies)
    busy = both * stage_s / copies
    in_time = (step_s / (1 - busy) <= tpot_s) & (prompt_s <= ttft_s)
    return SplitRates(
        parallelism,
        float(answered[step_s <= tpot_s].max(initial=0.0)),
        float(both[in_time].max(initial=0.0)),
        prompt_s,
        float(step_s[0]),
        stage_s,
        (ttft_s - prompt_s) / stage_s,
        int(places),
    )


def _powers(most: int) -> list[int]:
    return [2**power for power in range(int(math.log2(most)) + 1)] if most >= 1 else []
