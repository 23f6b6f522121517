"""Measured runs as columns: what their replicas hold and move, and how requests come."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Flags, Floats
from topoopt.catalog import Accelerator
from topoopt.inference import (
    Degrees,
    Parallelism,
    Replica,
    accelerator_weight_bytes,
    activation_bytes,
    cache_shape,
    replica,
    request_cache_bytes,
    scale_up_ranks,
    stacked,
)
from topoopt.measurements.serving.run import ServedRun

MOST_AT_ONCE = 2048.0
"""Requests that an accelerator of an engine takes at once where all come together."""


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Runs as columns, arrays (n,).

    Attributes
    ----------
    decode, prefill : Replica
    clients : of one replica that answers, nan where all come at once
    prompt_clients : of one replica that reads prompts
    prompt, answer : tokens
    replicas : that answer
    held : requests whose caches a replica has memory for, at their mean length
    modes : mapping of the mode to its rows
    """

    decode: Replica
    prefill: Replica
    clients: Floats
    prompt_clients: Floats
    prompt: Floats
    answer: Floats
    replicas: Floats
    held: Floats
    modes: dict[str, Flags]


def run_columns(runs: Sequence[ServedRun]) -> RunColumns:
    """Return runs as columns, in their order."""
    one = np.array([run.clients for run in runs]), np.array([float(run.decode_replicas) for run in runs])
    clients, replicas = one
    pools = np.array([float(run.prefill_replicas) for run in runs])
    return RunColumns(
        stacked([_replica(run, run.decode) for run in runs]),
        stacked([_replica(run, run.prefill) for run in runs]),
        np.maximum(clients / replicas, 1.0),
        np.maximum(clients / pools, 1.0),
        np.array([run.prompt for run in runs]),
        np.array([run.answer for run in runs]),
        replicas,
        np.array([_held(run) for run in runs]),
        {mode: np.array([run.mode == mode for run in runs]) for mode in {run.mode for run in runs}},
    )


def _replica(run: ServedRun, split: Parallelism) -> Replica:
    degrees = (split.tensor, split.pipeline, split.expert, split.attention_data)
    columns = Degrees(*(np.array([float(one)]) for one in degrees))
    settings = replace(run.settings, two_batch_overlap=usually_overlaps(split, run.accelerator))
    return replica(run.model, run.accelerator, columns, settings)


def usually_overlaps(split: Parallelism, accelerator: Accelerator) -> bool:
    """Return whether engines overlap two halves of a batch: where experts of copies of attention are on servers apart.

    So do DeepSeek's engine and SGLang with DeepEP, whose rows are all that are published of such splits.
    """
    return split.attention_data > 1 and split.stage_accelerators > scale_up_ranks(accelerator)


def _held(run: ServedRun) -> float:
    """Return the requests that a replica has room for; no limit where by our count not even one has.

    Such a run ran all the same, so the count is off there.
    """
    model, settings, split = run.model, run.settings, run.decode
    free = settings.memory_share * run.accelerator.memory_bytes - activation_bytes(model)
    free -= accelerator_weight_bytes(model, split, settings)
    if np.isnan(run.prompt):
        return np.inf
    size = request_cache_bytes(
        model, int(run.prompt + run.answer / 2), settings.kv_precision, settings.page_tokens
    )
    shares = min(split.tensor, cache_shape(model).shares) * split.pipeline * split.attention_data
    return free * shares / size if free * shares > size else np.inf
