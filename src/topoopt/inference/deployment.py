"""The nouns Parallelism, Pool and Deployment: how a served model is split, and which accelerators do what."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known

MODES = ("prefill-first", "chunked", "disaggregated")
"""``prefill-first``: a replica stops decoding while it reads a prompt. ``chunked``: pieces of prompts ride along with
the decodes of a step. ``disaggregated``: prompts are read by one pool and answered by another."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How one replica of a model is split over accelerators.

    Attention is split ``tensor`` ways and copied ``attention_data`` times, each copy with requests of its own; the
    experts of a layer are spread over ``expert`` accelerators out of ``tensor * attention_data``, and each of them is
    split over what remains of these. Layers are split into ``pipeline`` stages.

    Attributes
    ----------
    tensor, pipeline, expert, attention_data : int
        Degrees, at least 1. ``expert`` divides ``tensor * attention_data``.
    """

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    attention_data: int = 1

    def __post_init__(self) -> None:
        for name in ("tensor", "pipeline", "expert", "attention_data"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: expected an integer >= 1, got {getattr(self, name)}")
        if self.stage_accelerators % self.expert:
            raise InvalidInput(
                f"expert {self.expert}: does not divide the {self.stage_accelerators} accelerators of a stage "
                f"(tensor {self.tensor} x attention data {self.attention_data})"
            )

    @property
    def stage_accelerators(self) -> int:
        """Accelerators that work on a layer together."""
        return self.tensor * self.attention_data

    @property
    def accelerators(self) -> int:
        """Accelerators of a replica."""
        return self.stage_accelerators * self.pipeline

    @property
    def expert_tensor(self) -> int:
        """Accelerators that share one expert, or a dense feed-forward part where there are no experts."""
        return self.stage_accelerators // self.expert


@dataclass(frozen=True, slots=True)
class Pool:
    """Replicas of one kind.

    Attributes
    ----------
    parallelism : Parallelism
    replicas : int
    max_batch : int
        Requests that a replica answers at once, at most, over all its copies of attention.
    token_budget : int
        Tokens that a step of a replica takes at most: decodes, and pieces of prompts.
    """

    parallelism: Parallelism
    replicas: int = 1
    max_batch: int = 256
    token_budget: int = 8192

    def __post_init__(self) -> None:
        for name in ("replicas", "max_batch", "token_budget"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: expected an integer >= 1, got {getattr(self, name)}")

    @property
    def accelerators(self) -> int:
        """Accelerators of all replicas."""
        return self.replicas * self.parallelism.accelerators


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What a serving engine is told, beside how the model is split.

    Attributes
    ----------
    weight_precision, kv_precision : str
        Formats of weights and of keys and values, such as ``fp8``; arithmetic is in that of the weights where the
        accelerator has it, else in bf16.
    page_tokens : int
        Tokens of a page of keys and values.
    memory_share : float
        Share of an accelerator's memory that the engine takes.
    prefix_cache : bool
        Whether keys and values of prefixes that requests have in common are kept.
    two_batch_overlap : bool
        Whether half a batch computes while the other half communicates.
    accepted_tokens : float
        Tokens that a step yields for a request on average: 1 without speculative decoding, 1 + acceptances with it.
    drafted_tokens : int
        Tokens that are proposed, and looked at in a step, for each request; 0 without speculative decoding.
    adapters, adapter_rank : int
        LoRA adapters that are held in memory together, and their rank; 0 for none.
    """

    weight_precision: str = "bf16"
    kv_precision: str = "bf16"
    page_tokens: int = 16
    memory_share: float = 0.9
    prefix_cache: bool = False
    two_batch_overlap: bool = False
    accepted_tokens: float = 1.0
    drafted_tokens: int = 0
    adapters: int = 0
    adapter_rank: int = 0


@dataclass(frozen=True, slots=True)
class Deployment:
    """A model's pools.

    Attributes
    ----------
    mode : str
        One of :data:`MODES`.
    decode : Pool
        Those that answer; in the modes of one pool they read prompts, too.
    prefill : Pool or None
        Those that read prompts; ``None`` in the modes of one pool.
    settings : EngineSettings
    """

    mode: str
    decode: Pool
    prefill: Pool | None = None
    settings: EngineSettings = EngineSettings()

    def __post_init__(self) -> None:
        check_known("mode", self.mode, MODES)
        if (self.prefill is not None) != (self.mode == "disaggregated"):
            raise InvalidInput(f"mode {self.mode}: a prefill pool of its own is for disaggregated alone")

    @property
    def accelerators(self) -> int:
        """Accelerators of all pools."""
        return self.decode.accelerators + (self.prefill.accelerators if self.prefill else 0)
