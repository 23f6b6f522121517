"""Rates that a replica keeps up with, in closed form: for every batch its time per token, and requests a second."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.memory import cache_capacity, cache_element_bytes, weight_format
from topoopt.inference.requests import Requests
from topoopt.inference.step.law import step_table
from topoopt.inference.step_table import StepTable
from topoopt.inference.trace_files import RequestTrace
from topoopt.transformers import System
from topoopt.workloads.transformer import TransformerModel

MOST_STAGES = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware that a model is served on.

    Attributes
    ----------
    system : System
        Servers with NICs; tensor parallelism stays inside of a server where it is searched.
    """

    model: TransformerModel
    system: System
    accelerators: int
    settings: EngineSettings


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One split of a replica.

    Attributes
    ----------
    table : StepTable
    cache_tokens : int
        Tokens that all caches of a replica have room for.
    """

    parallelism: Parallelism
    table: StepTable
    cache_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Requests to be served.

    Attributes
    ----------
    requests : Requests
        Requests at the rate of their trace, or at one per second.
    rate_per_s : float or None
        The requested rate; None for the goodput, and for a closed loop.
    words : str
        Description for display.
    trace : RequestTrace, optional
        File that the requests are of.
    """

    requests: Requests
    rate_per_s: float | None
    words: str
    trace: RequestTrace | None = None

    def __post_init__(self) -> None:
        if self.rate_per_s is not None and not 0 < self.rate_per_s < float("inf"):
            raise InvalidInput(f"rate: expected requests a second above 0, got {self.rate_per_s:g}")

    def at(self, rate_per_s: float) -> Requests:
        """Return the requests at another rate; a closed loop has none."""
        if self.requests.clients:
            return self.requests
        return self.requests.at_rate(rate_per_s / self.requests.rate_per_s)

    @property
    def prompt(self) -> float:
        """Mean tokens of a prompt."""
        return float(self.requests.input_tokens.mean())

    @property
    def answer(self) -> float:
        """Mean output tokens."""
        return float(self.requests.output_tokens.mean())

    @property
    def pairs(self) -> float:
        """Mean pairs of tokens of a prompt that attention looks at."""
        return float((self.requests.input_tokens.astype(float) ** 2).mean() / 2)

    @property
    def cached(self) -> float:
        """Mean tokens in the cache of a request during decoding: long answers take longer."""
        prompts, answers = (
            tokens.astype(float) for tokens in (self.requests.input_tokens, self.requests.output_tokens)
        )
        return float((answers * (prompts + answers / 2)).sum() / answers.sum())

    def long_prompt(self, share: float) -> float:
        """Return the tokens that so large a share of prompts has at most."""
        return float(np.quantile(self.requests.input_tokens, share))

    @property
    def most_tokens(self) -> int:
        """Most input and output tokens of a request."""
        return int((self.requests.input_tokens + self.requests.output_tokens).max())


POINTS = 64
"""Candidate batches, from 1 to the largest, at equal ratios."""


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """A decode replica, by batch.

    Attributes
    ----------
    batch : array (points,) of float
    tpot_s : array (points,) of float
        Seconds per output token.
    rate_per_s : array (points,) of float
        Completed requests/s.
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
    """Return the time to first token on an idle replica.

    In a pool of its own a prompt goes through a pipeline as a whole, else in as many parts as there are stages, the
    last of which enters when all but one stage's share of the time is over.
    """
    parts = 1 if apart else table.stages
    pairs = tokens * tokens / 2 / parts
    return _reading_s(table, tokens / parts, 1 / parts, pairs) * (2 - 1 / parts)


def prompt_s(table: StepTable, demand: Demand) -> float:
    """Return the time for which a mean prompt occupies a replica: one stage of its pipeline."""
    stages = table.stages
    return _reading_s(table, demand.prompt, 1.0, demand.pairs) / stages


def answering(
    split: Split, demand: Demand, settings: EngineSettings, mode: str, most_batch: int
) -> Answering:
    """Return the decode performance of a replica at every batch.

    A decode pool takes a step for every token. In the modes of one pool, of ``B`` concurrent requests ``B/o`` come and
    go with each step, for answers of ``o`` steps: their prompts are part of it (chunked), or are read between two
    steps (prefill-first).
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
    step_s = np.asarray(
        table.at((tokens / stages), table.base_s)
        + table.at((sampled / stages), table.head_s)
        + table.decode_s_per_token * (batch * demand.cached / stages)
        + table.prefill_s_per_pair * (pairs / stages)
    )
    if mode == "prefill-first":
        step_s = step_s + coming * alone_s(table, demand.prompt, apart=False) / (2 - 1 / stages)
    return Answering(batch, step_s / settings.accepted_tokens, batch / (steps * step_s))


def fastest_token_s(split: Split, demand: Demand, settings: EngineSettings) -> float:
    """Return the seconds for a token of one request alone."""
    return float(answering(split, demand, settings, "disaggregated", 1).tpot_s[0])


def _reading_s(table: StepTable, tokens: float, sampled: float, pairs: float) -> float:
    base_s, head_s = table.at(tokens, table.prefill_base_s), table.at(sampled, table.head_s)
    return float(base_s + head_s + table.prefill_s_per_pair * pairs)


def splits_of(machine: Machine, fixed: Mapping[str, int], most_tokens: int) -> list[Split]:
    """Return the splits that hold the model and the longest request.

    Parameters
    ----------
    fixed
        Degrees that are given, by field of :class:`~topoopt.inference.Parallelism`.

    Raises
    ------
    InvalidInput
        If a degree is given that the model does not have parts for.
    Infeasible
        If nothing fits, with the reason of the largest split.
    """
    weight_format(machine.settings.weight_precision)
    cache_element_bytes(machine.settings.kv_precision)
    found, reason = [], ""
    model, name, settings = machine.model, machine.system.accelerator, machine.settings
    for one in _degrees(machine, fixed):
        try:
            room = cache_capacity(model, find_accelerator(name), one, settings, most_tokens)
        except InvalidInput as error:
            reason = str(error)
            continue
        if room.tokens < most_tokens:
            reason = f"{model.name}: caches of {room.tokens:,} tokens hold no request of {most_tokens:,}"
            continue
        table = step_table(model, name, one, settings, fabric=machine.system)
        found.append(Split(one, table, room.tokens))
    if not found:
        raise Infeasible(
            f"accelerators {machine.accelerators}: {reason}"
            if reason
            else f"accelerators {machine.accelerators}: no split of {model.name} has the degrees that are given"
        )
    return found


def _degrees(machine: Machine, fixed: Mapping[str, int]) -> list[Parallelism]:
    model, most = machine.model, machine.accelerators
    powers = [1 << power for power in range(most.bit_length())]

    def tried(name: str, usual: list[int]) -> list[int]:
        return [fixed[name]] if name in fixed else usual

    inside = machine.system.accelerators_per_server
    tensors = [one for one in powers if model.heads % one == 0 and one <= inside]
    stages = [one for one in powers if one <= min(MOST_STAGES, model.layers)]
    found = []
    for tensor in tried("tensor", tensors):
        for pipeline in tried("pipeline", stages):
            whole = max(most // (tensor * pipeline), 1)
            copies = sorted({*(one for one in powers if one <= whole), whole}) if model.experts else [1]
            for data in tried("attention_data", copies):
                stage = tensor * data
                spread = sorted({1, stage}) if model.experts and stage <= model.experts.count else [1]
                for expert in tried("expert", spread):
                    if stage * pipeline <= most and stage % expert == 0:
                        found.append(Parallelism(tensor, pipeline, expert, data))
    return found
