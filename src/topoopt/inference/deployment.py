"""Parallelism, Pool and Deployment: the split of a served model, and the work of each accelerator."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.schema.files import packaged_rows

_WHOLE = ("max_batch", "token_budget")


@dataclass(frozen=True, slots=True)
class DeploymentFigure:
    """Figures of a deployment as published by its operator.

    Attributes
    ----------
    name : str
    tokens_per_s : float
        Output rate per server.
    servers : int
        Servers of the pool to which the rate applies.
    prompt_tokens : float
    batch : float
        Requests per decode accelerator; 0 where not published.
    ranks : int
        Accelerators that the experts are spread over.
    seen : bool
        Whether constants of steps were fitted to it among others.
    source : str
    """

    name: str
    tokens_per_s: float
    servers: int
    prompt_tokens: float
    batch: float
    ranks: int
    seen: bool
    source: str


MODES = ("prefill-first", "chunked", "disaggregated")
"""``prefill-first``: a replica stops decoding during a prefill. ``chunked``: pieces of prompts are added to
decode steps. ``disaggregated``: one pool for prefill and one for decoding."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Split of one replica of a model over accelerators.

    Attention is split ``tensor`` ways and copied ``attention_data`` times, each copy with requests of its own; the
    experts of a layer are spread over ``expert`` accelerators out of ``tensor * attention_data``, and each of them is
    split over the rest of these. Layers are split into ``pipeline`` stages.

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
        Most concurrent requests of a replica, over all its copies of attention.
    token_budget : int
        Tokens that a step of a replica takes at most: decodes, and pieces of prompts.
    """

    parallelism: Parallelism
    replicas: int = 1
    max_batch: int = 1024
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
class EngineMemory:
    """Memory of a serving engine besides weights and caches, and the basis of its memory fraction.

    Attributes
    ----------
    basis : str
        ``total``: all memory (vLLM). ``static``: weights and caches, of the memory free before (SGLang). ``free``:
        caches, of the memory left by weights, runtime and activations (TensorRT-LLM).
    share : float
        The engine's default.
    context_bytes, group_bytes : float
        Context and libraries; communicators, where accelerators work on a layer together.
    base_bytes, logit_copies : float
        Peak of the trial run beside tensors of the hidden size: a constant, and copies of the logits in fp32.
    """

    basis: str
    share: float
    context_bytes: float
    group_bytes: float
    base_bytes: float
    logit_copies: float


@lru_cache(maxsize=64)
def engine_memory(engine: str, version: str = "") -> EngineMemory:
    """Return the memory overhead of an engine version, by default the newest; an unknown engine counts as vLLM."""
    named = [(row["engine"], row) for row in packaged_rows("inference", "engine_memory")]
    name = engine.strip().lower() if engine.strip().lower() in dict(named) else "vllm"
    rows = [row for one, row in named if one == name]
    older = [row for row in rows if version and row["until"] and _release(version) < _release(row["until"])]
    row = min(older, key=lambda one: _release(one["until"])) if older else rows[0]
    context, group, base = (float(row[column]) * 2**30 for column in ("context_gib", "group_gib", "base_gib"))
    return EngineMemory(row["basis"], float(row["share"]), context, group, base, float(row["logit_copies"]))


def _release(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of a serving engine, besides the split of the model.

    Attributes
    ----------
    weight_precision, kv_precision : str
        Formats of weights and of keys and values, such as ``fp8``; arithmetic is in that of the weights where the
        accelerator has it, else in bf16.
    page_tokens : int
        Tokens of a page of keys and values.
    memory_share : float or None
        Share of an accelerator's memory, in the engine's own sense (:class:`EngineMemory`); ``None`` for its default.
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
    engine, version : str
        The engine whose step times and memory are used; ``""`` for the mean of all engines.
    max_batch, token_budget : int
        Requests and tokens of a step of an attention copy, as in the engine's trial run.
    """

    weight_precision: str = "fp8"
    kv_precision: str = "bf16"
    page_tokens: int = 16
    memory_share: float | None = None
    prefix_cache: bool = False
    two_batch_overlap: bool = False
    accepted_tokens: float = 1.0
    drafted_tokens: int = 0
    adapters: int = 0
    adapter_rank: int = 0
    engine: str = "vllm"
    version: str = ""
    max_batch: int = 1024
    token_budget: int = 8192

    @property
    def share(self) -> float:
        """The memory share that is given, or the engine's default."""
        default = engine_memory(self.engine, self.version).share
        return default if self.memory_share is None else self.memory_share


@dataclass(frozen=True, slots=True)
class Deployment:
    """A model's pools.

    Attributes
    ----------
    mode : str
        One of :data:`MODES`.
    decode : Pool
        Pool that decodes; in the modes of one pool, it prefills, too.
    prefill : Pool or None
        Pool that prefills; ``None`` in the modes of one pool.
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


def _known() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["preset"] for row in packaged_rows("inference", "deployments")))


def deployment_preset(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the model of a preset and its options for ``topoopt serving``.

    Raises
    ------
    InvalidInput
        For an unknown name.

    Examples
    --------
    >>> model, words = deployment_preset("deepseek-v3-2025")
    >>> model, words["prefill"], words["decode"], words["two_batch_overlap"]
    ('deepseek-v3', '1xep32dp32', '1xep144dp144', True)
    """
    check_known("preset", name, _known())
    words = {
        row["word"]: _value(row["word"], row["value"])
        for row in packaged_rows("inference", "deployments")
        if row["preset"] == name
    }
    return str(words.pop("model")), words


def deployment_figures(preset: str) -> dict[str, DeploymentFigure]:
    """Return the published figures of a preset, by name."""
    check_known("preset", preset, _known())
    return {
        row["figure"]: DeploymentFigure(
            row["figure"],
            float(row["tokens_per_s_a_server"]),
            int(row["servers"]),
            float(row["prompt_tokens"]),
            float(row["batch_per_accelerator"] or 0),
            int(row["ranks"]),
            row["seen"] == "yes",
            row["source"],
        )
        for row in packaged_rows("inference", "deployment_figures")
        if row["preset"] == preset
    }


def _value(word: str, text: str) -> Any:
    if text == "true":
        return True
    if word == "fabrics":
        return tuple(text.split(","))
    if word in _WHOLE:
        return int(text)
    return float(text) if word == "rate" else text
