"""Logged capacities of KV caches (``data/kv_capacity.csv``) beside those that are predicted."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, cache_capacity
from topoopt.workloads.transformer import find_transformer

TABLE = Path(__file__).parent / "data" / "kv_capacity.csv"
BOUND = 0.10
OUTSIDE: Mapping[str, str] = {
    "llama2-70b on 4 a100-80gb, vllm 0.2.5": "its profile counted fragments and NCCL's buffers, 13 GiB of them",
    "llama3-70b on 1 h100, vllm 0.7": "context and tokens of a step are not stated; 0.98 of memory leaves 7 GiB",
}
"""Rows beyond the bound, with the reason."""


@dataclass(frozen=True, slots=True)
class LoggedCapacity:
    """A row of the table and its prediction.

    Attributes
    ----------
    name, engine : str
    measured_tokens, predicted_tokens : int
        Tokens of keys and values that a replica holds.
    """

    name: str
    engine: str
    measured_tokens: int
    predicted_tokens: int

    @property
    def error(self) -> float:
        """The predicted tokens over the logged ones, less 1."""
        return self.predicted_tokens / self.measured_tokens - 1


def logged_capacities() -> list[LoggedCapacity]:
    """Return the rows of the table, in its order."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return [_predicted(row) for row in csv.DictReader(lines)]


def _predicted(row: Mapping[str, str]) -> LoggedCapacity:
    usual = EngineSettings()
    settings = EngineSettings(
        row["weight_precision"],
        row["kv_precision"],
        memory_share=float(row["memory_share"]),
        engine=row["engine"],
        version=row["engine_version"],
        max_batch=int(row["max_seqs"] or usual.max_batch),
        token_budget=int(row["batched_tokens"] or usual.token_budget),
    )
    split = Parallelism(int(row["tensor"]), int(row["pipeline"]))
    part = find_accelerator(row["accelerator"])
    found = cache_capacity(find_transformer(row["model"]), part, split, settings)
    name = f"{row['model']} on {row['accelerators']} {row['accelerator']}, {row['engine']} {row['engine_version']}"
    return LoggedCapacity(name.strip(), row["engine"], int(row["measured_kv_tokens"]), found.tokens)


def capacity_text() -> str:
    """Return the section of the page on serving accuracy: rows and errors by engine."""
    rows = logged_capacities()
    engines = list(dict.fromkeys(row.engine for row in rows))
    listed = [_line(one, [row for row in rows if row.engine == one]) for one in engines]
    inside = _line(
        "– without the rows that are named below", [row for row in rows if row.name not in OUTSIDE]
    )
    named = [f"- {row.name}: {row.error:+.0%}; {OUTSIDE[row.name]}" for row in rows if row.name in OUTSIDE]
    return "\n".join(
        (
            "",
            "## Tokens that a replica's KV cache holds",
            "",
            f"Predicted and logged by engines at their start: {len(rows)} rows of `benchmarks/data/kv_capacity.csv`,",
            "each with its source and how it was read. Errors are absolute, in percent of the logged tokens.",
            "The rows were in sight when the constants (`src/topoopt/inference/data/engine_memory.csv`) were chosen:",
            "they say how well the formula describes these logs, not how well it predicts others. Most rows of vLLM",
            "are of one public sweep on the H100.",
            "",
            "| engine | rows | mean error | largest error |",
            "|---|---|---|---|",
            *listed,
            _line("all", rows),
            inside,
            "",
            *named,
            "",
        )
    )


def _line(name: str, rows: Sequence[LoggedCapacity]) -> str:
    errors = 100 * np.abs([row.error for row in rows])
    return f"| {name} | {len(rows)} | {errors.mean():.1f} | {errors.max():.1f} |"
