"""Published or measured training runs: a CSV in, models, configurations, systems and times out.

Options that few runs vary have a column each, with the words that frameworks use for them.

A run trains all weights, or low-rank adapters of the rank given by its row or its framework.

Where a row has LoRA and no rank, it is that of its source. NVIDIA's performance recipes of Megatron Bridge have rank
16 on the projections to queries, keys and values alone (``perf_recipes/llama``: ``target_modules = ["linear_qkv"]`` on
``llama3_70b_peft_config``, whose ``dim`` is 16); MLPerf's llama2_70b_lora has rank 16 on attention; Hugging Face's
PEFT has rank 8, there, too.

Options that rows of published runs omit are those of the recipe.

NVIDIA's page of Megatron Bridge names a container for each row; the recipes of that container say whether all-to-alls
of experts overlap, and whether whole iterations are launched as graphs. ``data/run_recipes.csv`` has them with sources.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.measurements.run_table import (
    SIZED,
    MeasuredRuns,
    Row,
    RunColumns,
    TableRow,
    degree,
    number,
    read_run_table,
    text,
    whole,
)
from topoopt.measurements.training.cells import (
    WORDS,
    is_hybrid_shard,
    meaning,
    out_of_memory,
    precision,
    recomputation,
    switched_on,
    with_cells,
    zero_stage,
)
from topoopt.measurements.training.run_cells import measured_bytes, measured_s, run_model
from topoopt.measurements.training.software_stack import (
    run_framework,
    written_attention,
    written_gathers,
    written_unfused,
)
from topoopt.schema.files import packaged_rows
from topoopt.transformers import (
    LARGEST_SERVER,
    Configuration,
    System,
    accelerators_of_a_server,
    check_configuration,
    configuration_table,
    peak_rates,
    shared_by,
    sixteen_bit_flops,
    written_accelerator,
)
from topoopt.workloads.transformer import TransformerModel

VERSION = r"(\d\d)\.(\d\d)(?:\.(\d\d))? NeMo"
"""Version of a container, in a row's note."""
STACKS = {"megatron-bridge": r"megatron[-_ ]bridge"}
"""Names of a stack in the framework, data set or source of a row."""
RECIPE_PLACES = ("framework", "dataset", "source")
_RECIPES = packaged_rows("measurements.training", "run_recipes")
ADAPTED = r"\bq?(lora|peft|dora)\b|adapter"
WHOLE = r"\b(sft|full|fft|pre-?train\w*|fine-?tun\w*|cpt|none)\b"
"""Values of a column about the task: adapters, or all weights."""
PLACES = ("framework", "source", "dataset", "note")


def _word(row: Row, column: str) -> str:
    plain = re.sub(r"[-_\s]+", "-", text(row, column).lower())
    if plain not in WORDS[column]:
        known = ", ".join(dict.fromkeys(meaning for meaning in WORDS[column].values() if meaning))
        raise InvalidInput(f'{column}: expected one of {known}, got "{text(row, column)}"')
    return WORDS[column][plain]


def _count(row: Row, column: str) -> int:
    return 0 if text(row, column) in ("0", "0.0") else whole(row, column)


def _mean(row: Row, column: str) -> int:
    """Return the whole number next to a mean; ``2k`` is 2,048."""
    return whole(row, column) if SIZED.fullmatch(text(row, column)) else round(number(row, column))


def _share(row: Row, column: str) -> float:
    """Return a share: 0.5, 50%, or all or nothing by yes or no."""
    cell = text(row, column).lower()
    if cell in WORDS["switch"]:
        return float(WORDS["switch"][cell] == "yes")
    return number({column: cell[:-1]}, column) / 100 if cell.endswith("%") else number(row, column)


_READ: Mapping[str, Callable[[Row, str], Any]] = {
    "recompute_layers": _count,
    "shard": _count,
    "context": _word,
    "schedule": _word,
    "overlap_experts": switched_on,
    "graphs": switched_on,
    "exchange": _word,
    "dispatch": _word,
    "weights": _word,
    "gradients": _word,
    "moments": _word,
    "activation_inputs": _word,
    "offload_optimizer": _share,
    "offload_activations": _share,
    "adapter_rank": _count,
    "adapters": _word,
    "document": _mean,
    "document_spread": number,
}
COLUMNS = RunColumns(
    "measurements.training",
    ("gpus", "gpu", "gbs"),
    {"gpus": ("nodes",), "gbs": ("gbs_tokens", "grad_accum", "local_batch")},
)
NETWORK_BANDWIDTH_BPS = 100e9
"""Value per accelerator, where neither the row nor the catalogue has one."""
SCALE_UP_BANDWIDTH_BPS = 400e9
"""Default bandwidth inside a server: one link of AMD's xGMI, 50 GB/s."""
IDLE_AT_1 = {"pp": ("schedule",), "ep": ("dispatch", "overlap_experts", "exchange"), "cp": ("context",)}
"""Columns of methods, and the degree above 1 of which each needs."""
SLOWEST_GBPS, FASTEST_GBPS = 1e-3, 1e6
"""Range of link rates; rates beyond it count as typing errors."""


