"""Configuration: the split of a transformer over accelerators, and of its batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from topoopt.base.errors import InvalidInput, check_known, hint, unknown_name
from topoopt.workloads.pipelined_step import ORDERS
from topoopt.workloads.transformer import ADAPTERS

RECOMPUTED_PARTS = ("core", "norms", "activation", "experts", "latent")
"""Parts of a layer that can be computed again by themselves: the attention's core (Korthikanti 2022), norms, the
activation between the feed-forward matrices, all of a layer's experts, the up-projections of latent attention
(Megatron Core's ``--recompute-modules``)."""
RECOMPUTATIONS = ("none", "selective", "full")
"""Common recomputation: nothing, the attention's core, or whole layers."""
FULL = 1 << len(RECOMPUTED_PARTS)
"""The bit of whole layers; it includes all parts."""
_EVERYTHING = 2 * FULL - 1
LARGEST_COUNT = 10**9
"""Upper limit on degrees, sequences and tokens: products of them still fit into 64-bit integers."""
ZERO_STAGES = (0, 1, 2, 3)
"""Data sharded over data-parallel replicas (Rajbhandari 2020): nothing; optimizer state; gradients; parameters."""
CONTEXTS = ("ring", "ulysses", "all-gather")
"""Exchange of keys and values between context parallel ranks: around a ring (Liu 2023), heads for tokens (Jacobs
2023), or gathered by every rank (Llama 3, section 3.3.2)."""
SCHEDULES = tuple(ORDERS)
"""Order of the passes in a pipeline: 1F1B, interleaved with several chunks; the gradients of weights fill the bubble
(ZB-H1 of Qi 2023); from both ends at once (DeepSeek-V3, section 3.2.1)."""
EXCHANGES = ("flat", "hierarchical")
"""Dispatch of tokens to their experts: a copy for each expert (an all-to-all of NCCL), or one for each server,
forwarded there to each rank that has some of them (DeepSeek-V3, section 3.2.2; Megatron Core's DeepEP and
HybridEP)."""
STORED_PRECISIONS = ("", "fp32", "bf16", "fp8", "nf4")
"""Precisions of stored or sent data; empty for the framework's default; ``nf4`` for frozen weights (QLoRA)."""
KEPT_IN = {
    "dispatch": STORED_PRECISIONS[1:4],
    "weights": STORED_PRECISIONS[1:],
    "gradients": ("fp32", "bf16"),
    "moments": STORED_PRECISIONS[1:4],
    "activation_inputs": ("bf16", "fp8"),
}
"""Valid precisions of each kind of stored or sent data, named in error messages."""
LARGEST_SPREAD = 10
COUNTS = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch", "global_batch", "sequence")
"""Fields of a configuration that are at least 1."""
COUNTS_FROM_ZERO = ("recompute_layers", "shard", "adapter_rank", "document")
SHARES = ("offload_optimizer", "offload_activations")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A training configuration of a transformer on ``tp·cp·dp·pp`` accelerators.

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
    recompute : str
        One of :data:`~topoopt.transformers.RECOMPUTATIONS`, or some of
        :data:`~topoopt.transformers.RECOMPUTED_PARTS` joined by ``+``.
    zero : int
        One of :data:`ZERO_STAGES`.
    sequence_parallel : bool
        Norms and dropouts split along the sequence over the tp ranks (Korthikanti 2022).
    precision : str
        ``fp16``, ``bf16``, ``fp8`` or ``fp32``.
    recompute_layers : int
        Layers of each chunk that ``recompute`` is about; 0 for all.
    shard : int
        Size of ZeRO's shards among the dp·cp ranks: each shard of this many holds everything (HSDP). 0 for all
        ranks.
    context : str
        One of :data:`CONTEXTS`.
    schedule : str
        One of :data:`SCHEDULES`.
    overlap_experts : bool
        Whether the all-to-alls of experts run beside the computation of another micro-batch.
    exchange : str
        One of :data:`EXCHANGES`.
    graphs : bool
        Whether the kernels of an iteration are launched as graphs (CUDA graphs), so that the host has nothing to do.
    dispatch, weights, gradients, moments, activation_inputs : str
        Names in :data:`STORED_PRECISIONS`: of tokens sent to experts, of the weights in computations, of the
        gradients in sums and reductions, of Adam's moments, and of the kept inputs of the activation between
        feed-forward matrices (DeepSeek-V3, section 3.3.3).
    offload_optimizer, offload_activations : float
        Share of them that the host's memory holds.
    adapter_rank : int
        Rank of low-rank adapters (LoRA), if only these are trained; 0 for training everything.
    adapters : str
        One of :data:`~topoopt.workloads.transformer.ADAPTERS`: which linear layers have one.
    document : int
        Tokens of an average document where several are packed into a sequence and do not see each other; 0 for one.
    document_spread : float
        Standard deviation of the length of documents over their average; 0 for all alike.
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
    recompute_layers: int = 0
    shard: int = 0
    context: str = "ring"
    schedule: str = "1f1b"
    overlap_experts: bool = False
    dispatch: str = ""
    weights: str = ""
    gradients: str = ""
    moments: str = ""
    activation_inputs: str = ""
    offload_optimizer: float = 0.0
    offload_activations: float = 0.0
    adapter_rank: int = 0
    adapters: str = ADAPTERS[0]
    document: int = 0
    document_spread: float = 0.0
    exchange: str = "hierarchical"
    graphs: bool = False

    def __post_init__(self) -> None:
        for key in COUNTS:
            _check_count(key, getattr(self, key), 1)
        for key in COUNTS_FROM_ZERO:
            _check_count(key, getattr(self, key), 0)
        for key in SHARES:
            if not 0 <= getattr(self, key) <= 1:
                raise InvalidInput(f"{key}: expected a share from 0 to 1, got {getattr(self, key)}")
        recomputation_bits(self.recompute)
        check_known("zero", str(int(self.zero)), map(str, ZERO_STAGES))
        check_known("context", self.context, CONTEXTS)
        check_known("schedule", self.schedule, SCHEDULES)
        check_known("adapters", self.adapters, ADAPTERS)
        if not 0 <= self.document_spread <= LARGEST_SPREAD:
            raise InvalidInput(
                f"document_spread: expected a number from 0 to {LARGEST_SPREAD}, got {self.document_spread}"
            )
        check_known("exchange", self.exchange, EXCHANGES)
        for key, sensible in KEPT_IN.items():
            value = getattr(self, key)
            if value not in STORED_PRECISIONS or (value == "nf4" and key != "weights"):
                raise unknown_name(key, value, sensible)

    @property
    def accelerators(self) -> int:
        """Accelerators that the configuration takes."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a replica in one iteration."""
        return self.global_batch // (self.dp * self.micro_batch)

    @property
    def ends(self) -> int:
        """Number of pipeline ends at which micro-batches enter: 2 with DualPipe."""
        return ORDERS[self.schedule].ends

    @property
    def chunk_batches(self) -> int:
        """Micro-batches of a replica that pass through one chunk."""
        return self.micro_batches // self.ends

    def stage_of(self, chunk: int) -> int:
        """Return the stage of a chunk: of those from the other end, which come second, the last stage has the first."""
        return chunk % self.pp if self.ends == 1 or chunk < self.pp else 2 * self.pp - 1 - chunk

    @property
    def unusual(self) -> dict[str, object]:
        """Rarely used fields, behind ``precision``, that differ from their defaults."""
        return unusual_fields({name: getattr(self, name) for name in _USUAL})

    @property
    def expert_dp(self) -> int:
        """Replicas of an expert."""
        return self.tp * self.cp * self.dp // (self.ep * self.etp)


_NAMES = [column.name for column in fields(Configuration)]
_USUAL = {column.name: column.default for column in fields(Configuration)[_NAMES.index("precision") + 1 :]}


def unusual_fields(configuration: Mapping[str, object]) -> dict[str, object]:
    """Return those fields behind ``precision`` that few configurations have, and this one has.

    Examples
    --------
    >>> unusual_fields({"tp": 8, "context": "ulysses", "schedule": "1f1b"})
    {'context': 'ulysses'}
    """
    return {name: value for name, value in configuration.items() if name in _USUAL and value != _USUAL[name]}


def _check_count(key: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"{key}: expected an integer >= {least}, got {value}")
    if value > LARGEST_COUNT:
        raise InvalidInput(f"{key}: expected an integer <= {LARGEST_COUNT}, got {value}")


def recomputation_bits(word: str) -> int:
    """Return the bits of ``none``, ``selective`` (the core), ``full``, or of parts joined by ``+``.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> recomputation_bits("selective"), recomputation_bits("core+norms"), recomputation_word(3)
    (1, 3, 'core+norms')
    """
    alone = {"none": 0, "selective": part_bit("core"), "full": _EVERYTHING}
    return (
        alone[word] if word in alone else bits_of_parts("recompute", word, RECOMPUTED_PARTS, RECOMPUTATIONS)
    )


def recomputation_word(bits: int) -> str:
    """Return the name for some bits; the core alone is ``selective``."""
    if bits & FULL:
        return "full"
    parts = [part for place, part in enumerate(RECOMPUTED_PARTS) if bits >> place & 1]
    return {(): "none", ("core",): "selective"}.get(tuple(parts), "+".join(parts))


def part_bit(what: str) -> int:
    """Return the bit of one of :data:`RECOMPUTED_PARTS`, of ``selective`` (the core), or of ``full``."""
    if what == "full":
        return FULL
    return 1 << RECOMPUTED_PARTS.index("core" if what == "selective" else what)


def bits_of_parts(key: str, word: str, parts: Sequence[str], alone: Sequence[str]) -> int:
    """Return the bits of parts that are joined by ``+``.

    Parameters
    ----------
    key : str
        Option name, the prefix of error messages.
    alone : sequence of str
        Names that stand for several parts, and cannot be combined; listed in error messages.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known names; for a name that cannot be combined beside others.

    Examples
    --------
    >>> bits_of_parts("unfused", "norms+activation", ("norms", "rotary", "activation"), ("all",))
    5
    """
    written = word.split("+")
    for part in written:
        if part not in parts:
            raise _unknown(key, word, part, parts, alone)
    return sum(1 << parts.index(part) for part in dict.fromkeys(written))


def _unknown(key: str, word: str, part: str, parts: Sequence[str], alone: Sequence[str]) -> InvalidInput:
    place = key if word == part else f"{key} {word}"
    if part in alone:
        return InvalidInput(
            f'{place}: "{part}" stands alone; parts that may be joined by +: {", ".join(parts)}'
        )
    known = hint(part, (*alone, *parts) if word == part else parts)
    rest = "" if word == part else f"; {', '.join(alone)} stand alone"
    return InvalidInput(f'{place}: unknown name "{part}"; {known}{rest}')
