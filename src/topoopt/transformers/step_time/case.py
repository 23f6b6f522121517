"""Case: the inputs of step times, including the hardware of every column."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import PRECISIONS
from topoopt.transformers.communication.message import SUMMED_IN_32_BITS, wire_element_bytes
from topoopt.transformers.configuration_table import STORED_BYTES, Bools, ConfigurationTable, take_rows
from topoopt.transformers.expert_loads import ExpertLoads, experts_of, hottest_rank, taken_shares
from topoopt.transformers.step_time.calibration import ATTENTIONS_OF_RUNS, Calibration
from topoopt.transformers.step_time.collective_time import Links, Machine, machine_of
from topoopt.transformers.step_time.shapes import Shapes, shapes_of
from topoopt.transformers.system import GATHERS, UNFUSED_PARTS, System, unfused_bits
from topoopt.workloads.transformer import TransformerModel

_WIRE_BYTES = np.array([wire_element_bytes(name) for name in PRECISIONS], np.float64)
_SUMMED_BYTES = np.where(np.isin(PRECISIONS, SUMMED_IN_32_BITS), 4.0, _WIRE_BYTES)

FLASH_1 = 0.5
"""Rate of FlashAttention 1 over that of 2 (Dao 2023, "FlashAttention-2", abstract: about twice as fast)."""


@dataclass(frozen=True, eq=False)
class Case:
    """Configurations under a calibration, of one model and system, or of one per row.

    Attributes
    ----------
    attention : array of shape () or (configurations,)
        Place in :data:`~topoopt.transformers.ATTENTIONS_OF_RUNS` of how attention ran; ``auto`` for as the
        calibration has it.
    unfused : array of shape () or (configurations,)
        Bits of ``transformers/system.py`` of parts that run operation by operation; -1 for as the calibration
        has it.
    gathers : array of shape () or (configurations,)
        Place in :data:`~topoopt.transformers.GATHERS`; -1 for as the calibration has it.
    """

    shapes: Shapes
    table: ConfigurationTable
    machine: Machine
    calibration: Calibration
    attention: Ints = field(default_factory=lambda: np.array(ATTENTIONS_OF_RUNS.index("auto")))
    unfused: Ints = field(default_factory=lambda: np.array(-1))
    gathers: Ints = field(default_factory=lambda: np.array(-1))
    shares: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    """Share of the experts' tokens that each takes, shape (layers, experts); no layers for even ones."""
    padded: bool = False
    """Whether experts always compute their full capacity."""

    @cached_property
    def hottest(self) -> Floats:
        """Tokens of the rank of an expert group that gets most, over the even share; all others wait for it."""
        if not len(self.shares):
            return np.ones(())
        degrees = np.unique(self.table.ep)
        factors = np.array([hottest_rank(self.shares, int(degree)) for degree in degrees])
        return np.asarray(factors[np.searchsorted(degrees, self.table.ep)], np.float64)

    @cached_property
    def links(self) -> Links:
        """Rates and latencies of collectives."""
        one = self.table
        return Links(self.machine, self.calibration, one.tp * one.cp * one.dp * one.pp)

    @cached_property
    def batches(self) -> Floats:
        """Micro-batches of a replica; not whole where the batch does not divide."""
        return self.table.global_batch / (self.table.dp * self.table.micro_batch)

    @cached_property
    def tokens(self) -> Floats:
        """Tokens of one micro-batch in one context parallel rank."""
        return self.table.micro_batch * self.table.sequence / self.table.cp

    @cached_property
    def tp(self) -> Floats:
        """Tensor parallel degree."""
        return self.table.tp.astype(np.float64)

    @cached_property
    def outputs(self) -> Floats:
        """Output layers behind the last layer: one more for each further token, which a projection goes before."""
        shapes = self.shapes
        return np.asarray(1 + shapes.mtp_layers * (1 + 2 * shapes.hidden / shapes.vocabulary), np.float64)

    @cached_property
    def local_tp(self) -> Floats:
        """The degree by which norms and dropouts are split: ``tp`` with sequence parallelism."""
        return np.where(self.table.sequence_parallel > 0, self.tp, 1.0)

    @cached_property
    def replicas(self) -> Floats:
        """Ranks that hold the same dense parameters before ZeRO: ``dp·cp``, twice as many with DualPipe."""
        return np.asarray(self.copies * self.table.dp * self.table.cp, np.float64)

    @cached_property
    def copies(self) -> Floats:
        """Stages that an accelerator holds: with DualPipe its own and the mirror image."""
        return np.where(self.table.has_word("schedule", "dualpipe"), 2.0, 1.0)

    @cached_property
    def shard(self) -> Floats:
        """Replicas over which ZeRO shards: all, or the ``shard`` of hybrid sharding."""
        return np.where(self.table.shard > 0, np.minimum(self.table.shard, self.replicas), self.replicas)

    @cached_property
    def weight_bytes(self) -> Floats:
        """Bytes of a gathered weight, as ``weight_bytes`` of a message."""
        return np.where(self.table.has_word("weights", "fp8"), 1.0, _WIRE_BYTES[self.table.precision])

    @cached_property
    def gradient_bytes(self) -> Floats:
        """Bytes of a reduced gradient, as ``gradient_bytes`` of a message."""
        summed = _SUMMED_BYTES[self.table.precision]
        usual = np.where(self.table.zero < 2, summed, _WIRE_BYTES[self.table.precision])
        if not np.any(self.table.gradients > 0):
            return usual
        return np.where(self.table.gradients > 0, STORED_BYTES[self.table.gradients], usual)

    @cached_property
    def ep(self) -> Floats:
        """Expert parallel degree."""
        return self.table.ep.astype(np.float64)

    @cached_property
    def etp(self) -> Floats:
        """Tensor parallel degree inside an expert."""
        return self.table.etp.astype(np.float64)

    @cached_property
    def fused(self) -> Bools:
        """Whether the attention's core is fused."""
        own = self.calibration.attention
        # auto: eager in the stacks that had no ZeRO-3, fused in those that have
        usual = self.table.zero == 3 if own == "auto" else np.full(len(self.table), own == "fused")
        if self.attention.ndim == 0:
            return np.asarray(usual)
        unsaid = self.attention == ATTENTIONS_OF_RUNS.index("auto")
        return np.where(unsaid, usual, self.attention != ATTENTIONS_OF_RUNS.index("eager"))

    @cached_property
    def attention_efficiency(self) -> Floats:
        """Share of the peak rate that the attention's core reaches."""
        law, newer = self.calibration, self.machine.newer_kernels > 0
        kernel = np.where(self.fused, law.fused_attention, law.attention_efficiency)
        others = ~(self.gathers_by("ahead") | self.gathers_by("each")) | newer
        slow = (self.table.zero == 3) & others
        if self.attention.ndim:
            first, second, newest = (
                self.attention == ATTENTIONS_OF_RUNS.index(name) for name in ("flash1", "flash2", "cudnn")
            )
            slow = (slow | ((first | second) & newer)) & ~newest
            kernel = np.where(first, FLASH_1 * kernel, kernel)
        return np.asarray(np.where(slow, law.sharded_attention, 1.0) * kernel, np.float64)

    def take(self, rows: Ints) -> "Case":
        """Return some of the configurations."""
        ways = {name: getattr(self, name) for name in ("attention", "unfused", "gathers")}
        return replace(
            self,
            shapes=take_rows(self.shapes, rows),
            table=take_rows(self.table, rows),
            machine=take_rows(self.machine, rows) if self.machine.per_server.ndim else self.machine,
            **{name: way[rows] if way.ndim else way for name, way in ways.items()},
        )

    def runs_apart(self, part: str) -> Bools:
        """Return where one of :data:`~topoopt.transformers.UNFUSED_PARTS` runs operation by operation."""
        bits = np.where(self.unfused < 0, unfused_bits(self.calibration.unfused), self.unfused)
        return np.asarray(bits >> UNFUSED_PARTS.index(part) & 1 > 0)

    def gathers_by(self, word: str) -> Bools:
        """Return where ZeRO-3 gathers by one of :data:`~topoopt.transformers.GATHERS`."""
        own = GATHERS.index(self.calibration.gathers)
        return np.asarray(np.where(self.gathers < 0, own, self.gathers) == GATHERS.index(word))

    @cached_property
    def usual_flops(self) -> Floats:
        """Peak rate in 16 bits."""
        return np.broadcast_to(self.machine.peak_flops[PRECISIONS.index("bf16")], self.tp.shape)

    @cached_property
    def peak_flops(self) -> Floats:
        """Peak rate in the precision of the linear layers, reduced to the actual gain of low precision."""
        peaks, usual = self.machine.peak_flops, self.usual_flops
        rows = () if peaks.ndim == 1 else (np.arange(len(self.table)),)
        peak: Floats = peaks[(self.table.precision, *rows)]
        return np.where(peak > usual, usual + self.calibration.low_precision_gain * (peak - usual), peak)


def case_of(
    model: TransformerModel,
    table: ConfigurationTable,
    system: System,
    calibration: Calibration,
    loads: ExpertLoads | None = None,
) -> Case:
    """Return the case of one model and system; ``loads`` are those of the experts, even if not given."""
    even = Case(shapes_of(model), table, machine_of(system), calibration)
    if loads is None:
        return even
    experts = experts_of(model)
    return replace(even, shares=taken_shares(loads, experts), padded=experts.capacity_factor > 0)