@dataclass(frozen=True, slots=True)
class Run:
    """One training run that can be modelled.

    Attributes
    ----------
    row : TableRow
    measured_s : float
        Time of an iteration; NaN where none was published, or where the run was out of memory.
    attention : str
        Attention kernel: ``fused``, ``eager``, or the name of a fused kernel
        (:data:`~topoopt.transformers.ATTENTIONS_OF_RUNS`); empty where the row does not give it, and the
        calibration decides.
    time_from : str
        The column that the time comes from: as given, or from tokens, a rate or a share of the peak.
    peak_memory_bytes : float
        Measured on an accelerator; 0 where none was published.
    unfused, gathers : str
        Parts of a layer that ran operation by operation, and how ZeRO-3 gathered; nothing as above.
    """

    row: TableRow
    model: TransformerModel
    configuration: Configuration
    system: System
    measured_s: float
    out_of_memory: bool
    attention: str = ""
    time_from: str = ""
    peak_memory_bytes: float = 0.0
    unfused: str = ""
    gathers: str = ""


Runs = MeasuredRuns[Run]


def timed(runs: Runs) -> tuple[Run, ...]:
    """Return the runs with a measured time."""
    return tuple(run for run in runs.runs if not math.isnan(run.measured_s))


def read_runs(path: str | Path) -> Runs:
    """Return the runs of a CSV file in the schema of ``benchmarks/data/train_runs.csv``.

    Empty cells: tp, pp, cp, ep, vpp and mbs are 1, dp is the rest of the accelerators, recompute is none (in the
    memory, the least with which the run fits), zero 0, sequence parallelism is on where tp is above 1, the network
    and the servers are those of the catalogue. Missing shapes come from the zoo by the model's name.

    Raises
    ------
    InvalidInput
        If the file is not such a table. A row that cannot be modelled is no error; it is listed with the reason.
    """
    return read_run_table(path, COLUMNS).read(run_of)


def run_of(table_row: TableRow) -> Run:
    """Return the run of a row.

    Raises
    ------
    InvalidInput
        If it cannot be modelled.
    """
    row = with_cells(table_row.cells)
    framework = run_framework(row)  # whose name is looked up before anything is predicted
    model = run_model(row)
    accelerators = whole(row, "gpus")
    system = run_system(row, accelerators)
    written = configuration_table([_configuration(row, model, accelerators, system)])
    configuration = shared_by(written, framework).row(0)
    oom = out_of_memory(row)
    seconds, column = (math.nan, "") if oom else measured_s(row, model, configuration, system)
    how = (
        written_attention(row),
        column,
        0.0 if oom else measured_bytes(row),
        written_unfused(row),
        written_gathers(row),
    )
    return Run(table_row, model, configuration, system, seconds, oom, *how)


def run_system(row: Row, accelerators: int) -> System:
    """Return the hardware of a row, completed from the catalogue."""
    part = find_accelerator(written_accelerator(text(row, "gpu")))
    sixteen_bit_flops(part.name)
    domain = accelerators_of_a_server(part, accelerators) if part.scale_up_domain else 8
    per_server = whole(row, "gpus_per_node", domain)
    if (
        per_server <= LARGEST_SERVER < domain
    ):  # hosts are joined; more accelerators than a host has are a slice
        per_server = domain
    network_bps = _rate_bps(row, "nic_gbps_per_gpu")
    if math.isnan(network_bps):
        network_bps = part.nic_bandwidth_bps or NETWORK_BANDWIDTH_BPS
    scale_up_bps = _rate_bps(row, "scale_up_gbps_per_gpu")
    if math.isnan(scale_up_bps):
        scale_up_bps = part.scale_up_bandwidth_bps or max(SCALE_UP_BANDWIDTH_BPS, network_bps)
    return System(part.name, min(per_server, accelerators), scale_up_bps, network_bps)


def _rate_bps(row: Row, column: str) -> float:
    rate = number(row, column)
    if not math.isnan(rate) and not SLOWEST_GBPS <= rate <= FASTEST_GBPS:
        raise InvalidInput(f"{column}: expected {SLOWEST_GBPS:g}..{FASTEST_GBPS:g} Gb/s, got {rate:g}")
    return rate * 1e9


