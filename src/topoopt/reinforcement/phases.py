"""The phases of a step: the rollout of a pool of replicas, and the training on its answers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, StepTable, cache_capacity, step_table
from topoopt.reinforcement.job import Constants, RlJob
from topoopt.reinforcement.rollout import Replica, Rollout, play_rollout, steady_rate
from topoopt.transformers import (
    Calibration,
    Configuration,
    Limits,
    SearchRequest,
    StepTimes,
    calibration_quality,
    configuration_table,
    divisors,
    estimate,
    search_configurations,
)
from topoopt.workloads.transformer import TransformerModel

FORWARD_OF_COMPUTE = 1 / 3
"""2N of 6N FLOPs a token, without recomputation."""
FORWARD_OF_EXCHANGES = 1 / 2
"""Tensor, context, expert and pipeline parallel exchanges are as many forward as backward."""
ROUNDED_BY = 8
"""A batch of packed sequences is rounded up by less than an eighth."""


@dataclass(frozen=True, slots=True)
class TrainingPhase:
    """Time of training and of the passes before it.

    Attributes
    ----------
    configuration : Configuration
        Configuration of one optimizer step: packed sequences.
    forward_s : dict of str to float
        Time of each pass over all tokens before training, by purpose.
    training_s : float
        All optimizer steps, of a critic, too.
    parts_s : dict of str to float
        Breakdown of the training time, see :data:`~topoopt.transformers.STEP_PARTS`.
    interval_share : float
        See :attr:`topoopt.transformers.Quality.interval_share`.
    """

    configuration: Configuration
    forward_s: Mapping[str, float]
    training_s: float
    parts_s: Mapping[str, float]
    interval_share: float

    @property
    def time_s(self) -> float:
        """Passes and training, one after the other."""
        return sum(self.forward_s.values()) + self.training_s


_CALLED = {"tp": "train_tensor", "pp": "train_pipeline", "cp": "train_context", "ep": "train_expert"}
_PARTS = ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")
MAX_BATCH = 1024
"""Default number of concurrent answers of a replica."""
MOST_SERVERS = 8
"""Most servers of a replica whose split is not given."""


@dataclass(frozen=True, slots=True, eq=False)
class RolloutPhase:
    """Rollout of a pool.

    Attributes
    ----------
    parallelism : Parallelism
        Split of a replica.
    replicas : int
    capacity_tokens : float
        Tokens whose keys and values a replica keeps.
    played : Rollout
        Simulated rollout of the replica with the most work.
    steady_s : float
        Time in which replicas that never run out of prompts generate a step's answers.
    batch : int
        Answers of a replica at once, in that steady state.
    """

    parallelism: Parallelism
    replicas: int
    capacity_tokens: float
    played: Rollout
    steady_s: float
    batch: int

    @property
    def time_s(self) -> float:
        """All answers, the longest included."""
        return self.played.time_s

    def ended_s(self, share: float) -> float:
        """Return the time at which this share of the answers has ended."""
        left = (1.0 - share) * self.played.answers
        course = zip(self.played.elapsed_s.tolist(), self.played.left.tolist(), strict=True)
        return next((moment for moment, open_ in course if open_ <= left + 1e-9), self.time_s)

    def answers_s(self, job: RlJob) -> float:
        """Return the time at which a step's answers are complete.

        With an asynchronous policy, this is when that many of all started answers have ended, and not before
        steady replicas generate them.
        """
        if job.policy != "asynchronous":
            return self.time_s
        return max(self.steady_s, self.ended_s(1.0 / (1.0 + job.staleness)))

    @property
    def limit(self) -> str:
        """Bottleneck of the rollout: KV-cache capacity, the longest answers, or the steps themselves."""
        if self.played.preempted or self.played.waited:
            return "KV capacity"
        return (
            "the longest answers" if self.played.tail_share > 0.5 else "memory bandwidth and latency of steps"
        )


def rollout_phase(
    job: RlJob, accelerators: int, parallelism: Parallelism, max_batch: int, constants: Constants
) -> RolloutPhase:
    """Return the rollout of a pool.

    Raises
    ------
    InvalidInput
        If the model cannot be split so, or does not fit.
    Infeasible
        If the keys and values of an answer do not fit.
    """
    replicas, rest = divmod(accelerators, parallelism.accelerators)
    if rest or not replicas:
        raise InvalidInput(
            f"rollout: replicas of {parallelism.accelerators} accelerators do not share out {accelerators}; give "
            "degrees whose product divides them"
        )
    settings = EngineSettings(
        job.rollout_precision, memory_share=None if job.disjoint else constants.colocated_memory_share
    )
    part = find_accelerator(job.system.accelerator)
    usual = round(job.lengths.mean) + job.prompt_tokens
    room = cache_capacity(job.model, part, parallelism, settings, usual)
    servers = -(-parallelism.stage_accelerators // job.system.accelerators_per_server)
    table = engine_table(
        step_table(job.model, part.name, parallelism, settings), job.model, servers, constants
    )
    replica = Replica(table, room.request_tokens, max_batch, settings.page_tokens)
    own = job.lengths.of_replica(min(replicas, job.answers))
    played = play_rollout(replica, own, job.prompt_tokens, job.samples)
    rate, batch = steady_rate(replica, job.lengths, job.prompt_tokens, job.samples)
    written = float(job.lengths.tokens.sum())
    return RolloutPhase(
        parallelism, replicas, room.request_tokens, played, written / rate / min(replicas, job.answers), batch
    )


def engine_table(table: StepTable, model: TransformerModel, servers: int, constants: Constants) -> StepTable:
    """Return the table of an engine inside a trainer: overhead per layer, per answer, and per AllReduce over
    servers.

    Parameters
    ----------
    servers
        Servers that the accelerators of one stage are in; AllReduces take longer with each doubling.
    """
    doublings = math.log2(servers)
    layer_s = constants.rollout_layer_s + doublings * constants.rollout_network_layer_s
    return replace(
        table, base_s=table.base_s + layer_s * model.layers + constants.rollout_answer_s * table.tokens
    )


def rollout_choices(job: RlJob, accelerators: int, per_server: int) -> tuple[Parallelism, ...]:
    """Return the splits of a replica to try: powers of two that divide the pool, over at most 8 servers.

    With experts, the accelerators of a layer also split these, each with a copy of attention or with a part of it.
    """
    experts = job.model.experts.count if job.model.experts else 1
    found = []
    for stage in _powers_of_two(min(accelerators, MOST_SERVERS * per_server)):
        if accelerators % stage:
            continue
        for tensor in _powers_of_two(stage):
            copies = stage // tensor
            if job.model.heads % tensor or (copies > 1 and experts == 1):
                continue
            spread = sorted({1, stage}) if copies == 1 else [stage]
            found += [
                Parallelism(tensor, expert=expert, attention_data=copies)
                for expert in spread
                if experts % expert == 0
            ]
    return tuple(found)


def best_rollout(
    job: RlJob, accelerators: int, choices: tuple[Parallelism, ...], max_batch: int, constants: Constants
) -> RolloutPhase:
    """Return the fastest split of a pool's replicas: by all answers, or by the steady rate if asynchronous.

    Raises
    ------
    InvalidInput, Infeasible
        If no configuration is possible: the error of the last one tried.
    """
    found: list[RolloutPhase] = []
    failure: InvalidInput | Infeasible | None = None
    for one in choices:
        try:
            found.append(rollout_phase(job, accelerators, one, max_batch, constants))
        except (InvalidInput, Infeasible) as error:
            failure = error
    if not found:
        raise failure or InvalidInput(
            f"rollout: {accelerators} accelerators cannot be split over {job.model.heads} heads"
        )
    return min(found, key=lambda one: one.answers_s(job))


def _powers_of_two(most: int) -> tuple[int, ...]:
    return tuple(2**power for power in range(most.bit_length()))


def training_phase(
    job: RlJob, accelerators: int, fixed: Mapping[str, Any], calibration: Calibration, constants: Constants
) -> TrainingPhase:
    """Return the fastest training configuration that fits into memory.

    Answers are packed into sequences of the longest one's tokens, and do not see each other.

    Parameters
    ----------
    fixed
        Fields of :class:`~topoopt.transformers.Configuration` that are given, such as ``tp``.

    Raises
    ------
    InvalidInput
        If given options do not fit the model, the accelerators or the answers.
    Infeasible
        If nothing fits into memory.
    """
    sequences = job.tokens / job.updates / job.max_tokens
    inside = fixed.get("tp", 1) * fixed.get("pp", 1) * fixed.get("cp", 1)
    if {"tp", "pp", "cp"} <= set(fixed) and accelerators % inside == 0:
        granule = accelerators // inside
    else:
        granule = max(one for one in divisors(accelerators) if one <= max(1.0, sequences / ROUNDED_BY))
    batch = int(granule * max(1, math.ceil(sequences / granule)))
    mean = job.tokens / job.answers
    if mean > job.max_tokens / 2:
        documents = {}
    else:
        tokens = job.lengths.tokens + job.prompt_tokens
        documents = {"document": round(mean), "document_spread": round(float(tokens.std() / mean), 3)}
    request = SearchRequest(
        job.model,
        accelerators,
        replace(job.system, accelerators_per_server=min(job.system.accelerators_per_server, accelerators)),
        batch,
        job.max_tokens,
        {**fixed, **documents},
        Limits(uneven_stages=True),
        job.precision,
        calibration.attention,
    )
    try:
        found = search_configurations(request, calibration)
    except (InvalidInput, Infeasible) as error:
        raise type(error)(_in_own_words(str(error), accelerators)) from None
    best = found.table.row(0)
    times = estimate(job.model, configuration_table([best]), request.system, found.calibration)
    share = sequences / request.global_batch * job.updates
    one = {name: float(getattr(times, name)[0]) for name in _PARTS}
    factor = constants.training_factor * share * job.epochs * job.trained_models
    forward_s = _forward_s(job, best, request, found.calibration) * share * constants.training_factor
    return TrainingPhase(
        best,
        {name: count * forward_s for name, count in job.passes.items() if count},
        factor * float(times.iteration_time_s[0]),
        {name: factor * seconds for name, seconds in one.items()},
        calibration_quality(found.calibration).interval_share,
    )


def _in_own_words(said: str, accelerators: int) -> str:
    """Return an error about training in the terms of this verb."""
    name, _, rest = said.partition(" ")
    return (
        f"{_CALLED[name]} {rest}" if name in _CALLED else f"training on {accelerators} accelerators: {said}"
    )


def _forward_s(job: RlJob, one: Configuration, request: SearchRequest, calibration: Calibration) -> float:
    """Return the seconds of a pass over the sequences of an optimizer step: nothing is recomputed or reduced."""
    plain = replace(one, recompute="none", recompute_layers=0)
    times: StepTimes = estimate(job.model, configuration_table([plain]), request.system, calibration)
    computing = times.compute_s + times.bubble_s
    exchanges = times.tp_s + times.cp_s + times.ep_s + times.pp_s
    return float((FORWARD_OF_COMPUTE * computing + FORWARD_OF_EXCHANGES * exchanges)[0])
