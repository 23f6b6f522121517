"""The noun Case: what all step times follow from, and what one accelerator has of a micro-batch."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.hardware import PRECISIONS
from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.columns import Floats
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.step_time.collective_time import Links
from topoopt.llm.step_time.machine import Machine, machine_of
from topoopt.llm.step_time.shapes import Shapes, shapes_of
from topoopt.llm.system import System
from topoopt.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class Work:
    """What one accelerator has of one micro-batch, as columns.

    Attributes
    ----------
    tokens : array
        Of one micro-batch in one context parallel rank.
    keys : array
        Tokens of a whole sequence.
    tp, local_tp : array
        Tensor parallel degree; that by which norms and dropouts are split (``tp`` with sequence parallelism).
    ep, etp : array
    fused : array
        1 where the attention's core is fused.
    attention : array
        Share of the peak rate that the attention's core reaches.
    peak_flops, usual_flops : array
        Of the linear layers' precision; of 16 bits.
    """

    tokens: Floats
    keys: Floats
    tp: Floats
    local_tp: Floats
    ep: Floats
    etp: Floats
    fused: Floats
    attention: Floats
    peak_flops: Floats
    usual_flops: Floats


@dataclass(frozen=True, eq=False)
class Case:
    """Configurations under a calibration, of one model and system, or of one per row."""

    shapes: Shapes
    table: ConfigurationTable
    machine: Machine
    calibration: Calibration

    @cached_property
    def links(self) -> Links:
        """Rates and latencies of collectives."""
        return Links(self.machine, self.calibration)

    @cached_property
    def batches(self) -> Floats:
        """Micro-batches of a replica; not whole where the batch does not divide."""
        return self.table.global_batch / (self.table.dp * self.table.micro_batch)

    @cached_property
    def work(self) -> Work:
        """What one accelerator has of one micro-batch."""
        table, calibration, machine = self.table, self.calibration, self.machine
        tp = table.tp.astype(np.float64)
        usual = machine.peak_flops[PRECISIONS.index("bf16")]
        rows = () if machine.peak_flops.ndim == 1 else (np.arange(len(table)),)
        peak = machine.peak_flops[(table.precision, *rows)]
        peak = np.where(peak > usual, usual + calibration.low_precision_gain * (peak - usual), peak)
        slower = np.where(table.zero == 3, calibration.sharded_attention, 1.0)
        return Work(
            tokens=table.micro_batch * table.sequence / table.cp,
            keys=table.sequence.astype(np.float64),
            tp=tp,
            local_tp=np.where(table.sequence_parallel > 0, tp, 1.0),
            ep=table.ep.astype(np.float64),
            etp=table.etp.astype(np.float64),
            fused=self._fused,
            attention=slower * calibration.attention_efficiency,
            peak_flops=peak,
            usual_flops=np.broadcast_to(usual, tp.shape),
        )

    @property
    def _fused(self) -> Floats:
        if (
            self.calibration.attention == "auto"
        ):  # eager in the stacks that had no ZeRO-3, fused in those that have
            return np.asarray(self.table.zero == 3, np.float64)
        return np.full(len(self.table), float(self.calibration.attention == "fused"))


def case_of(
    model: TransformerModel, table: ConfigurationTable, system: System, calibration: Calibration
) -> Case:
    """Return the case of one model and system."""
    return Case(shapes_of(model), table, machine_of(system), calibration)
