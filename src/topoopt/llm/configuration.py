"""The noun Configuration: how a transformer is split over accelerators, and how its batch is cut."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput, check_known

RECOMPUTATIONS = ("none", "selective", "full")
"""Which activations are computed again in the backward pass: none, those of the attention's core, all of a layer."""

LARGEST_COUNT = 10**9
"""Of every degree, of sequences and of tokens: products of them stay whole numbers that a machine can hold."""

ZERO_STAGES = (0, 1, 2, 3)
"""What data-parallel replicas share out (Rajbhandari 2020): nothing; optimizer state; gradients; parameters."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way of training a transformer on ``tp·cp·dp·pp`` accelerators.

    Ranks are in the order tp, cp, ep, dp, pp, the first changing fastest. The expert group lies inside the
    tp·cp·dp ranks of a stage: ``etp·ep`` divides ``tp·cp·dp``.

    Attributes
    ----------
    tp, pp, dp, cp, ep : int
        Tensor, pipeline, data, context and expert parallel degrees.
    etp : int
        Tensor parallel degree inside an expert; 1 keeps each expert whole, ``tp`` cuts it like the rest.
    vpp : int
        Virtual pipeline stages (model chunks) of a rank; above 1 the schedule is interleaved 1F1B.
    micro_batch, global_batch : int
        Sequences in a micro-batch of one replica; sequences of an iteration over all replicas.
    sequence : int
        Tokens of a sequence.
    recompute : str
        One of :data:`RECOMPUTATIONS`.
    zero : int
        One of :data:`ZERO_STAGES`.
    sequence_parallel : bool
        Norms and dropouts split along the sequence over the tp ranks (Korthikanti 2022).
    precision : str
        ``fp16``, ``bf16``, ``fp8`` or ``fp32``.
    """

    tp: int
    pp: int
    dp: int
    global_batch: int
    sequence: int
    cp: int = 1
    ep: int = 1
    etp: int = 1
    vpp: int = 1
    micro_batch: int = 1
    recompute: str = "none"
    zero: int = 0
    sequence_parallel: bool = False
    precision: str = "bf16"

    def __post_init__(self) -> None:
        for key in ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch", "global_batch", "sequence"):
            value = getattr(self, key)
            if value < 1:
                raise InvalidInput(f"{key}: expected an integer >= 1, got {value}")
            if value > LARGEST_COUNT:
                raise InvalidInput(f"{key}: expected an integer <= {LARGEST_COUNT}, got {value}")
        check_known("recompute", self.recompute, RECOMPUTATIONS)
        check_known("zero", str(int(self.zero)), map(str, ZERO_STAGES))

    @property
    def accelerators(self) -> int:
        """Accelerators that the configuration takes."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a replica in one iteration."""
        return self.global_batch // (self.dp * self.micro_batch)

    @property
    def expert_dp(self) -> int:
        """Replicas of an expert."""
        return self.tp * self.cp * self.dp // (self.ep * self.etp)
