"""Deployments that promise the most, in closed form: every split, mode and share of prefill, pruned by objectives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_time
from topoopt.inference.deployment import MODES, Deployment, EngineSettings, Parallelism, Pool
from topoopt.inference.requests import Objectives
from topoopt.inference.search.closed_form import (
    Answering,
    Demand,
    Split,
    alone_s,
    answering,
    fastest_token_s,
    prompt_s,
)
from topoopt.inference.search.deployment_file import split_words
from topoopt.plans import unbeaten

KEPT_SPLITS = 12
"""Splits kept per pool, by rate per accelerator: others are in no best pair of pools, except for leftovers."""
BUSY_MOST = 0.95
MOST_TOKENS = 1 << 20
"""Most tokens of a step: the end of the step tables."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits and given parts of a deployment.

    Attributes
    ----------
    accelerators : int
        Accelerators of both pools, at most.
    max_batch, token_budget : int
        Limits per attention copy: concurrent requests, and tokens of a step.
    prefill_accelerators : int or None
        Accelerators of a prefill pool; searched if not given.
    replicas, prefill_replicas : int or None
        Replicas that decode, and replicas that only prefill; searched if not given.
    """

    accelerators: int
    modes: tuple[str, ...] = MODES
    max_batch: int = 1024
    token_budget: int = 8192
    prefill_accelerators: int | None = None
    replicas: int | None = None
    prefill_replicas: int | None = None

    def batch(self, split: Parallelism) -> int:
        """Return the most concurrent requests of a replica."""
        return self.max_batch * split.attention_data


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A deployment with its closed-form estimates.

    Attributes
    ----------
    rate_per_s : float
        Requests a second within the objectives, about.
    stable_per_s : float
        Largest stable request rate.
    batch, tpot_s : float
        Batch and time per token of a decode replica at that rate.
    ttft_s : float
        Time to first token of a long prompt alone.
    decode, prefill : Split
        Splits of replicas; without a separate prefill pool, both are the same.
    """

    deployment: Deployment
    rate_per_s: float
    stable_per_s: float
    batch: float
    tpot_s: float
    ttft_s: float
    decode: Split
    prefill: Split


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    split: Split
    rate_per_s: float
    stable_per_s: float
    batch: float
    tpot_s: float
    ttft_s: float

    @property
    def accelerators(self) -> int:
        return self.split.parallelism.accelerators

    @property
    def promise(self) -> float:
        return self.rate_per_s / self.accelerators


def candidates(
    readers: Sequence[Split],
    answerers: Sequence[Split],
    demand: Demand,
    objectives: Objectives,
    settings: EngineSettings,
    limits: Limits,
) -> list[Candidate]:
    """Return deployments, the one of the highest rate first.

    Parameters
    ----------
    readers, answerers
        Splits of prefill replicas, and of decode or combined replicas.

    Raises
    ------
    Infeasible
        If an objective cannot be met at any batch, with the best that can be reached.
    """
    _check_reachable(
        readers if limits.modes == ("disaggregated",) else answerers, demand, objectives, settings
    )
    long_prompt = demand.long_prompt(objectives.share)
    found: list[Candidate] = []
    for mode in limits.modes:
        pools = []
        for split in answerers:
            law: Answering = answering(split, demand, settings, mode, limits.batch(split.parallelism))
            rate, batch, tpot_s = law.best(objectives.tpot_s)
            if rate > 0:
                pools.append(_Pool(split, rate, float(law.rate_per_s.max()), batch, tpot_s, 0.0))
        if mode == "disaggregated":
            reading = _reading_pools(readers, demand, objectives, long_prompt)
            found += _pairs(reading, pools, settings, limits)
        else:
            found += _of_one_pool(pools, long_prompt, mode, objectives, settings, limits)
    if not found and limits.prefill_accelerators is not None:
        raise Infeasible(
            f"prefill_accelerators {limits.prefill_accelerators}: no replicas take exactly so many and meet the "
            "objectives; take another number"
        )
    if not found:
        raise Infeasible(
            f"slo_ttft {format_time(objectives.ttft_s)}, slo_tpot {format_time(objectives.tpot_s)}: each can be met, "
            f"but by no deployment of {limits.accelerators} accelerators together; relax one, or allow other modes"
        )
    return sorted(found, key=lambda one: -one.rate_per_s)


def _check_reachable(
    splits: Sequence[Split], demand: Demand, objectives: Objectives, settings: EngineSettings
) -> None:
    """Refuse an objective that no split meets for a request alone."""
    long_prompt = demand.long_prompt(objectives.share)
    for word, goal_s, times in (
        ("slo_ttft", objectives.ttft_s, [alone_s(one.table, long_prompt, apart=False) for one in splits]),
        ("slo_tpot", objectives.tpot_s, [fastest_token_s(one, demand, settings) for one in splits]),
    ):
        best = int(np.argmin(times))
        if times[best] > goal_s:
            raise Infeasible(
                f"{word} {format_time(goal_s)}: cannot be met at any batch; the best that can be reached is "
                f"{format_time(times[best])}, with {split_words(splits[best].parallelism)}"
            )


