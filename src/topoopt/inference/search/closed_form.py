"""Rates that a replica keeps up with, in closed form: for every batch its time per token, and requests a second."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.inference.deployment import EngineSettings
from topoopt.inference.search.demand import Demand
from topoopt.inference.search.splits import Split
from topoopt.inference.step_table import StepTable

POINTS = 64
"""Batches that are looked at, from 1 to the largest, at equal ratios."""


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """A replica that answers, by batch.

    Attributes
    ----------
    batch : array (points,) of float
    tpot_s : array (points,) of float
        Seconds for a token of an answer.
    rate_per_s : array (points,) of float
        Requests that are answered in a second.
    """

    batch: Floats
    tpot_s: Floats
    rate_per_s: Floats

    def best(self, tpot_s: float) -> tuple[float, float, float]:
        """Return rate, batch and seconds per token where the rate is highest within an objective; 0 if nowhere."""
        rate = np.where(self.tpot_s <= tpot_s, self.rate_per_s, 0.0)
        place = int(rate.argmax())
        return float(rate[place]), float(self.batch[place]), float(self.tpot_s[place])


def alone_s(table: StepTable, tokens: float, apart: bool) -> float:
    """Return the seconds from the begin of a prompt to its first token, on a replica that does nothing else.

    In a pool of its own a prompt goes through a pipeline as a whole, else in as many parts as there are stages, the
    last of which enters when all but one stage's share of the time is over.
    """
    parts = 1 if apart else table.stages
    pairs = tokens * tokens / 2 / parts
    return _step_s(table, tokens / parts, 1 / parts, 0.0, pairs, prompts_only=True) * (2 - 1 / parts)


def prompt_s(table: StepTable, demand: Demand) -> float:
    """Return the seconds for which a mean prompt keeps a replica from anything else: one stage of its pipeline."""
    stages = table.stages
    return _step_s(table, demand.prompt, 1.0, 0.0, demand.pairs, prompts_only=True) / stages


def answering(
    split: Split, demand: Demand, settings: EngineSettings, mode: str, most_batch: int
) -> Answering:
    """Return what a replica does at every batch.

    A pool that only answers takes a step for every token. In the modes of one pool, of ``B`` requests that are answered
    ``B/o`` come and go with each step, for answers of ``o`` steps: their prompts are part of it (chunked), or are read
    between two steps (prefill-first).
    """
    table, stages = split.table, split.table.stages
    rows = 1 + settings.drafted_tokens
    steps = max((demand.answer - 1) / settings.accepted_tokens, 1.0)  # that of its prompt at least
    tokens_each = rows + (demand.prompt / steps if mode == "chunked" else 0.0)
    known = stages * int(table.tokens[-1]) * (1 - 1e-9) / tokens_each  # of a step whose time is known
    most = min(most_batch, split.cache_tokens / demand.cached, known)
    batch = np.geomspace(1.0, max(most, 1.0), POINTS)
    coming = batch / steps
    tokens, sampled, pairs = batch * rows, batch * rows, np.zeros(POINTS)
    if mode == "chunked":
        tokens = tokens + coming * demand.prompt
        sampled, pairs = sampled + coming, coming * demand.pairs
    step_s = _steps_s(
        table, tokens / stages, sampled / stages, batch * demand.cached / stages, pairs / stages
    )
    if mode == "prefill-first":
        step_s = step_s + coming * alone_s(table, demand.prompt, apart=False) / (2 - 1 / stages)
    return Answering(batch, step_s / settings.accepted_tokens, batch / (steps * step_s))


def fastest_token_s(split: Split, demand: Demand, settings: EngineSettings) -> float:
    """Return the seconds for a token of one request alone."""
    return float(answering(split, demand, settings, "disaggregated", 1).tpot_s[0])


def _step_s(
    table: StepTable, tokens: float, sampled: float, cached: float, pairs: float, prompts_only: bool
) -> float:
    base = table.prefill_base_s if prompts_only else table.base_s
    return float(
        table.at(tokens, base)
        + table.at(sampled, table.head_s)
        + table.decode_s_per_token * cached
        + table.prefill_s_per_pair * pairs
    )


def _steps_s(table: StepTable, tokens: Floats, sampled: Floats, cached: Floats, pairs: Floats) -> Floats:
    return np.asarray(
        table.at(tokens, table.base_s)
        + table.at(sampled, table.head_s)
        + table.decode_s_per_token * cached
        + table.prefill_s_per_pair * pairs
    )
