"""Measured runs of served models: their columns, and a run of each row."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.catalog import Accelerator, find_accelerator
from topoopt.inference import CACHE_FORMATS, WEIGHT_FORMATS, EngineSettings, Parallelism, ServedStack
from topoopt.measurements.run_table import (
    MeasuredRuns,
    Row,
    RunColumns,
    TableRow,
    degree,
    number,
    read_run_table,
    text,
)
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer import TransformerModel, find_transformer

COLUMNS = RunColumns("measurements.serving", ("mode", "model", "accelerator"))
MODES = ("agg", "disagg", "static", "prefill", "decode", "offline")
"""Kinds of measurement that are predicted: closed loops on one pool or on two, one batch after the other, reading
prompts alone, answering alone, all requests at once."""
NEEDED = {
    **dict.fromkeys(("agg", "disagg", "static"), ("isl", "osl", "concurrency")),
    "offline": ("isl", "osl"),
    "prefill": ("isl",),
    "decode": ("isl", "concurrency"),
}
"""Columns without which a row of a mode cannot be predicted."""
NOT_MODELLED = {
    "agg-open": "an open loop whose lengths are in a log beside the table; simulate it",
    "mlperf-server": "neither parallelism nor precision is in the table",
    "mlperf-offline": "neither parallelism nor precision is in the table",
    "mlperf-interactive": "neither parallelism nor precision is in the table",
}
MEMORY_SHARE = 0.95
"""Memory fraction of the accelerator that engines use in benchmarks, whose scripts raise the default."""
MEASURED = {
    "ttft": "ttft_ms",
    "tpot": "tpot_ms",
    "prefill": "prefill_ms",
    "e2e": "e2e_ms",
    "kv_transfer": "kv_transfer_ms",
}
"""Possible times of a row, and their columns in milliseconds."""
RATES = {"throughput": ("out_tok_s", "out_tok_s_per_acc"), "prompt_rate": (None, "in_tok_s_per_acc")}
"""Tokens per second that a row may have: columns of all accelerators, and of one."""


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A measured run of a served model.

    Attributes
    ----------
    stack : ServedStack
        Stack that its constants depend on; the split is that of decode replicas.
    accelerators : int
        Accelerators in use, all pools together.
    prefill : Parallelism
        Split of prefill replicas; equal to that of the stack except in mode ``disagg``.
    decode_replicas, prefill_replicas : int
    prompt, answer : float
        Mean tokens of requests.
    clients : float
        Clients of the closed loop, or requests of the static batch; nan where all arrive at once.
    measured : mapping
        Seconds by quantity, of :data:`MEASURED`; tokens per second of all accelerators, of :data:`RATES`.
    queue_limited : bool
        Whether requests waited for admission, by the table.
    cache_bytes : float
        KV-cache bytes moved by one request; nan where not measured.
    """

    row: TableRow
    mode: str
    stack: ServedStack
    accelerators: int
    prefill: Parallelism
    decode_replicas: int
    prefill_replicas: int
    prompt: float
    answer: float
    clients: float
    measured: Mapping[str, float]
    queue_limited: bool
    cache_bytes: float


def read_runs(path: str | Path) -> MeasuredRuns[ServedRun]:
    """Return the runs of a table.

    Raises
    ------
    InvalidInput
        If the file is no such table.
    """
    return read_run_table(path, COLUMNS).read(_run)


