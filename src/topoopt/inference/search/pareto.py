"""Tokens a second of an accelerator against those of a user: what no deployment beats in both, in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.search.candidates import Limits
from topoopt.inference.search.closed_form import answering, prompt_s
from topoopt.inference.search.demand import Demand
from topoopt.inference.search.splits import Split


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A deployment at a batch: neither faster for a user nor cheaper without being worse at the other.

    Attributes
    ----------
    user_tokens_per_s : float
        Tokens of an answer a second, after the first.
    accelerator_tokens_per_s : float
        Tokens of all answers a second, over all accelerators, those that read prompts among them.
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
    kept = np.flatnonzero(on_front(user, each))
    return tuple(points[place] for place in kept[np.argsort(-user[kept], kind="stable")])


def on_front(first: Floats, second: Floats) -> Flags:
    """Return which points no other one beats: as good in both, and better in one.

    Examples
    --------
    >>> on_front(np.array([1.0, 2.0, 2.0, 3.0]), np.array([5.0, 4.0, 3.0, 1.0])).tolist()
    [True, True, False, True]
    """
    order = np.lexsort((-second, -first))
    best = np.maximum.accumulate(np.concatenate([[-np.inf], second[order][:-1]]))
    flags = np.zeros(len(first), np.bool_)
    flags[order] = second[order] > best
    return flags
