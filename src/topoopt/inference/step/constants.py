"""Constants: fitted parameters of an accelerator and an engine, besides data-sheet rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import check_known
from topoopt.catalog import Accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer import TransformerModel

ONE = Parallelism()


@dataclass(frozen=True, slots=True)
class ServedStack:
    """Accelerator, engine and model kind: everything that constants depend on."""

    model: TransformerModel
    accelerator: Accelerator
    settings: EngineSettings
    drafted: str = "no"
    split: Parallelism = ONE


Number = float | Floats


@dataclass(frozen=True, slots=True)
class Constants:
    """Fractions of data-sheet rates, and engine overheads in seconds: floats, or columns (n,) of configurations.

    Attributes
    ----------
    dense_memory, expert_memory, cache_memory : fractions of the memory bandwidth
        Memory efficiency of reading weights, experts and caches.
    dense_compute, expert_compute, pair_compute : fractions of the peak rate
        Compute efficiency of products of prompts, of experts, and of attention.
    decode_compute : fraction
        Efficiency of products of few tokens, relative to ``dense_compute``.
    activation_passes : reads and writes of all activations of a token by kernels between a layer's products
    exchange_s : time of an empty exchange of experts' inputs
    layer_s, step_s, request_s : overhead of a decode step per layer, per step, and per request
    prompt_layer_s, prompt_step_s : minimum and overhead of a layer and a step that process prompts
    interference : share of a prefill that delays concurrent decodes
    wave : mean share of the clients of a closed loop whose prompts precede one's own
    queue : ratio of the wait behind other prompts to that of an M/D/1 queue
    batch_share : share of the cache memory that requests fill when all arrive at once
    """

    dense_memory: Number
    expert_memory: Number
    cache_memory: Number
    dense_compute: Number
    expert_compute: Number
    pair_compute: Number
    decode_compute: Number
    activation_passes: Number
    exchange_s: Number
    layer_s: Number
    step_s: Number
    request_s: Number
    prompt_layer_s: Number
    prompt_step_s: Number
    interference: Number
    wave: Number
    queue: Number
    batch_share: Number


CONSTANTS = tuple(one.name for one in fields(Constants))
FRACTIONS = CONSTANTS[:6]
"""Constants that are at most 1."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Fitted constants.

    Attributes
    ----------
    base : array (constants,), logarithms for all
    names : list of (level, name), in the order of ``logs``
    logs : array (names, constants), logarithms of factors
    """

    base: Floats
    names: Sequence[tuple[str, str]]
    logs: Floats


def row_logs(here: Factors, members: Ints) -> Floats:
    """Return logarithms of constants, array (n, constants), of runs with these names."""
    if not members.shape[1]:
        return np.tile(here.base, (len(members), 1))
    return np.asarray(here.base + np.where(members[..., None] >= 0, here.logs[members], 0.0).sum(axis=1))


def constants_of_logs(logs: Floats) -> Constants:
    """Return columns of constants from logarithms, array (n, constants)."""
    columns = {name: np.exp(logs[:, place]) for place, name in enumerate(CONSTANTS)}
    return Constants(
        **{name: np.minimum(value, 1.0) if name in FRACTIONS else value for name, value in columns.items()}
    )


def members_of(names: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]) -> Ints:
    """Return the index of each run's name, array (n, levels); -1 for unknown names."""
    place = {name: index for index, name in enumerate(names)}
    return np.array([[place.get(one, -1) for one in row.items()] for row in rows], np.int64)


def level_names(stack: ServedStack) -> dict[str, str]:
    """Return the name of a stack at each level."""
    engine, part = engine_family(stack.settings.engine), stack.accelerator
    kind, weights = model_kind(stack.model), stack.settings.weight_precision
    return {
        "engine": engine,
        "accelerator": part.name,
        "format": f"{weights} on {part.architecture}",
        "kind": kind,
        "engine+accelerator": f"{engine} on {part.name}",
        "engine+kind": f"{engine}, {kind}",
        "model": stack.model.name,
        "engine+split": f"{engine}, {split_kind(stack.split)}",
        "release": f"{engine} {stack.settings.version}, drafted: {stack.drafted}, {kind}",
        "stack": f"{engine}, {stack.model.name} in {weights} on {part.name}",
    }


def engine_family(engine: str) -> str:
    """Return the name of an engine without capitals."""
    return engine.strip().lower()


def model_kind(model: TransformerModel) -> str:
    """Return the kind of model: latent attention, recurrent layers, experts, or none of these."""
    if model.latent is not None:
        return "latent"
    if model.recurrence is not None:
        return "recurrent"
    return "experts" if model.experts else "dense"


def split_kind(split: Parallelism) -> str:
    """Return the kind of a replica's split."""
    if split.attention_data > 1:
        return "copies of attention"
    if split.expert > 1:
        return "spread experts"
    return "tensor parallel" if split.tensor > 1 else "whole"


@cache
def shipped_factors() -> Factors:
    """Return the factors of ``data/constants.csv``, whose first row is the base."""
    rows = packaged_rows("inference", "constants")
    logs = np.log([[float(row[name]) for name in CONSTANTS] for row in rows])
    return Factors(logs[0], [(row["level"], row["name"]) for row in rows[1:]], logs[1:])


def error_band(stack: ServedStack, quantity: str) -> tuple[str, float, float]:
    """Return the factors from predicted to measured between which 80 % of runs are that no fit has seen.

    They are in ``data/error_bands.csv``, by the model's kind. A model with measured rows has the errors of stacks
    held out of fits, any other those of held-out models; the latter are listed first.

    Parameters
    ----------
    quantity
        ``tpot``, ``ttft`` or ``throughput``.
    """
    left_out = "stack" if ("model", stack.model.name) in shipped_factors().names else "model"
    wanted = (left_out, "experts" if stack.model.experts else "dense", quantity)
    rows = packaged_rows("inference", "error_bands")
    row = next(row for row in rows if (row["left_out"], row["kind"], row["quantity"]) == wanted)
    return left_out, float(row["low"]), float(row["high"])


def known_engine(engine: str) -> str:
    """Return the name of an engine that was measured, or empty where none is named.

    Raises
    ------
    InvalidInput
        For an engine without measured rows.
    """
    if engine:
        check_known(
            "engine",
            engine_family(engine),
            [name for level, name in shipped_factors().names if level == "engine"],
        )
    return engine


def shipped_logs(stacks: Sequence[ServedStack]) -> Floats:
    """Return logarithms of the constants of stacks, array (n, constants)."""
    factors = shipped_factors()
    return row_logs(factors, members_of(factors.names, [level_names(stack) for stack in stacks]))


def shipped_constants(stack: ServedStack) -> Constants:
    """Return the constants of a stack; unmeasured factors are 1."""
    columns = constants_of_logs(shipped_logs([stack]))
    return Constants(**{name: float(getattr(columns, name)[0]) for name in CONSTANTS})
