"""Operators from shapes: exact parameters, activations, floating-point operations and memory traffic.

A multiplication and the addition that follows count as two operations; a bias is added on the way out of its matrix
product and counts as none. Numbers are float32. Memory traffic is every input read once and every output written once,
without the weights (a row of an embedding table is fetched for a sample, so it does count).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, Weight

FLOAT_BYTES = 4
INDEX_BYTES = 8
"""FlexFlow and PyTorch look embeddings up by 64-bit numbers."""
_DENSE_SPLITS = frozenset({"batch", "out", "in"})
_TABLE_SPLITS = frozenset({"rows", "columns"})


@dataclass(frozen=True, slots=True)
class Image:
    """The shape of a square feature map: ``channels`` × ``side`` × ``side``."""

    channels: int
    side: int

    @property
    def elements(self) -> int:
        """Numbers per sample."""
        return self.channels * self.side**2


def append(operators: list[Operator], op: Operator) -> int:
    """Append ``op`` to the list under construction and return its index."""
    operators.append(op)
    return len(operators) - 1


def embedding(name: str, rows: int, dim: int, bag: int) -> Operator:
    """Return a table of ``rows`` × ``dim``; each sample sums ``bag`` rows of it."""
    return Operator(
        name=name,
        kind="embedding",
        inputs=(),
        weights=(Weight(f"{name}.table", rows * dim * FLOAT_BYTES),),
        output_bytes_per_sample=dim * FLOAT_BYTES,
        forward_flops_per_sample=float(bag * dim),
        memory_traffic_bytes_per_sample=float((bag + 1) * dim * FLOAT_BYTES + bag * INDEX_BYTES),
        splits=_TABLE_SPLITS,
        profile_key=f"Embed_{rows}x{dim}",
    )


def lookup(name: str, inputs: Sequence[int], rows: int, dim: int, positions: int) -> Operator:
    """Return a table; a sample reads one row per position. It is replicated like any weight, so AllReduced."""
    return Operator(
        name=name,
        kind="lookup",
        inputs=tuple(inputs),
        weights=(Weight(f"{name}.table", rows * dim * FLOAT_BYTES),),
        output_bytes_per_sample=positions * dim * FLOAT_BYTES,
        memory_traffic_bytes_per_sample=float(positions * (2 * dim * FLOAT_BYTES + INDEX_BYTES)),
        profile_key=f"Lookup_{rows}x{dim}",
    )


def dense(
    name: str, inputs: Sequence[int], width_in: int, width_out: int, *, positions: int = 1, bias: bool = True
) -> Operator:
    """Return a linear layer, applied to each of a sample's ``positions`` (tokens of a sequence)."""
    kernel = Weight(f"{name}.kernel", width_in * width_out * FLOAT_BYTES)
    shift = Weight(f"{name}.bias", width_out * FLOAT_BYTES)
    return Operator(
        name=name,
        kind="dense",
        inputs=tuple(inputs),
        weights=(kernel, shift) if bias else (kernel,),
        output_bytes_per_sample=positions * width_out * FLOAT_BYTES,
        forward_flops_per_sample=2.0 * positions * width_in * width_out,
        memory_traffic_bytes_per_sample=float(positions * (width_in + width_out) * FLOAT_BYTES),
        splits=_DENSE_SPLITS,
        profile_key=f"Dense_{width_in}_{width_out}",
    )


def concat(name: str, inputs: Sequence[int], width: int) -> Operator:
    """Return the concatenation of all inputs, ``width`` numbers long."""
    return _elementwise(name, "concat", inputs, width, reads=1, profile_key="Concat_1", flops=0.0)


def attention(
    name: str, query: Sequence[int], memory: Sequence[int], hidden: int, heads: int, positions: int
) -> Operator:
    """Return multi-head attention over ``positions`` tokens; its four projections are one tensor, no bias.

    ``query`` holds the producer of the queries and ``memory`` that of the keys and values, each empty where
    the tokens come from the data loader. Operations: four projections, scores, weighted sum.
    """
    projections = 8.0 * positions * hidden**2
    scores_and_sum = 4.0 * positions**2 * hidden
    return Operator(
        name=name,
        kind="attention",
        inputs=tuple(dict.fromkeys((*query, *memory))),
        weights=(Weight(f"{name}.kernel", 4 * hidden**2 * FLOAT_BYTES),),
        output_bytes_per_sample=positions * hidden * FLOAT_BYTES,
        forward_flops_per_sample=projections + scores_and_sum,
        memory_traffic_bytes_per_sample=4.0 * positions * hidden * FLOAT_BYTES,
        profile_key=f"MultiHeadAttention_{hidden}{heads}",
    )


