"""The rollout of a pool: replicas that share a step's answers, how they are split, and what limits them."""

import math
from dataclasses import dataclass, replace

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, StepTable, cache_capacity, step_table
from topoopt.reinforcement.job import Constants, RlJob
from topoopt.reinforcement.rollout import Replica, Rollout, play_rollout, steady_rate
from topoopt.workloads.transformer import TransformerModel

MAX_BATCH = 1024
"""Answers of a replica at once, where nobody says."""

MOST_SERVERS = 8
"""That a replica is spread over, where nobody says how it is split."""


@dataclass(frozen=True, slots=True, eq=False)
class RolloutPhase:
    """How a pool answers.

    Attributes
    ----------
    parallelism : Parallelism
        Of a replica.
    replicas : int
    capacity_tokens : float
        Tokens whose keys and values a replica keeps.
    played : Rollout
        Of the replica that has most to do.
    steady_s : float
        In which a step's answers are written by replicas that never run out of prompts.
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
        """Return when this share of the answers has ended."""
        left = (1.0 - share) * self.played.answers
        course = zip(self.played.elapsed_s.tolist(), self.played.left.tolist(), strict=True)
        return next((moment for moment, open_ in course if open_ <= left + 1e-9), self.time_s)

    def answers_s(self, job: RlJob) -> float:
        """Return when a step's answers are there.

        Of an asynchronous policy when that many of all begun have ended, and not before steady replicas write them.
        """
        if job.policy != "asynchronous":
            return self.time_s
        return max(self.steady_s, self.ended_s(1.0 / (1.0 + job.staleness)))

    @property
    def limit(self) -> str:
        """What the rollout waits for: room for keys and values, the longest answers, or steps as such."""
        if self.played.preempted or self.played.waited:
            return "KV capacity"
        return (
            "the longest answers" if self.played.tail_share > 0.5 else "memory bandwidth and latency of steps"
        )


def rollout_phase(
    job: RlJob, accelerators: int, parallelism: Parallelism, max_batch: int, constants: Constants
) -> RolloutPhase:
    """Return how a pool of so many accelerators answers.

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
        job.rollout_precision,
        memory_share=EngineSettings().memory_share if job.disjoint else constants.colocated_memory_share,
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
    """Return the table of an engine inside of a trainer: more for each layer, each answer, each sum over servers.

    Parameters
    ----------
    servers
        That the accelerators of one stage are in; sums take longer with each doubling.
    """
    doublings = math.log2(servers)
    layer_s = constants.rollout_layer_s + doublings * constants.rollout_network_layer_s
    return replace(
        table, base_s=table.base_s + layer_s * model.layers + constants.rollout_answer_s * table.tokens
    )


def rollout_choices(job: RlJob, accelerators: int, per_server: int) -> tuple[Parallelism, ...]:
    """Return the ways to split a replica that are tried: powers of two that share out the pool, over 8 servers at most.

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
    """Return the fastest way to split a pool's replicas: by all answers, or by the steady rate of an asynchronous one.

    Raises
    ------
    InvalidInput, Infeasible
        Of the last that was tried, if none is possible.
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
