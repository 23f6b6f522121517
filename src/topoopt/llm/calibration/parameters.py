"""The noun Calibration: what is measured of an accelerator and its software, in few numbers with a meaning."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from topoopt.errors import InvalidInput, unknown_name

ATTENTIONS = ("auto", "fused", "eager")
"""How the attention's core runs: fused (FlashAttention), eager (scores in memory), or auto: fused with ZeRO-3."""


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
    "gemm_efficiency": Bounds(
        0.2, 1.0, 0.15, "share of the peak rate that a very large matrix product reaches"
    ),
    "gemm_half_depth": Bounds(
        1.0, 2000.0, 0.7, "inner dimension of a matrix product at which a half is lost"
    ),
    "gemm_half_side": Bounds(
        10.0, 8000.0, 0.5, "side of a square result of a product at which a half is lost"
    ),
    "low_precision_gain": Bounds(
        0.3, 1.0, 0.2, "share of the further gain that 8-bit and 4-bit peaks promise"
    ),
    "attention_efficiency": Bounds(
        0.03, 0.9, 0.3, "share of the peak rate that the attention's core reaches"
    ),
    "sharded_attention": Bounds(
        0.2, 2.0, 0.3, "factor on that with ZeRO-3: PyTorch's kernels, not Megatron's"
    ),
    "memory_efficiency": Bounds(
        0.1, 1.5, 0.3, "share of the memory bandwidth in norms, softmax, activations"
    ),
    "misaligned_slowdown": Bounds(1.0, 8.0, 0.4, "factor on attention whose head size is no multiple of 8"),
    "layer_launch_s": Bounds(1e-5, 5e-3, 0.5, "host time to launch one layer once"),
    "chunk_launch_s": Bounds(1e-5, 5e-2, 0.7, "host time of one micro-batch in one chunk besides its layers"),
    "group_launch": Bounds(0.0, 1.0, 0.5, "further launch time in a tensor parallel group of 8, as a share"),
    "step_overhead_s": Bounds(1e-4, 1.0, 0.7, "fixed time of one iteration: optimizer launches, logging"),
    "collective_latency_s": Bounds(1e-6, 3e-4, 0.5, "start of one collective"),
    "scale_up_efficiency": Bounds(
        0.2, 1.2, 0.25, "share of the link rate inside a server that a collective reaches"
    ),
    "network_efficiency": Bounds(0.1, 1.2, 0.35, "share of the network rate that a collective reaches"),
    "tensor_overlap": Bounds(
        0.0, 1.0, 0.3, "share of tensor parallel waits that hide, with sequence parallelism"
    ),
    "gather_overlap": Bounds(
        0.0, 1.0, 0.3, "share of ZeRO-3's communication that can hide behind computation"
    ),
    "gradient_overlap": Bounds(0.0, 1.0, 0.3, "the same of gradients and parameters with ZeRO 0 to 2"),
    "straggling": Bounds(
        0.0, 0.1, 0.02, "slowdown per doubling of the servers on a network of 50 Gb/s, as a share"
    ),
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
    attention: str = "auto"
    provenance: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, bounds in PARAMETERS.items():
            value = getattr(self, name)
            if not bounds.low <= value <= bounds.high:
                raise InvalidInput(
                    f"calibration {self.name}: {name}: must lie in {bounds.low:g}..{bounds.high:g}, got {value}"
                )
        if self.attention not in ATTENTIONS:
            raise unknown_name(f"calibration {self.name}: attention", self.attention, ATTENTIONS)

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


assert {item.name for item in fields(Calibration)} >= set(PARAMETERS)
