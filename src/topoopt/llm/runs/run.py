"""Published or measured training runs: a CSV in, models, configurations, systems and times out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.errors import InvalidInput, TopoOptError
from topoopt.hardware import find_accelerator
from topoopt.llm.calibration.relatives import peak_rates, written_accelerator
from topoopt.llm.configuration import Configuration
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.runs.columns import (
    Row,
    degree,
    number,
    out_of_memory,
    precision,
    recomputation,
    switched_on,
    text,
    whole,
    zero_stage,
)
from topoopt.llm.runs.model import run_model
from topoopt.llm.runs.table import column_of, read_run_table
from topoopt.llm.step_time.closed_form import model_flops
from topoopt.llm.step_time.machine import sixteen_bit_flops
from topoopt.llm.step_time.shapes import shapes_of
from topoopt.llm.system import System, accelerators_of_a_server
from topoopt.transformer import TransformerModel

NETWORK_BANDWIDTH_BPS = 100e9
"""Per accelerator, where neither the row nor the catalogue knows."""

SCALE_UP_BANDWIDTH_BPS = 400e9
"""The same inside a server: one link of AMD's xGMI, 50 GB/s, stands for links of unknown rate."""

LARGEST_SERVER = 16
"""Accelerators; scale-up links that join more (NVL72, TPU pods) join hosts, whatever a table calls a node."""


@dataclass(frozen=True, slots=True)
class Run:
    """One training run that can be modelled.

    Attributes
    ----------
    place : int
        Row of the table, from 0.
    measured_s : float
        Time of an iteration; NaN where none was published, or where the run was out of memory.
    """

    place: int
    name: str
    dataset: str
    model: TransformerModel
    configuration: Configuration
    system: System
    measured_s: float
    out_of_memory: bool


@dataclass(frozen=True, slots=True)
class NotModelled:
    """A row that cannot be modelled, and why."""

    place: int
    name: str
    dataset: str
    reason: str


@dataclass(frozen=True)
class Runs:
    """A table of runs: its rows as written, those that can be modelled, and the others."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    modelled: tuple[Run, ...]
    not_modelled: tuple[NotModelled, ...]

    @property
    def timed(self) -> tuple[Run, ...]:
        """Runs with a measured time."""
        return tuple(run for run in self.modelled if not math.isnan(run.measured_s))

    @property
    def unknown_columns(self) -> tuple[str, ...]:
        """Headings that nothing is read from."""
        return tuple(column for column in self.columns if not column_of(column))


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
    return runs_of(*read_run_table(path))


def runs_of(columns: Sequence[str], rows: Sequence[Row]) -> Runs:
    """Return the runs of rows that are already read."""
    modelled, others = [], []
    for place, row in enumerate(rows):
        name, dataset = text(row, "id") or f"row {place + 1}", text(row, "dataset") or "runs"
        try:
            modelled.append(_run(place, name, dataset, row))
        except TopoOptError as error:
            others.append(NotModelled(place, name, dataset, str(error)))
    return Runs(tuple(columns), tuple(rows), tuple(modelled), tuple(others))


def _run(place: int, name: str, dataset: str, row: Row) -> Run:
    if "lora" in f"{text(row, 'model')} {text(row, 'note')}".lower():
        raise InvalidInput("low-rank adapters: most weights have no gradients, which is not modelled")
    model = run_model(row)
    accelerators = whole(row, "gpus")
    system = run_system(row, accelerators)
    configuration = _configuration(row, model, accelerators, system)
    oom = out_of_memory(row)
    measured_s = math.nan if oom else _measured_s(row, configuration)
    if not math.isnan(measured_s):
        _check_rate(model, configuration, system, measured_s)
    return Run(place, name, dataset, model, configuration, system, measured_s, oom)


def run_system(row: Row, accelerators: int) -> System:
    """Return the machines of a row, completed from the catalogue."""
    part = find_accelerator(written_accelerator(text(row, "gpu")))
    sixteen_bit_flops(part.name)
    domain = accelerators_of_a_server(part) if part.scale_up_domain else 8
    per_server = whole(row, "gpus_per_node", domain)
    if domain > LARGEST_SERVER:
        per_server = max(per_server, domain)
    network_bps = number(row, "nic_gbps_per_gpu") * 1e9
    if math.isnan(network_bps):
        network_bps = part.nic_bandwidth_bps or NETWORK_BANDWIDTH_BPS
    scale_up_bps = part.scale_up_bandwidth_bps or max(SCALE_UP_BANDWIDTH_BPS, network_bps)
    return System(part.name, min(per_server, accelerators), scale_up_bps, network_bps)


def _configuration(row: Row, model: TransformerModel, accelerators: int, system: System) -> Configuration:
    degrees: dict[str, Any] = {key: degree(row, key) for key in ("tp", "pp", "vpp", "cp", "ep")}
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
    if degrees["pp"] * degrees["vpp"] > model.layers + 2:  # embedding and logits may be counted as layers
        raise InvalidInput(
            f"pp·vpp = {degrees['pp'] * degrees['vpp']} is more than the {model.layers} layers"
        )
    batch = whole(row, "gbs")
    if batch < dp:
        raise InvalidInput(f"gbs: {batch} sequences do not go round {dp} replicas")
    sequence = whole(row, "seq", model.sequence)
    return Configuration(
        **degrees,
        etp=etp,
        dp=dp,
        global_batch=batch,
        sequence=sequence,
        micro_batch=whole(row, "mbs", 1),
        recompute=recomputation(row),
        zero=zero_stage(row),
        sequence_parallel=switched_on(row, "seq_parallel", degrees["tp"] > 1),
        precision=precision(row) or _likely_precision(row, system),
    )


def _likely_precision(row: Row, system: System) -> str:
    """Return 16 bits, or 8 where the row's own rate is out of reach of those."""
    peaks = peak_rates(system.accelerator)
    usual = sixteen_bit_flops(system.accelerator)
    if "fp8" in peaks and number(row, "tflops_per_gpu", 0.0) * 1e12 > 0.7 * usual:
        return "fp8"
    return "bf16" if "bf16" in peaks else "fp16"


def _measured_s(row: Row, configuration: Configuration) -> float:
    """Return the iteration time, from tokens per second where only those are given; NaN for neither."""
    seconds = number(row, "iter_time_s")
    tokens_per_s = number(row, "tokens_per_s_per_gpu") * configuration.accelerators
    if math.isnan(seconds) and tokens_per_s > 0:
        seconds = configuration.global_batch * configuration.sequence / tokens_per_s
    if seconds <= 0:
        raise InvalidInput(f"iter_time_s: must be positive, got {seconds:g}")
    return seconds


def _check_rate(
    model: TransformerModel, configuration: Configuration, system: System, measured_s: float
) -> None:
    """Refuse a time that the peak rate of the accelerators rules out: such a row is misprinted."""
    part = find_accelerator(system.accelerator)
    peak = max(peak_rates(system.accelerator).values())
    flops = float(model_flops(shapes_of(model), configuration_table([configuration]))[0])
    rate = flops / configuration.accelerators / measured_s
    if rate > 1.25 * peak:
        raise InvalidInput(
            f"iter_time_s: {measured_s:g} s would be {rate / 1e12:,.0f} TFLOP/s on each {part.name}, "
            f"above its peak of {peak / 1e12:,.0f}"
        )