def _configuration(row: Row, model: TransformerModel, accelerators: int, system: System) -> Configuration:
    degrees: dict[str, Any] = {key: degree(row, key) for key in ("tp", "pp", "vpp", "cp", "ep")}
    etp = degrees["tp"]
    if model.experts is not None:
        etp = whole(row, "etp", 1 if degrees["ep"] > 1 else degrees["tp"])
    inside = degrees["tp"] * degrees["pp"] * degrees["cp"]
    if accelerators % inside:
        raise InvalidInput(f"tp·pp·cp = {inside} does not divide {accelerators} accelerators")
    dp = whole(row, "dp", accelerators // inside)
    if dp * inside != accelerators:
        raise InvalidInput(f"tp·pp·cp·dp = {dp * inside}, but the run has {accelerators} accelerators")
    if (degrees["tp"] * degrees["cp"] * dp) % (degrees["ep"] * etp):
        raise InvalidInput(
            f"ep·etp = {degrees['ep'] * etp} does not divide tp·cp·dp = {accelerators // degrees['pp']}"
        )
    sequence = whole(row, "seq", model.sequence)
    # the sequences of the batch; of so many tokens (`4M tokens`), as many as go round the replicas
    tokens = re.fullmatch(r"(.*?)\s*tok(?:en)?s?", text(row, "gbs"), re.IGNORECASE)
    written = tokens[1] if tokens else text(row, "gbs_tokens")
    if not written or (text(row, "gbs") and not tokens):
        batch = whole(row, "gbs")
    else:
        batch = max(round(whole({"gbs": written}, "gbs") / sequence / dp), 1) * dp
    if batch < dp:
        raise InvalidInput(f"gbs: {batch} sequences do not go round {dp} replicas")
    # the words of a row without those that a degree of 1 leaves nothing to do: a column is of all rows
    rare = rare_fields(row, degrees["tp"], system)
    idle = {name for degree, names in IDLE_AT_1.items() if degrees[degree] == 1 for name in names}
    with_effect = {name: value for name, value in rare.items() if name not in idle}
    configuration = Configuration(
        **degrees,
        etp=etp,
        dp=dp,
        global_batch=batch,
        sequence=sequence,
        micro_batch=whole(row, "mbs", 1),
        recompute=recomputation(row),
        zero=zero_stage(row),
        sequence_parallel=switched_on(row, "seq_parallel", True) and degrees["tp"] > 1,
        precision=precision(row) or _likely_precision(row, system),
        **recipe_fields(row, degrees["pp"], degrees["vpp"], degrees["ep"]) | with_effect,
    )
    check_configuration(model, configuration, accelerators, uneven_stages=True)
    return configuration


def _likely_precision(row: Row, system: System) -> str:
    """Return 16 bits, or 8 where the row's own rate is out of reach of those."""
    peaks = peak_rates(system.accelerator)
    usual = sixteen_bit_flops(system.accelerator)
    if "fp8" in peaks and number(row, "tflops_per_gpu", 0.0) * 1e12 > 0.7 * usual:
        return "fp8"
    return "bf16" if "bf16" in peaks else "fp16"


def rare_fields(row: Row, tp: int, system: System) -> dict[str, Any]:
    """Return the fields of a configuration that a row gives besides its degrees.

    Hybrid sharding without a number shares out within servers, as PyTorch's HYBRID_SHARD does.

    Raises
    ------
    InvalidInput
        For a word or number that a column cannot have.
    """
    fields = {name: read(row, name) for name, read in _READ.items() if text(row, name)} | adapter_fields(row)
    if is_hybrid_shard(row):
        fields.setdefault("shard", max(system.accelerators_per_server // tp, 1))
    return fields


def adapter_fields(row: Row) -> dict[str, Any]:
    """Return the rank and the place of adapters that a row leaves to its framework; nothing where all is trained."""
    column = text(row, "lora").lower()
    if column.isdecimal() and int(column) > 1:
        return {"adapter_rank": int(column)}
    if (
        column
        and not re.search(ADAPTED, column)
        and (re.search(WHOLE, column) or not switched_on(row, "lora", True))
    ):
        return {"adapter_rank": 0}
    said = f"{text(row, 'model')} {text(row, 'note')}".lower()
    if not (column or re.search(r"\bq?lora\b", said)) or text(row, "adapter_rank"):
        return {}
    words = " ".join(text(row, place) for place in PLACES).lower()
    rank, adapters = (meaning("lora", words) or meaning("lora", "peft")).split()
    return {"adapter_rank": int(rank), "adapters": adapters}


def recipe_fields(row: Row, pp: int, vpp: int, ep: int) -> dict[str, Any]:
    """Return the fields of a configuration in the recipe of a row; nothing where it has none.

    Without chunks of their own, stages have nothing for all-to-alls to overlap with, whatever a recipe asks for.
    """
    found = re.search(VERSION, text(row, "note"))
    if found is None or ep == 1:
        return {}
    version = _version(found.groups())
    said = " ".join(text(row, place) for place in RECIPE_PLACES).lower()
    for recipe in _RECIPES:
        since = _version(recipe["since"].split("."))
        if version >= since and re.search(STACKS[recipe["stack"]], said) and _is_of(recipe, row):
            overlaps = recipe["overlap_experts"] == "1" and (pp == 1 or vpp > 1)
            return {"overlap_experts": overlaps, "graphs": recipe["graphs"] == "1"}
    return {}


def _is_of(recipe: Row, row: Row) -> bool:
    return all(
        re.search(
            rf"\b(?:{recipe[column]})" if column == "gpu" else recipe[column], text(row, column).lower()
        )
        for column in ("model", "gpu", "precision")
    )


def _version(parts: Any) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in (*parts, None, None)[:3])