def add(name: str, inputs: Sequence[int], elements: int) -> Operator:
    """Return the sum of two tensors of ``elements`` numbers."""
    return _elementwise(name, "add", inputs, elements, reads=2, profile_key="ElementBinary_31")


def multiply(name: str, inputs: Sequence[int], elements: int) -> Operator:
    """Return the product, number by number, of two tensors."""
    return _elementwise(name, "multiply", inputs, elements, reads=2, profile_key="ElementBinary_32")


def relu(name: str, source: int, elements: int) -> Operator:
    """Return a separate ReLU (others are fused into the layer before them)."""
    return _elementwise(name, "relu", (source,), elements, reads=1, profile_key="ElementUnary_13")


def flatten(name: str, source: int, elements: int) -> Operator:
    """Return the copy of a feature map into a row."""
    return _elementwise(name, "flatten", (source,), elements, reads=1, profile_key="Flat", flops=0.0)


def softmax(name: str, source: int, classes: int) -> Operator:
    """Return a softmax: maximum, difference, exponential, sum and quotient of each number."""
    return _elementwise(
        name, "softmax", (source,), classes, reads=1, profile_key="Softmax", flops=5.0 * classes
    )


def conv2d(
    name: str, inputs: Sequence[int], image: Image, channels: int, kernel: int, stride: int, padding: int
) -> tuple[Operator, Image]:
    """Return a convolution of a square kernel and the feature map it makes."""
    out = Image(channels, _side_after(name, image.side, kernel, stride, padding))
    window = kernel**2 * image.channels
    op = Operator(
        name=name,
        kind="conv2d",
        inputs=tuple(inputs),
        weights=(
            Weight(f"{name}.kernel", window * channels * FLOAT_BYTES),
            Weight(f"{name}.bias", channels * FLOAT_BYTES),
        ),
        output_bytes_per_sample=out.elements * FLOAT_BYTES,
        forward_flops_per_sample=2.0 * window * out.elements,
        memory_traffic_bytes_per_sample=float((image.elements + out.elements) * FLOAT_BYTES),
        profile_key=f"Conv2D_{kernel}_{kernel}_{channels}",
    )
    return op, out


def pool(
    name: str, source: int, image: Image, kernel: int, stride: int, padding: int
) -> tuple[Operator, Image]:
    """Return a maximum or average over square windows and the feature map it makes."""
    out = Image(image.channels, _side_after(name, image.side, kernel, stride, padding))
    op = Operator(
        name=name,
        kind="pool",
        inputs=(source,),
        weights=(),
        output_bytes_per_sample=out.elements * FLOAT_BYTES,
        forward_flops_per_sample=float(kernel**2 * out.elements),
        memory_traffic_bytes_per_sample=float((image.elements + out.elements) * FLOAT_BYTES),
        profile_key=f"Pool2D_{kernel}_{kernel}",
    )
    return op, out


def pooled_to(name: str, source: int, image: Image, side: int) -> tuple[Operator, Image]:
    """Return the average over ``side`` × ``side`` windows; in a smaller map each number is repeated.

    Windows are equal and may overlap: those of PyTorch's adaptive pooling where ``side`` divides the map's.
    """
    if image.side < side:
        out = Image(image.channels, side)
        return concat(name, (source,), out.elements), out
    stride = image.side // side
    return pool(name, source, image, kernel=image.side - (side - 1) * stride, stride=stride, padding=0)


def _elementwise(
    name: str,
    kind: str,
    inputs: Sequence[int],
    elements: int,
    *,
    reads: int,
    profile_key: str,
    flops: float | None = None,
) -> Operator:
    return Operator(
        name=name,
        kind=kind,
        inputs=tuple(dict.fromkeys(inputs)),
        weights=(),
        output_bytes_per_sample=elements * FLOAT_BYTES,
        forward_flops_per_sample=float(elements) if flops is None else flops,
        memory_traffic_bytes_per_sample=float((reads + 1) * elements * FLOAT_BYTES),
        profile_key=profile_key,
    )


def _side_after(name: str, side: int, kernel: int, stride: int, padding: int) -> int:
    out = (side + 2 * padding - kernel) // stride + 1
    if side + 2 * padding < kernel:
        raise InvalidInput(
            f"{name}: a feature map of {side}×{side} is smaller than the {kernel}×{kernel} window; "
            f"use a larger image_size"
        )
    return out
