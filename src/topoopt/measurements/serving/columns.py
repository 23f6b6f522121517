"""Measured serving runs as columns of arrays, their predictions, and the numbers that are scored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.catalog import Accelerator
from topoopt.inference import (
    Constants,
    Parallelism,
    Replica,
    ServedStack,
    cache_bytes,
    cache_shape,
    closed_loop,
    constants_of_logs,
    decode_step_s,
    prompt_each_s,
    prompt_step_s,
    replica,
    request_cache_bytes,
    scale_up_ranks,
    stacked,
)
from topoopt.measurements.serving.run import ServedRun

MOST_AT_ONCE = 2048.0  # requests of one accelerator where all come together


@dataclass(frozen=True, slots=True)
class ServedColumns:
    """Runs as columns, arrays (n,).

    Attributes
    ----------
    decode, prefill : Replica
    clients : per decode replica, nan where all come at once
    prompt_clients : per prefill replica
    prompt, answer : input and output tokens
    replicas : decode replicas
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


QUANTITIES = ("tpot", "ttft", "prefill", "e2e", "throughput", "prompt_rate")
"""Seconds, and tokens per second of all accelerators together."""
PROMPT_TOKENS = 16384.0
"""Concurrent tokens of an accelerator in measurements of the prefill rate."""
SPREADS = {"tpot": 0.08, "ttft": 0.35, "prefill": 0.15, "e2e": 0.08, "throughput": 0.2, "prompt_rate": 0.2}
"""Expected error of each quantity, in logarithms: its weight in a fit."""
EARLY = 0.8
"""A whole run shorter than this share of its own tokens' time was stopped before its last token."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Measured numbers of runs.

    Attributes
    ----------
    columns : ServedColumns, of all runs
    rows : array (m,) of int, the run of each number
    quantities : array (m,) of text
    logs : array (m,), logarithms of the measurements
    spreads : array (m,), by how much the law is expected to miss them
    """

    columns: ServedColumns
    rows: Ints
    quantities: NDArray[np.str_]
    logs: Floats
    spreads: Floats

    def take(self, chosen: Flags | Ints) -> "Observations":
        """Return some of the numbers."""
        rows, quantities = self.rows[chosen], self.quantities[chosen]
        return Observations(self.columns, rows, quantities, self.logs[chosen], self.spreads[chosen])

    def predicted_logs(self, logs: Floats) -> Floats:
        """Return logarithms of the predictions, array (m,), by logarithms of constants, array (n, constants)."""
        values = expected(self.columns, constants_of_logs(logs))
        places = np.array([QUANTITIES.index(name) for name in self.quantities], np.int64)
        return np.asarray(np.log(np.stack([values[name] for name in QUANTITIES])[places, self.rows]))

    def percents_off(self, logs: Floats) -> Floats:
        """Return the relative errors, array (m,), in percent."""
        return np.asarray(100 * np.expm1(self.predicted_logs(logs) - self.logs))


def observations(runs: Sequence[ServedRun], law: Constants) -> Observations:
    """Return the measured and scored quantities of runs that the model covers."""
    columns = served_columns(runs)
    values = expected(columns, law)
    found = [
        (row, name, np.log(run.measured[name]), SPREADS[name])
        for row, run in enumerate(runs)
        for name in QUANTITIES
        if run.measured.get(name, 0.0) > 0
        and not why_not_scored(run, name)
        and np.isfinite(values[name][row])
    ]
    kinds = (np.int64, np.str_, np.float64, np.float64)
    parts = zip(*found, strict=True) if found else ((),) * 4
    return Observations(columns, *(np.array(part, kind) for part, kind in zip(parts, kinds, strict=True)))


def why_not_scored(run: ServedRun, quantity: str) -> str:
    """Return the reason why a measured number is not scored; empty if it is."""
    seen = run.measured
    if run.queue_limited and run.mode in ("agg", "disagg") and quantity in ("tpot", "ttft", "throughput"):
        return "requests waited for admission, as the table says"
    if quantity == "e2e" and seen["e2e"] < EARLY * (run.answer - 1) * seen.get("tpot", 0.0):
        return "stopped before its last token, by its own time per token"
    return ""


def served_columns(runs: Sequence[ServedRun]) -> ServedColumns:
    """Return runs as columns, in their order."""
    clients = np.array([run.clients for run in runs])
    replicas = np.array([float(run.decode_replicas) for run in runs])
    pools = np.array([float(run.prefill_replicas) for run in runs])
    return ServedColumns(
        stacked([_replica(run.stack, run.stack.split) for run in runs]),
        stacked([_replica(run.stack, run.prefill) for run in runs]),
        np.maximum(clients / replicas, 1.0),
        np.maximum(clients / pools, 1.0),
        np.array([run.prompt for run in runs]),
        np.array([run.answer for run in runs]),
        replicas,
        np.array([_held(run) for run in runs]),
        {mode: np.array([run.mode == mode for run in runs]) for mode in {run.mode for run in runs}},
    )


