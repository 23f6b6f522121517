"""Published or measured training runs: a CSV in, models, configurations, systems and times out."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.measurements.cells import Row, degree, number, text, whole
from topoopt.measurements.run_table import (
    MeasuredRuns,
    RunColumns,
    TableRow,
    read_run_table,
)
from topoopt.measurements.training.cells import (
    out_of_memory,
    precision,
    recomputation,
    switched_on,
    with_cells,
    zero_stage,
)
from topoopt.measurements.training.fields import rare_fields, recipe_fields
from topoopt.measurements.training.measured_time import measured_bytes, measured_s
from topoopt.measurements.training.model import run_model
from topoopt.measurements.training.software_stack import (
    run_framework,
    written_attention,
    written_gathers,
    written_unfused,
)
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

COLUMNS = RunColumns(
    "measurements.training",
    ("gpus", "gpu", "gbs"),
    {"gpus": ("nodes",), "gbs": ("gbs_tokens", "grad_accum", "local_batch")},
)

NETWORK_BANDWIDTH_BPS = 100e9
"""Per accelerator, where neither the row nor the catalogue knows."""

SCALE_UP_BANDWIDTH_BPS = 400e9
"""The same inside a server: one link of AMD's xGMI, 50 GB/s, stands for links of unknown rate."""


IDLE_AT_1 = {"pp": ("schedule",), "ep": ("dispatch", "overlap_experts", "exchange"), "cp": ("context",)}
"""Columns that say how something is done, and the degree by which there is something to do."""

SLOWEST_GBPS, FASTEST_GBPS = 1e-3, 1e6
"""Of links; rates beyond these are slips of the keyboard."""


@dataclass(frozen=True, slots=True)
class Run:
    """One training run that can be modelled.

    Attributes
    ----------
    row : TableRow
    measured_s : float
        Time of an iteration; NaN where none was published, or where the run was out of memory.
    attention : str
        How it ran, ``fused``, ``eager``, or by which fused kernel
        (:data:`~topoopt.transformers.ATTENTIONS_OF_RUNS`); nothing
        where the row does not say, and the calibration does.
    time_from : str
        The column that the time comes from: as it stands there, or from tokens, a rate or a share of the peak.
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

    Empty cells: tp, pp, cp, ep, vpp and mbs are 1, dp is what is left of the accelerators, recompute is none, zero 0,
    sequence parallelism is on where tp is above 1, the network and the servers are those of the catalogue. Shapes that
    are missing come from the zoo by the model's name.

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
    """Return the machines of a row, completed from the catalogue."""
    part = find_accelerator(written_accelerator(text(row, "gpu")))
    sixteen_bit_flops(part.name)
    domain = accelerators_of_a_server(part, accelerators) if part.scale_up_domain else 8
    per_server = whole(row, "gpus_per_node", domain)
    if domain > LARGEST_SERVER:  # joins hosts, whatever a table calls a node
        per_server = max(per_server, domain)
    network_bps = _rate_bps(row, "nic_gbps_per_gpu")
    if math.isnan(network_bps):
        network_bps = part.nic_bandwidth_bps or NETWORK_BANDWIDTH_BPS
    scale_up_bps = _rate_bps(row, "scale_up_gbps_per_gpu")
    if math.isnan(scale_up_bps):
        scale_up_bps = part.scale_up_bandwidth_bps or max(SCALE_UP_BANDWIDTH_BPS, network_bps)
    return System(part.name, min(per_server, accelerators), scale_up_bps, network_bps)


def _rate_bps(row: Row, column: str) -> float:
    """Return the rate of a link; NaN for an empty cell."""
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
    batch = _global_batch(row, sequence, dp)
    if batch < dp:
        raise InvalidInput(f"gbs: {batch} sequences do not go round {dp} replicas")
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
        **recipe_fields(row, degrees["pp"], degrees["vpp"], degrees["ep"])
        | _with_effect(rare_fields(row, degrees["tp"], system), degrees),
    )
    check_configuration(model, configuration, accelerators, uneven_stages=True)
    return configuration


def _with_effect(rare: dict[str, Any], degrees: Mapping[str, int]) -> dict[str, Any]:
    """Return the words of a row without those that a degree of 1 leaves nothing to do: a column is of all rows."""
    idle = {name for degree, names in IDLE_AT_1.items() if degrees[degree] == 1 for name in names}
    return {name: value for name, value in rare.items() if name not in idle}


def _global_batch(row: Row, sequence: int, dp: int) -> int:
    """Return the sequences of the batch; of so many tokens (``4M tokens``), as many as go round the replicas."""
    tokens = re.fullmatch(r"(.*?)\s*tok(?:en)?s?", text(row, "gbs"), re.IGNORECASE)
    written = tokens[1] if tokens else text(row, "gbs_tokens")
    if not written or (text(row, "gbs") and not tokens):
        return whole(row, "gbs")
    return max(round(whole({"gbs": written}, "gbs") / sequence / dp), 1) * dp


def _likely_precision(row: Row, system: System) -> str:
    """Return 16 bits, or 8 where the row's own rate is out of reach of those."""
    peaks = peak_rates(system.accelerator)
    usual = sixteen_bit_flops(system.accelerator)
    if "fp8" in peaks and number(row, "tflops_per_gpu", 0.0) * 1e12 > 0.7 * usual:
        return "fp8"
    return "bf16" if "bf16" in peaks else "fp16"
