"""The degrees that suit a model: divisors of its heads, and numbers of chunks of its layers."""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.configuration_table import Bools
from topoopt.workloads.transformer import TransformerModel


def divisors(value: int) -> tuple[int, ...]:
    """Return the divisors of a positive integer, rising.

    Examples
    --------
    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    small = [one for one in range(1, int(value**0.5) + 1) if value % one == 0]
    return tuple(sorted({*small, *(value // one for one in small)}))


@cache
def chunk_counts(layers: int, uneven: bool = False) -> tuple[int, ...]:
    """Return the numbers of chunks (stages, or stages times virtual stages), rising.

    They divide the layers; or the layers and two more, where the embedding and the output layer take the
    place of a layer each, as Llama 3's 126 layers on 16 stages do (Dubey et al. 2024, section 3.3.2). A prime
    number of layers, such as DeepSeek-V3's 61, is cut into any number of chunks, and so is every one if they may be
    ``uneven``. Two chunks more than layers are those of Llama 3: 128 on 16 stages, of which the first has the embedding
    alone and the last the output layer.

    Examples
    --------
    >>> chunk_counts(6)
    (1, 2, 3, 4, 6, 8)
    >>> len(chunk_counts(61))
    62
    """
    whole, with_ends = divisors(layers), divisors(layers + 2)
    if uneven or len(whole) == 2:
        whole = tuple(range(1, layers + 1))
    return tuple(sorted({*whole, *with_ends}))


def can_be_chunked(layers: int, pp: Ints, vpp: Ints, uneven: bool = False) -> Bools:
    """Return where every stage has layers and the number of chunks is in :func:`chunk_counts`, as a column.

    Examples
    --------
    >>> can_be_chunked(126, np.array([16, 128, 126]), np.array([8, 1, 1])).tolist()
    [True, False, True]
    """
    return np.asarray(np.isin(pp * vpp, chunk_counts(layers, uneven)) & ((vpp > 1) | (pp <= layers)))


def chunk_layers(layers: int, chunks: int) -> tuple[range, ...]:
    """Return the layers of each chunk, as even as can be; the first chunks have one more.

    Chunk c runs on stage ``c % pp``. Chunks that divide two layers more than there are have as many each, with the
    embedding in the first and the output layer in the last for one: so Megatron-LM accounts for both, and torchtitan
    does. Of two chunks more than layers the first and the last have none.

    Raises
    ------
    InvalidInput
        If a chunk would have no layer.

    Examples
    --------
    >>> chunk_layers(11, 4), chunk_layers(10, 4)
    ((range(0, 3), range(3, 6), range(6, 9), range(9, 11)), (range(0, 2), range(2, 5), range(5, 8), range(8, 10)))
    >>> chunk_layers(2, 4)
    (range(0, 0), range(0, 1), range(1, 2), range(2, 2))
    """
    if not 1 <= chunks <= layers and chunks != layers + 2:
        raise InvalidInput(
            f"pp·vpp: {layers} layers can be cut into 1..{layers} or {layers + 2} chunks, got {chunks}"
        )
    if ends_count_as_layers(layers, chunks):
        size = (layers + 2) // chunks
        return _cut([min(max(chunk * size - 1, 0), layers) for chunk in range(chunks + 1)])
    return _evenly(layers, chunks)


def ends_count_as_layers(layers: int, chunks: int) -> bool:
    """Return whether embedding and output layer take the place of a layer each, as :func:`chunk_layers` has it."""
    return layers % chunks > 0 and (layers + 2) % chunks == 0


def _evenly(layers: int, chunks: int) -> tuple[range, ...]:
    size, more = divmod(layers, chunks)
    return _cut([chunk * size + min(chunk, more) for chunk in range(chunks + 1)])


def _cut(begins: Sequence[int]) -> tuple[range, ...]:
    return tuple(range(begin, end) for begin, end in pairwise(begins))


def trained_layers(model: TransformerModel, chunks: int) -> tuple[tuple[int, ...], ...]:
    """Return the same with multi-token prediction: each module is another last layer, in the last chunk.

    That chunk has as many layers less, and as many more for their output layers, where that leaves it some: Megatron
    Bridge's recipes of DeepSeek-V3 cut its layers so.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> [len(chunk) for chunk in trained_layers(find_transformer("deepseek-v3"), 8)]
    [8, 8, 8, 8, 8, 8, 8, 6]
    """
    mtp = model.mtp_layers
    sizes = [len(chunk) for chunk in _evenly(model.layers + 2 * mtp, chunks)]
    if mtp == 0 or sizes[-1] <= 2 * mtp:
        layers = [tuple(chunk) for chunk in chunk_layers(model.layers, chunks)]
    else:
        ends = [0, *accumulate(sizes)]
        layers = [tuple(range(begin, min(end, model.layers))) for begin, end in pairwise(ends)]
    return (*layers[:-1], layers[-1] + (model.layers - 1,) * mtp)


@cache
def tensor_degrees(model: TransformerModel) -> tuple[int, ...]:
    """Return the degrees that divide the heads and a dense feed-forward part, and suit the heads of keys and values."""
    keys, one = model.kv_heads, model.recurrence
    return tuple(
        tp
        for tp in divisors(model.heads)
        if (model.latent is not None or keys % tp == 0 or tp % keys == 0)
        and (not model.has_dense_layers or model.ffn % tp == 0)
        and (one is None or (one.heads % tp == 0 and (one.key_heads % tp == 0 or tp % one.key_heads == 0)))
    )


@cache
def ulysses_degrees(model: TransformerModel, tp: int) -> tuple[int, ...]:
    """Return the context parallel degrees that leave every rank whole heads (Jacobs et al. 2023, DeepSpeed-Ulysses).

    Heads of keys and values fewer than ranks are repeated, so that either divides the other.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> ulysses_degrees(find_transformer("llama3-8b"), 4)
    (1, 2, 4, 8)
    """
    keys = model.heads if model.latent is not None else model.kv_heads
    whole = divisors(model.heads // tp) if model.heads % tp == 0 else (1,)
    return tuple(cp for cp in whole if keys % (tp * cp) == 0 or (tp * cp) % keys == 0)
