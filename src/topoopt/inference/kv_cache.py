"""Keys and values that requests leave in memory: bytes a token, replication, windows, pages, what a replica holds."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.catalog import Accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.weights import accelerator_weight_bytes, cache_element_bytes
from topoopt.workloads.transformer import TransformerModel

STATE_BYTES = 4
"""Bytes of a number in the state of a recurrence, which engines keep in fp32."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What a request leaves in the caches of a model, by layers of each kind; all of them together.

    Attributes
    ----------
    whole_values : int
        Numbers that each token leaves in layers that look at all of them.
    window_values : int
        Numbers that each of the last ``window`` tokens leaves in layers of sliding windows.
    window : int
        Tokens that such a layer keeps.
    state_values : int
        Numbers of the states of recurrent layers, whatever the length.
    shares : int
        Accelerators that can split the cache of a request: heads of keys and values; 1 with latent attention.
    """

    whole_values: int
    window_values: int
    window: int
    state_values: int
    shares: int


def cache_shape(model: TransformerModel) -> CacheShape:
    """Return what a request leaves in the caches of a model.

    With grouped queries a token leaves ``2 * kv_heads * head_dim`` numbers a layer, with latent attention
    ``key_value_rank + rope_head_dim``; an indexer keeps one key of its own. Sparse attention stores all tokens, though
    it looks at few.
    """
    latent = model.latent
    values = latent.key_value_rank + latent.rope_head_dim if latent else 2 * model.kv_heads * model.head_dim
    sparse = model.indexer is not None
    values += model.indexer.head_dim if model.indexer else 0
    windowed = 0 if sparse else model.window_layers
    recurrence = model.recurrence
    state = 0
    if recurrence is not None:
        state = recurrence.inner * recurrence.key_dim + recurrence.convolved * max(
            recurrence.convolution - 1, 0
        )
    return CacheShape(
        (model.attention_layers - windowed) * values,
        windowed * values,
        model.window if windowed else 0,
        model.recurrent_layers * state,
        model.kv_heads if latent is None else 1,
    )


def cache_bytes_per_token(model: TransformerModel, precision: str = "bf16") -> float:
    """Return the bytes that one more token leaves in the caches of a model, beyond all windows, stored once.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> cache_bytes_per_token(find_transformer("llama3-70b"))
    327680.0
    """
    shape = cache_shape(model)
    return float(
        (shape.whole_values + (0 if shape.window else shape.window_values)) * cache_element_bytes(precision)
    )


def request_cache_bytes(
    model: TransformerModel, tokens: int, precision: str = "bf16", page_tokens: int = 1
) -> float:
    """Return the bytes that a request of so many tokens keeps, stored once: whole pages, windows, states."""
    shape, element = cache_shape(model), cache_element_bytes(precision)
    paged = page_tokens * cache_pages(tokens, page_tokens)
    kept = min(paged, page_tokens * cache_pages(shape.window, page_tokens))
    return float(
        element * (shape.whole_values * paged + shape.window_values * kept) + STATE_BYTES * shape.state_values
    )


def cache_pages(tokens: int, page_tokens: int = 16) -> int:
    """Return the pages that so many tokens take."""
    return -(-tokens // page_tokens)


def cache_copies(model: TransformerModel, tensor: int) -> float:
    """Return how often a request's cache is stored over ``tensor`` accelerators: heads beyond ``kv_heads`` are copies.

    The same holds on the wire between pools, but where attention is copied instead of split, or a relay in the server
    hands it on.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> cache_copies(find_transformer("qwen3-235b-a22b"), 8), cache_copies(find_transformer("deepseek-v3"), 8)
    (2.0, 8.0)
    """
    return max(1.0, tensor / cache_shape(model).shares)


@dataclass(frozen=True, slots=True)
class CacheCapacity:
    """What is left for caches, of all copies of attention of one replica together.

    Attributes
    ----------
    bytes_per_accelerator : float
        Memory for caches of one accelerator.
    tokens : int
        Tokens of unending requests that fit: whole pages, all of whose layers keep every token.
    request_tokens : float
        Tokens of caches for the requests asked about, by their mean length; more than ``tokens`` with windows.
    """

    bytes_per_accelerator: float
    tokens: int
    request_tokens: float

    def requests(self, tokens: float) -> int:
        """Return how many requests of so many tokens are held at once."""
        return int(self.request_tokens // tokens)


def cache_capacity(
    model: TransformerModel,
    accelerator: Accelerator,
    parallelism: Parallelism,
    settings: EngineSettings,
    length: int = 4096,
) -> CacheCapacity:
    """Return what a replica holds in caches.

    Parameters
    ----------
    length
        Tokens of a usual request, for models whose windows and states make a token's bytes depend on it.

    Raises
    ------
    InvalidInput
        If the weights leave no room for a page: by how much, and what would help.
    """
    weights = accelerator_weight_bytes(model, parallelism, settings)
    free = settings.memory_share * accelerator.memory_bytes - weights - activation_bytes(model)
    split = min(parallelism.tensor, cache_shape(model).shares) * parallelism.pipeline
    page = (
        request_cache_bytes(model, settings.page_tokens, settings.kv_precision, settings.page_tokens) / split
    )
    if free < page:
        raise InvalidInput(
            f"{model.name}: {weights / 1e9:.1f} GB of weights an accelerator leave no room for keys and values in "
            f"{settings.memory_share:g} of the {accelerator.memory_bytes / 1e9:g} GB of {accelerator.name}; take more "
            "tensor, pipeline or expert parallelism, or a smaller weight precision"
        )
    grown = cache_bytes_per_token(model, settings.kv_precision)
    usual = request_cache_bytes(model, length, settings.kv_precision, settings.page_tokens) / length
    pages = int(free * split / (grown * settings.page_tokens)) if grown else 2**40
    copies = parallelism.attention_data
    return CacheCapacity(free, pages * settings.page_tokens * copies, free * split / usual * copies)


def activation_bytes(model: TransformerModel, tokens: int = 8192) -> float:
    """Return what one step of so many tokens needs beside weights and caches: some tensors of the hidden size, logits.

    Engines find it by a trial run; this is its size to about a gigabyte: eight tensors of the hidden size in 16 bits,
    logits of 256 rows in fp32, and 1 GiB of the runtime's own.
    """
    return 16.0 * tokens * model.hidden + 4.0 * 256 * model.vocabulary + 2.0**30
