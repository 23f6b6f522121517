"""What context parallel ranks send each other in a layer, by the way in which they come by all keys and values."""

from collections.abc import Iterator

from topoopt.transformers.communication.message import wire_element_bytes
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.recomputation import FULL, part_bit, recomputation_bits
from topoopt.workloads.transformer import TransformerModel

Times = tuple[int, int, int]
"""How often a message is sent for one micro-batch and layer: forward, backward, and when the layer is recomputed."""


def context_messages(
    model: TransformerModel, configuration: Configuration
) -> Iterator[tuple[str, str, int, Times]]:
    """Yield what it is, the collective, its bytes, and how often it is done.

    ``ring``: keys and values go around once forward, and once backward with their gradients beside them (Liu 2023).
    ``ulysses``: tokens of all heads are exchanged for all tokens of some heads before the core, and back behind it
    (Jacobs 2023). ``all-gather``: every rank gathers keys and values, backward once more (Llama 3, section 3.3.2).
    """
    bits = recomputation_bits(configuration.recompute)
    again = 1 if bits & part_bit("core") and not bits & FULL else 0
    yield from {"ring": _ring, "ulysses": _exchanges, "all-gather": _gathers}[configuration.context](
        model, configuration, again
    )


def _ring(model: TransformerModel, one: Configuration, again: int) -> Iterator[tuple[str, str, int, Times]]:
    size, hops = _tokens_bytes(one) * sum(_key_widths(model, one)), one.cp - 1
    yield "keys and values", "ring-exchange", size, (hops, hops * (1 + again), hops)
    yield "gradients of keys and values", "ring-exchange", size, (0, hops, 0)


def _exchanges(
    model: TransformerModel, one: Configuration, again: int
) -> Iterator[tuple[str, str, int, Times]]:
    """Heads of keys and values are repeated where there are fewer than ranks."""
    keys, values = _key_widths(model, one, one.cp)
    queries, output = (model.heads // one.tp * width for width in _head_widths(model))
    for part, width in (
        ("queries", queries),
        ("keys", keys),
        ("values", values),
        ("output of the core", output),
    ):
        yield part, "all-to-all", _tokens_bytes(one) * width, (1, 1 + again, 1)


def _gathers(
    model: TransformerModel, one: Configuration, again: int
) -> Iterator[tuple[str, str, int, Times]]:
    size = _tokens_bytes(one) * sum(_key_widths(model, one)) * one.cp
    yield "keys and values", "all-gather", size, (1, 1 + again, 1)
    yield "gradients of keys and values", "reduce-scatter", size, (0, 1, 0)


def _tokens_bytes(one: Configuration) -> int:
    """Return the bytes that the tokens of a rank have of one channel."""
    return one.micro_batch * one.sequence // one.cp * wire_element_bytes(one.precision)


def _key_widths(model: TransformerModel, one: Configuration, least: int = 1) -> tuple[int, int]:
    """Return the channels of keys and of values that a tensor parallel rank has; latent ones are expanded."""
    count = model.heads if model.latent is not None else model.kv_heads
    heads = max(count // one.tp, least)
    of_key, of_value = _head_widths(model)
    return heads * of_key, heads * of_value


def _head_widths(model: TransformerModel) -> tuple[int, int]:
    latent = model.latent
    if latent is None:
        return model.head_dim, model.head_dim
    return latent.nope_head_dim + latent.rope_head_dim, latent.value_head_dim