def run_model(name: str) -> TransformerModel:
    """Return the transformer that a table means by a name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    known = {row["name"].lower(): row for row in packaged_rows("measurements.serving", "run_models")}
    row = known.get(name.lower())
    return find_transformer(row["model"] if row else name)


def _run(table_row: TableRow) -> ServedRun:
    row = table_row.cells
    mode = text(row, "mode")
    if mode not in MODES:
        raise InvalidInput(f"mode {mode}: {NOT_MODELLED.get(mode, 'expected one of ' + ', '.join(MODES))}")
    lacking = [column for column in NEEDED[mode] if not number(row, column, 0.0, least=0.0) > 0]
    if lacking:
        raise InvalidInput(f"{', '.join(lacking)}: missing, and mode {mode} needs it")
    model, part = run_model(text(row, "model")), find_accelerator(text(row, "accelerator"))
    decode, prefill = _pools(row, mode)
    replicas = (degree(row, "d_workers"), degree(row, "p_workers"))
    said = decode.accelerators * replicas[0] + prefill.accelerators * replicas[1] * (mode == "disagg")
    accelerators = degree(row, "n_acc") if text(row, "n_acc") else said
    if mode != "disagg":
        replicas = (max(1, accelerators // decode.accelerators),) * 2
    drafted = row.get("spec_decode", "").strip() or "no"
    share = 0.9 if "0.8..1.0" in text(row, "len_note") else 1.0  # InferenceX draws lengths from 0.8 to 1
    return ServedRun(
        table_row,
        mode,
        ServedStack(model, part, _settings(row, part), drafted, decode),
        accelerators,
        prefill,
        *replicas,
        number(row, "isl", least=0.0) * share,
        number(row, "osl", 1.0, least=0.0) * share,
        number(row, "concurrency", least=0.0),
        _measured(table_row, accelerators),
        number(row, "queue_limited", 0.0, least=0.0) > 0,
        number(row, "kv_bytes", least=0.0),
    )


def _pools(row: Row, mode: str) -> tuple[Parallelism, Parallelism]:
    if mode == "disagg":
        return _split(row, "d_tp", "d_ep", "d_dp"), _split(row, "p_tp", "p_ep", "p_dp")
    if not text(row, "tp"):
        raise InvalidInput("tp: missing, so that nobody knows how the model is split")
    one = _split(row, "tp", "ep", "attn_dp")
    if "enable_attention_dp" in text(row, "note") and one.attention_data == 1:
        one = Parallelism(1, one.pipeline, one.tensor, one.tensor)
    return one, one


def _split(row: Row, tensor: str, expert: str, data: str) -> Parallelism:
    copies, pipeline = degree(row, data), degree(row, "pp") if tensor == "tp" else 1
    shared = degree(row, tensor)
    stage = shared * copies
    spread = min(degree(row, expert), stage)
    if copies > 1:
        spread = stage  # where attention is copied, experts are spread over all copies, whatever a table says
    return Parallelism(shared, pipeline, spread, copies)


def _settings(row: Row, accelerator: Accelerator) -> EngineSettings:
    weights = text(row, "weight_dtype") or "bf16"
    if weights not in WEIGHT_FORMATS:
        raise InvalidInput(f"weight_dtype {weights}: expected one of {', '.join(WEIGHT_FORMATS)}")
    cache = text(row, "kv_dtype") or usual_cache_format(text(row, "engine"), weights, accelerator)
    if cache not in CACHE_FORMATS:
        raise InvalidInput(f"kv_dtype {cache}: expected one of {', '.join(CACHE_FORMATS)}")
    engine, version = text(row, "engine"), text(row, "engine_version")
    return EngineSettings(weights, cache, memory_share=MEMORY_SHARE, engine=engine, version=version)


def usual_cache_format(engine: str, weights: str, accelerator: Accelerator) -> str:
    """Return the format of caches if a table has none.

    Beside weights in fp8 or fp4, TensorRT-LLM takes fp8, and so do the scripts of InferenceX for vLLM, and for SGLang
    on Blackwell.
    """
    name, blackwell = engine.lower(), accelerator.architecture.startswith("Blackwell")
    takes = "trt" in name or "tensorrt" in name or "vllm" in name or ("sglang" in name and blackwell)
    return "fp8" if weights in ("fp8", "fp4") and takes else "bf16"


def _measured(table_row: TableRow, accelerators: int) -> dict[str, float]:
    row = table_row.cells
    found = {name: number(row, column, least=0.0) / 1e3 for name, column in MEASURED.items()}
    for name, (whole, each) in RATES.items():
        rate = number(row, whole, least=0.0) if whole else math.nan
        found[name] = number(row, each, least=0.0) * accelerators if math.isnan(rate) else rate
    if table_row.dataset == "trtllm061":  # what its heading calls the rate of all is that of one on the A100
        found["throughput"] = number(row, "out_tok_s_per_acc", least=0.0) * accelerators
    return {name: value for name, value in found.items() if not math.isnan(value)}
