"""The noun ServedRun: one row of a table of measured runs, understood; or why it is not modelled."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from topoopt.base.errors import InvalidInput, TopoOptError, unknown_name
from topoopt.catalog import Accelerator, find_accelerator
from topoopt.inference import CACHE_FORMATS, WEIGHT_FORMATS, EngineSettings, Parallelism
from topoopt.schema.files import csv_lines, packaged_rows, read_text
from topoopt.workloads.transformer import TransformerModel, find_transformer

Row = Mapping[str, str]
NEEDED_COLUMNS = ("mode", "model", "accelerator")
"""Columns without which no row says anything."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """Rows of a table of measured runs, by the line of the file that each begins in."""

    path: str
    rows: tuple[Row, ...]
    lines: tuple[int, ...]


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
"""Of the accelerator's memory that engines take in benchmarks, whose scripts raise the usual share."""
MEASURED = {
    "ttft": "ttft_ms",
    "tpot": "tpot_ms",
    "prefill": "prefill_ms",
    "e2e": "e2e_ms",
    "kv_transfer": "kv_transfer_ms",
}
"""Times that a row may have, and their columns in milliseconds."""
RATES = {"throughput": ("out_tok_s", "out_tok_s_per_acc"), "prompt_rate": (None, "in_tok_s_per_acc")}
"""Tokens per second that a row may have: columns of all accelerators, and of one."""


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A measured run of a served model.

    Attributes
    ----------
    name, dataset, mode, engine, version : str
    accelerators : int
        In use, all pools together.
    decode, prefill : Parallelism
        Of replicas that answer and of those that read prompts; the same but in mode ``disagg``.
    decode_replicas, prefill_replicas : int
    prompt, answer : float
        Mean tokens of requests.
    clients : float
        Of the closed loop, or requests of the static batch; nan where all come at once.
    measured : mapping
        Seconds by quantity, of :data:`MEASURED`; tokens per second of all accelerators, of :data:`RATES`.
    drafted : str
        Whether tokens are drafted: ``yes``, ``no``, ``unknown``.
    queue_limited : bool
        Whether the table says that requests waited for admission.
    cache_bytes : float
        That one request moved; nan where not measured.
    """

    name: str
    dataset: str
    mode: str
    model: TransformerModel
    accelerator: Accelerator
    accelerators: int
    decode: Parallelism
    prefill: Parallelism
    decode_replicas: int
    prefill_replicas: int
    engine: str
    version: str
    settings: EngineSettings
    prompt: float
    answer: float
    clients: float
    measured: Mapping[str, float]
    drafted: str
    queue_limited: bool
    cache_bytes: float


@dataclass(frozen=True, slots=True)
class NotScored:
    """A row without a score, and why."""

    name: str
    dataset: str
    why: str


def read_runs(table: RunTable) -> tuple[tuple[ServedRun, ...], tuple[NotScored, ...]]:
    """Return the rows that are modelled, and the others with the reason."""
    runs, others = [], []
    for line, row in zip(table.lines, table.rows, strict=True):
        name = row.get("id") or f"line {line}"
        try:
            runs.append(_run(row, name))
        except TopoOptError as error:
            others.append(NotScored(name, row.get("dataset", ""), str(error)))
    return tuple(runs), tuple(others)


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


def _run(row: Row, name: str) -> ServedRun:
    mode = row["mode"]
    if mode not in MODES:
        raise InvalidInput(f"mode {mode}: {NOT_MODELLED.get(mode, 'expected one of ' + ', '.join(MODES))}")
    lacking = [column for column in NEEDED[mode] if not number(row, column, 0.0) > 0]
    if lacking:
        raise InvalidInput(f"{', '.join(lacking)}: missing, and mode {mode} needs it")
    model, part = run_model(row["model"]), find_accelerator(row["accelerator"])
    decode, prefill = _pools(row, mode)
    settings = _settings(row, part)
    replicas = (_count(row, "d_workers"), _count(row, "p_workers"))
    said = decode.accelerators * replicas[0] + prefill.accelerators * replicas[1] * (mode == "disagg")
    accelerators = _count(row, "n_acc") if row.get("n_acc") else said
    if mode != "disagg":
        replicas = (max(1, accelerators // decode.accelerators),) * 2
    return ServedRun(
        name,
        row.get("dataset", ""),
        mode,
        model,
        part,
        accelerators,
        decode,
        prefill,
        *replicas,
        row.get("engine", ""),
        row.get("engine_version", ""),
        settings,
        number(row, "isl") * _mean_share(row),
        number(row, "osl", 1.0) * _mean_share(row),
        number(row, "concurrency"),
        _measured(row, accelerators),
        row.get("spec_decode", "") or "no",
        number(row, "queue_limited", 0.0) > 0,
        number(row, "kv_bytes"),
    )


def _pools(row: Row, mode: str) -> tuple[Parallelism, Parallelism]:
    if mode == "disagg":
        return _split(row, "d_tp", "d_ep", "d_dp"), _split(row, "p_tp", "p_ep", "p_dp")
    if not row.get("tp"):
        raise InvalidInput("tp: missing, so that nobody knows how the model is split")
    one = _split(row, "tp", "ep", "attn_dp")
    if "enable_attention_dp" in row.get("note", "") and one.attention_data == 1:
        one = Parallelism(1, one.pipeline, one.tensor, one.tensor)
    return one, one


def _split(row: Row, tensor: str, expert: str, data: str) -> Parallelism:
    copies, pipeline = _count(row, data), _count(row, "pp") if tensor == "tp" else 1
    shared = _count(row, tensor)
    stage = shared * copies
    spread = min(max(_count(row, expert), 1), stage)
    if copies > 1:
        spread = stage  # where attention is copied, experts are spread over all copies, whatever a table says
    return Parallelism(shared, pipeline, spread, copies)


def _settings(row: Row, accelerator: Accelerator) -> EngineSettings:
    weights = row.get("weight_dtype", "") or "bf16"
    if weights not in WEIGHT_FORMATS:
        raise InvalidInput(f"weight_dtype {weights}: expected one of {', '.join(WEIGHT_FORMATS)}")
    cache = row.get("kv_dtype", "") or usual_cache_format(row.get("engine", ""), weights, accelerator)
    if cache not in CACHE_FORMATS:
        raise InvalidInput(f"kv_dtype {cache}: expected one of {', '.join(CACHE_FORMATS)}")
    return EngineSettings(weights, cache, memory_share=MEMORY_SHARE)


def usual_cache_format(engine: str, weights: str, accelerator: Accelerator) -> str:
    """Return the format of caches that a table does not say.

    Beside weights in fp8 or fp4, TensorRT-LLM takes fp8, and so do the scripts of InferenceX for vLLM, and for SGLang
    on Blackwell.
    """
    name, blackwell = engine.lower(), accelerator.architecture.startswith("Blackwell")
    takes = "trt" in name or "tensorrt" in name or "vllm" in name or ("sglang" in name and blackwell)
    return "fp8" if weights in ("fp8", "fp4") and takes else "bf16"


def _mean_share(row: Row) -> float:
    """Return the mean length over the one in the table: InferenceX draws from 0.8 to 1 of it."""
    return 0.9 if "0.8..1.0" in row.get("len_note", "") else 1.0


def _measured(row: Row, accelerators: int) -> dict[str, float]:
    found = {name: number(row, column) / 1e3 for name, column in MEASURED.items()}
    for name, (whole, each) in RATES.items():
        rate = number(row, whole) if whole else math.nan
        found[name] = number(row, each) * accelerators if math.isnan(rate) else rate
    if row.get("dataset") == "trtllm061":  # what its heading calls the rate of all is that of one on the A100
        found["throughput"] = number(row, "out_tok_s_per_acc") * accelerators
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _count(row: Row, column: str) -> int:
    value = number(row, column, 1.0)
    if value != int(value) or value < 0:
        raise InvalidInput(f"{column}: expected a whole number, got {value:g}")
    return max(1, int(value))


def number(row: Row, column: str, default: float = math.nan) -> float:
    """Return a number of a cell, or ``default`` for an empty one or a missing column.

    Raises
    ------
    InvalidInput
        If the cell is no finite number.
    """
    cell = row.get(column, "")
    if not cell:
        return default
    try:
        value = float(cell)
    except ValueError:
        raise InvalidInput(f'{column}: expected a number, got "{cell}"') from None
    if not math.isfinite(value) or value < 0:
        raise InvalidInput(f"{column}: expected a finite number >= 0, got {cell}")
    return value


def known_columns() -> tuple[str, ...]:
    """Return the columns that a table of runs may have."""
    return tuple(row["column"] for row in packaged_rows("measurements.serving", "run_columns"))


def read_run_table(path: str | Path) -> RunTable:
    """Return the rows of a table of measured runs; columns that are missing are empty in every row.

    Raises
    ------
    InvalidInput
        If the file is no table, has an unknown column or one twice, lacks one that is needed, or a line of it is too
        short or too long.
    """
    lines = [(number, line) for number, line in csv_lines(read_text(path), str(path), ",") if any(line)]
    if not lines:
        raise InvalidInput(
            f"{path}: is empty; expected a table of runs with columns such as {', '.join(NEEDED_COLUMNS)}"
        )
    columns = [cell.strip() for cell in lines[0][1]]
    _check_columns(columns, path)
    for number, line in lines[1:]:
        if len(line) != len(columns):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(columns)} cells as in the first line, got {len(line)}"
            )
    if len(lines) == 1:
        raise InvalidInput(f"{path}: has columns and no row")
    rows = tuple(dict(zip(columns, (cell.strip() for cell in line), strict=True)) for _, line in lines[1:])
    return RunTable(str(path), rows, tuple(number for number, _ in lines[1:]))


def _check_columns(columns: list[str], path: str | Path) -> None:
    known = known_columns()
    for place, column in enumerate(columns):
        if column not in known:
            raise InvalidInput(f"{path}: {unknown_name('column', column, known)}")
        if column in columns[:place]:
            raise InvalidInput(f"{path}: column {column}: is there twice; leave one of them out")
    for needed in NEEDED_COLUMNS:
        if needed not in columns:
            raise InvalidInput(f"{path}: not a table of served runs: there is no column {needed}")
