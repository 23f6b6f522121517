"""What the law of steps says of measured runs: each quantity a row may have, by how its requests come."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.inference import Constants, closed_loop, decode_step_s, prompt_each_s, prompt_step_s
from topoopt.measurements.serving.columns import MOST_AT_ONCE, RunColumns

QUANTITIES = ("tpot", "ttft", "prefill", "e2e", "throughput", "prompt_rate")
"""Seconds, and tokens per second of all accelerators together."""

PROMPT_TOKENS = 16384.0
"""Tokens that an accelerator reads at once where the rate of reading prompts is measured."""


def expected(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    """Return what the law says of every quantity; nan where a row cannot have it."""
    none = np.full(len(rows.prompt), np.nan)
    found = {name: none.copy() for name in QUANTITIES}
    for mode, part in (
        ("agg", _one_pool),
        ("disagg", _two_pools),
        ("static", _static),
        ("offline", _at_once),
    ):
        chosen = rows.modes.get(mode)
        if chosen is not None and chosen.any():
            for name, values in part(rows, law).items():
                found[name] = np.where(chosen, values, found[name])
    for mode, part in (("prefill", _reading), ("decode", _answering)):
        chosen = rows.modes.get(mode)
        if chosen is not None and chosen.any():
            for name, values in part(rows, law).items():
                found[name] = np.where(chosen, values, found[name])
    return found


def _one_pool(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    found = closed_loop(rows.decode, law, rows.clients, rows.prompt, rows.answer, rows.held)
    return {
        "tpot": found.tpot_s,
        "ttft": found.ttft_s,
        "throughput": found.requests_per_s * rows.answer * rows.replicas,
    }


def _two_pools(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    batch = np.minimum(rows.clients, rows.held)
    step = decode_step_s(rows.decode, law, batch, rows.prompt + rows.answer / 2)
    alone = prompt_step_s(rows.prefill, law, rows.prompt)
    cycle = rows.answer * step + alone
    load = np.minimum(rows.prompt_clients * alone / rows.prefill.attention_data / cycle, 0.95)
    waits = law.wave * (rows.prompt_clients / rows.prefill.attention_data) * alone
    waits = waits + law.queue * load * alone / (2 * (1 - load))
    return {"tpot": step, "ttft": alone + waits + step}


def _static(rows: RunColumns, law: Constants) -> dict[str, Floats]:
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


def _at_once(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    batch = np.minimum(
        np.maximum(np.where(np.isfinite(rows.held), rows.held, 64.0) * law.batch_share, 1.0),
        MOST_AT_ONCE * rows.decode.attention_data,
    )
    step = decode_step_s(rows.decode, law, batch, rows.prompt + rows.answer / 2)
    each = prompt_each_s(rows.decode, law, batch, rows.prompt)
    return {
        "throughput": batch
        * rows.answer
        / (rows.answer * step + law.interference * batch * each)
        * rows.replicas
    }


def _reading(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    alone = prompt_step_s(rows.prefill, law, rows.prompt)
    prompts = np.maximum(np.round(PROMPT_TOKENS / rows.prompt), 1.0) * rows.prefill.attention_data
    together = prompt_step_s(rows.prefill, law, prompts * rows.prompt, prompts)
    return {"prefill": alone, "prompt_rate": prompts * rows.prompt / together * rows.replicas}


def _answering(rows: RunColumns, law: Constants) -> dict[str, Floats]:
    answer = np.nan_to_num(rows.answer, nan=1.0)
    step = decode_step_s(rows.decode, law, rows.clients, rows.prompt + answer / 2)
    return {"tpot": step, "throughput": rows.clients / step * rows.replicas}