def _replica(stack: ServedStack, split: Parallelism) -> Replica:
    settings = replace(stack.settings, two_batch_overlap=usually_overlaps(split, stack.accelerator))
    return replica(stack.model, stack.accelerator, split, settings)


def usually_overlaps(split: Parallelism, accelerator: Accelerator) -> bool:
    """Return whether engines overlap two halves of a batch: where experts of copies of attention are on servers apart.

    So do DeepSeek's engine and SGLang with DeepEP, whose rows are all that are published of such splits.
    """
    return split.attention_data > 1 and split.stage_accelerators > scale_up_ranks(accelerator)


def _held(run: ServedRun) -> float:
    """Return the requests that a replica has room for; no limit where by our count not even one has.

    Such a run ran all the same, so the count is off there.
    """
    model, settings, split = run.stack.model, run.stack.settings, run.stack.split
    free = cache_bytes(model, run.stack.accelerator, split, settings)
    if np.isnan(run.prompt):
        return np.inf
    size = request_cache_bytes(
        model, int(run.prompt + run.answer / 2), settings.kv_precision, settings.page_tokens
    )
    shares = min(split.tensor, cache_shape(model).shares) * split.pipeline * split.attention_data
    return free * shares / size if free * shares > size else np.inf


def expected(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    """Return the predictions of every quantity; nan where a row has none."""
    none = np.full(len(rows.prompt), np.nan)
    found = {name: none.copy() for name in QUANTITIES}
    for mode, part in (
        ("agg", _one_pool),
        ("disagg", _two_pools),
        ("static", _static),
        ("offline", _at_once),
        ("prefill", _reading),
        ("decode", _answering),
    ):
        chosen = rows.modes.get(mode)
        if chosen is not None and chosen.any():
            for name, values in part(rows, law).items():
                found[name] = np.where(chosen, values, found[name])
    return found


def _one_pool(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    found = closed_loop(rows.decode, law, rows.clients, rows.prompt, rows.answer, rows.held)
    return {
        "tpot": found.tpot_s,
        "ttft": found.ttft_s,
        "throughput": found.requests_per_s * rows.answer * rows.replicas,
    }


def _two_pools(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    batch = np.minimum(rows.clients, rows.held)
    step = decode_step_s(rows.decode, law, batch, rows.prompt + rows.answer / 2)
    alone = prompt_step_s(rows.prefill, law, rows.prompt)
    cycle = rows.answer * step + alone
    load = np.minimum(rows.prompt_clients * alone / rows.prefill.attention_data / cycle, 0.95)
    waits = law.wave * (rows.prompt_clients / rows.prefill.attention_data) * alone
    waits = waits + law.queue * load * alone / (2 * (1 - load))
    return {"tpot": step, "ttft": alone + waits + step}


def _static(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    batch = rows.clients
    step = decode_step_s(rows.decode, law, batch, rows.prompt + rows.answer / 2)
    prefill = prompt_step_s(rows.decode, law, batch * rows.prompt, batch)
    whole = prefill + (rows.answer - 1) * step
    return {
        "tpot": step,
        "ttft": prefill,
        "prefill": prefill,
        "e2e": whole,
        "throughput": batch * rows.answer / whole * rows.replicas,
    }


def _at_once(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    batch = np.minimum(
        np.maximum(np.where(np.isfinite(rows.held), rows.held, 64.0) * law.batch_share, 1.0),
        MOST_AT_ONCE * rows.decode.attention_data,
    )
    step = decode_step_s(rows.decode, law, batch, rows.prompt + rows.answer / 2)
    each = prompt_each_s(rows.decode, law, batch, rows.prompt)
    cycle = rows.answer * step + law.interference * batch * each
    return {"throughput": batch * rows.answer / cycle * rows.replicas}


def _reading(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    alone = prompt_step_s(rows.prefill, law, rows.prompt)
    prompts = np.maximum(np.round(PROMPT_TOKENS / rows.prompt), 1.0) * rows.prefill.attention_data
    together = prompt_step_s(rows.prefill, law, prompts * rows.prompt, prompts)
    return {"prefill": alone, "prompt_rate": prompts * rows.prompt / together * rows.replicas}


def _answering(rows: ServedColumns, law: Constants) -> dict[str, Floats]:
    answer = np.nan_to_num(rows.answer, nan=1.0)
    step = decode_step_s(rows.decode, law, rows.clients, rows.prompt + answer / 2)
    return {"tpot": step, "throughput": rows.clients / step * rows.replicas}