def _reading_pools(
    splits: Sequence[Split], demand: Demand, objectives: Objectives, long_prompt: float
) -> list[_Pool]:
    """Return prefill replicas, with the largest rate at which their queue meets the objective.

    They are M/D/1: of mean wait ``ρD/2(1-ρ)``, whose tail is about exponential, so that the share of the objective
    waits ``ln(1/(1-share))`` times as long at most.
    """
    tail = max(-np.log(max(1 - objectives.share, 1e-3)), 1.0)
    found = []
    for split in splits:
        first_s, busy_s = alone_s(split.table, long_prompt, apart=True), prompt_s(split.table, demand)
        left = (objectives.ttft_s - first_s) / (tail * busy_s / 2)
        if left > 0:
            busy = min(left / (1 + left), BUSY_MOST)
            found.append(_Pool(split, busy / busy_s, 1 / busy_s, 1.0, 0.0, first_s))
    return found


def _of_one_pool(
    pools: Sequence[_Pool],
    long_prompt: float,
    mode: str,
    objectives: Objectives,
    settings: EngineSettings,
    limits: Limits,
) -> Iterator[Candidate]:
    for one in pools:
        first_s = alone_s(one.split.table, long_prompt, apart=False)
        replicas = limits.replicas or limits.accelerators // one.accelerators
        if 0 < replicas * one.accelerators <= limits.accelerators and first_s <= objectives.ttft_s:
            yield Candidate(
                Deployment(mode, _pool(one, replicas, limits), settings=settings),
                replicas * one.rate_per_s,
                replicas * one.stable_per_s,
                one.batch,
                one.tpot_s,
                first_s,
                one.split,
                one.split,
            )


def _pairs(
    reading: Sequence[_Pool], answers: Sequence[_Pool], settings: EngineSettings, limits: Limits
) -> Iterator[Candidate]:
    """Yield the best share of prefill of each pair of promising splits."""
    few = [sorted(pools, key=lambda one: -one.promise)[:KEPT_SPLITS] for pools in (reading, answers)]
    for reader in few[0]:
        for answerer in few[1]:
            most = (limits.accelerators - answerer.accelerators) // reader.accelerators
            counts = np.arange(1, most + 1)
            if limits.prefill_accelerators is not None:
                counts = counts[counts * reader.accelerators == limits.prefill_accelerators]
            if limits.prefill_replicas is not None:
                counts = counts[counts == limits.prefill_replicas]
            rest = (limits.accelerators - counts * reader.accelerators) // answerer.accelerators
            if limits.replicas is not None:
                counts, rest = counts[rest >= limits.replicas], np.minimum(rest, limits.replicas)
                rest = rest[rest == limits.replicas]
            if not len(counts):
                continue
            rates = np.minimum(counts * reader.rate_per_s, rest * answerer.rate_per_s)
            best = int(rates.argmax())
            prefill = _pool(reader, int(counts[best]), limits)
            decode = _pool(answerer, int(rest[best]), limits)
            yield Candidate(
                Deployment("disaggregated", decode, prefill, settings),
                float(rates[best]),
                min(int(counts[best]) * reader.stable_per_s, int(rest[best]) * answerer.stable_per_s),
                answerer.batch,
                answerer.tpot_s,
                reader.ttft_s,
                answerer.split,
                reader.split,
            )


def _pool(one: _Pool, replicas: int, limits: Limits) -> Pool:
    split = one.split.parallelism
    budget = min(limits.token_budget * split.attention_data, MOST_TOKENS)
    return Pool(split, replicas, limits.batch(split), budget)


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A deployment at a batch: neither faster for a user nor cheaper without being worse at the other.

    Attributes
    ----------
    user_tokens_per_s : float
        Output tokens/s of a request after the first.
    accelerator_tokens_per_s : float
        Output tokens/s over all accelerators, including those of prefill.
    """

    mode: str
    decode: Parallelism
    batch: float
    user_tokens_per_s: float
    accelerator_tokens_per_s: float


def pareto_front(
    readers: Sequence[Split],
    answerers: Sequence[Split],
    demand: Demand,
    settings: EngineSettings,
    limits: Limits,
) -> tuple[ParetoPoint, ...]:
    """Return the front, from the fastest for a user on; pools as large as they need to be, without queues."""
    read_s = min(one.parallelism.accelerators * prompt_s(one.table, demand) for one in readers)
    points: list[ParetoPoint] = []
    for mode in limits.modes:
        for split in answerers:
            law = answering(split, demand, settings, mode, limits.batch(split.parallelism))
            seconds = split.parallelism.accelerators / law.rate_per_s
            if mode == "disaggregated":
                seconds = seconds + read_s
            tokens = demand.answer / seconds
            points += [
                ParetoPoint(mode, split.parallelism, *row)
                for row in zip(law.batch.tolist(), (1 / law.tpot_s).tolist(), tokens.tolist(), strict=True)
            ]
    user = np.array([one.user_tokens_per_s for one in points])
    each = np.array([one.accelerator_tokens_per_s for one in points])
    return tuple(points[place] for place in unbeaten(-user, -each).tolist())
