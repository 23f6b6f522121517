"""The noun Calibration: what is measured of an accelerator and its software, in few numbers with a meaning."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from topoopt.base.errors import InvalidInput, check_known
from topoopt.schema.files import packaged_rows
from topoopt.transformers.software import GATHERS, unfused_bits

ATTENTIONS = ("auto", "fused", "eager")
"""How the attention's core runs: fused (FlashAttention), eager (scores in memory), or auto: fused with ZeRO-3."""

ATTENTIONS_OF_RUNS = (*ATTENTIONS, "flash1", "flash2", "cudnn")
"""Of a run that says which fused kernel: FlashAttention 1 or 2, or the newest of its accelerator (cuDNN's in
Transformer Engine, FlashAttention 3). Where it does not, it is PyTorch's with ZeRO-3, which is the second, and
Megatron's else."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a parameter may lie, how far it strays between clusters (in natural logarithms), and its meaning."""

    low: float
    high: float
    spread: float
    meaning: str

    @property
    def is_share(self) -> bool:
        """Whether the parameter may be 0: it is looked for on a linear scale, with a spread in its own unit."""
        return self.low == 0


PARAMETERS: Mapping[str, Bounds] = {
    row["name"]: Bounds(float(row["low"]), float(row["high"]), float(row["spread"]), row["meaning"])
    for row in packaged_rows("transformers", "calibration_parameters")
}
"""The parameters with their bounds."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How fast one kind of accelerator runs transformers; see :data:`PARAMETERS` for the meaning of each number.

    Attributes
    ----------
    name : str
    accelerator : str
        A name of the catalogue.
    attention : str
        One of :data:`ATTENTIONS`.
    unfused : str
        ``none``, ``all``, or some of :data:`~topoopt.transformers.UNFUSED_PARTS` joined by ``+``.
    gathers : str
        One of :data:`~topoopt.transformers.GATHERS`.
    provenance : mapping of text to text
        Rows used, errors, the command that made it.
    """

    name: str
    accelerator: str
    gemm_efficiency: float
    gemm_half_depth: float
    gemm_half_side: float
    low_precision_gain: float
    attention_efficiency: float
    fused_attention: float
    sharded_attention: float
    memory_efficiency: float
    misaligned_slowdown: float
    layer_launch_s: float
    chunk_launch_s: float
    group_launch: float
    step_overhead_s: float
    collective_latency_s: float
    scale_up_efficiency: float
    network_efficiency: float
    tensor_overlap: float
    gather_overlap: float
    gradient_overlap: float
    straggling: float
    slow_straggling: float
    expert_launch: float = 3.0
    exchange_efficiency: float = 0.88
    attention: str = "auto"
    unfused: str = "none"
    gathers: str = "ahead"
    provenance: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, bounds in PARAMETERS.items():
            value = getattr(self, name)
            if not bounds.low <= value <= bounds.high:
                raise InvalidInput(
                    f"calibration {self.name}: {name}: must lie in {bounds.low:g}..{bounds.high:g}, got {value}"
                )
        check_known(f"calibration {self.name}: attention", self.attention, ATTENTIONS)
        check_known(f"calibration {self.name}: gathers", self.gathers, GATHERS)
        unfused_bits(self.unfused)

    def parameters(self) -> dict[str, float]:
        """Return the fitted numbers by name."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def with_parameters(self, values: Mapping[str, float]) -> "Calibration":
        """Return a calibration with other numbers."""
        return replace(self, **values)  # type: ignore[arg-type]

    def with_one_attention(self, attention: str | None = None) -> "Calibration":
        """Return a calibration that runs attention alike in every configuration: as given, or fused where it is auto.

        ``auto`` is a rule for the runs that were fitted. Among configurations it would favor ZeRO-3, whose runs had
        FlashAttention, over others, whose runs were older.
        """
        usual = "fused" if self.attention == "auto" else self.attention
        return replace(self, attention=attention or usual)

    def with_unfused(self, word: str) -> "Calibration":
        """Return a calibration with what a framework does whole or one by one; as it is where the word is empty."""
        return replace(self, unfused=word) if word else self


assert {item.name for item in fields(Calibration)} >= set(PARAMETERS)
