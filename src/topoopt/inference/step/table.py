"""The table of steps of one model, accelerator, split and engine, which simulators look up."""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.step.constants import Constants, ServedStack, shipped_constants
from topoopt.inference.step.law import cached_s, engine_s, halves_s, head_s, prompt_pairs_s, smooth, token_s
from topoopt.inference.step.replica import Degrees, Replica, replica
from topoopt.inference.step_table import Halves, StepTable
from topoopt.workloads.transformer import TransformerModel

ONE, USUAL = Parallelism(), EngineSettings()

LARGEST_STEP = 2**20
"""Tokens of the longest step in a table, of each copy of attention."""

DECODE_REFERENCE, PROMPT_REFERENCE = 2048.0, 4096.0
"""Tokens at which the seconds of a cached token, and of a pair, are taken: windows make them depend on the length."""


def step_table(
    model: TransformerModel,
    accelerator: str,
    parallelism: Parallelism = ONE,
    settings: EngineSettings = USUAL,
    engine: str = "",
    constants: Constants | None = None,
    free_between: int = 0,
) -> StepTable:
    """Return how long steps of a replica take.

    Parameters
    ----------
    accelerator
        A name or alias of the catalogue.
    engine
        Whose constants are taken, such as ``vllm``; those of vLLM where not given.
    constants
        Of one's own calibration, instead.
    free_between
        Accelerators of servers between which bytes take no time, for who knows the fabric adds it; 0 for the nominal
        bandwidth between scale-up domains.

    Raises
    ------
    InvalidInput
        If a name is unknown, or the model cannot be split so.
    """
    check_split(model, parallelism)
    part = find_accelerator(accelerator)
    stack = ServedStack(model, part, settings, engine, split=parallelism)
    law = shipped_constants(stack) if constants is None else constants
    one = replica(model, part, _degrees(parallelism), settings)
    if free_between:
        domain = np.minimum(one.domain, free_between)
        one = replace(one, network_bytes_per_s=np.full(1, np.inf), domain=domain)
    tokens = _points(parallelism.attention_data)
    rows = Replica(*(np.repeat(getattr(one, name), len(tokens)) for name in Replica.__slots__))
    own = tokens / parallelism.attention_data
    floor = law.prompt_layer_s * one.layers
    cached = cached_s(one, law, np.array([DECODE_REFERENCE]))[0] / DECODE_REFERENCE
    pairs = prompt_pairs_s(one, law, np.array([PROMPT_REFERENCE]))[0] / (PROMPT_REFERENCE**2 / 2)
    return StepTable(
        tokens.astype(np.int64),
        token_s(rows, law, tokens, decoding=True) + engine_s(rows, law, tokens),
        smooth(token_s(rows, law, tokens, decoding=False), floor) + law.prompt_step_s,
        head_s(rows, law, own),
        float(cached) / parallelism.attention_data,
        float(pairs) / parallelism.attention_data,
        parallelism.pipeline,
        _halves(rows, law, tokens, own) if settings.two_batch_overlap else None,
    )


def _halves(rows: Replica, law: Constants, tokens: Floats, own: Floats) -> Halves:
    works, sends = halves_s(rows, law, tokens, decoding=True)
    reads, brings = halves_s(rows, law, tokens, decoding=False)
    return Halves(
        works + engine_s(rows, law, tokens),
        sends,
        smooth(reads, law.prompt_layer_s * rows.layers) + law.prompt_step_s,
        brings,
        int(rows.layers[0]),
    )


def check_split(model: TransformerModel, parallelism: Parallelism) -> None:
    """Refuse degrees that a model does not have parts for.

    Raises
    ------
    InvalidInput
        With what is possible.
    """
    if model.heads % parallelism.tensor:
        possible = ", ".join(str(one) for one in range(1, 65) if model.heads % one == 0)
        raise InvalidInput(
            f"tensor {parallelism.tensor}: does not divide {model.heads} heads of {model.name}; possible: {possible}"
        )
    if parallelism.pipeline > model.layers:
        raise InvalidInput(f"pipeline {parallelism.pipeline}: {model.name} has {model.layers} layers")
    experts = model.experts.count if model.experts else 1
    if parallelism.expert > experts:
        what = f"has {experts} experts" if model.experts else "has no experts"
        raise InvalidInput(f"expert {parallelism.expert}: {model.name} {what}; take at most {experts}")


def _degrees(one: Parallelism) -> Degrees:
    return Degrees(
        *(np.array([float(degree)]) for degree in (one.tensor, one.pipeline, one.expert, one.attention_data))
    )


def _points(copies: int) -> Floats:
    """Return the numbers of tokens of a table: all powers of two and of half steps between, from 1."""
    exponents = np.arange(0, 2 * int(np.ceil(np.log2(LARGEST_STEP * copies))) + 1) / 2
    return np.unique(np.round(2.0**exponents)).astype(float)
