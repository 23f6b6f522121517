"""Shape inference: the sizes of every operator of a graph, from its bytes, operations and producers.

An operator graph has the data that splits and networks need: bytes and floating-point operations. A device needs
more: widths, kernels, feature maps. For the kinds in the zoo they are derived. A convolution's kernel and channels
and an attention's heads are in the operator's profile key, as in FlexFlow; the number of channels of a pool is
that of its input.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.workloads import Operator, OperatorGraph


@dataclass(frozen=True, slots=True)
class DenseShape:
    """A linear layer on each of ``positions`` rows of a sample."""

    width_in: int
    width_out: int
    positions: int = 1
    bias: bool = True

    def part(self, degree: int, dim: str) -> "DenseShape":
        """Return the widest of ``degree`` parts along ``out`` or ``in``."""
        if dim == "out":
            return replace(self, width_out=math.ceil(self.width_out / degree))
        return replace(self, width_in=math.ceil(self.width_in / degree))


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution of a square kernel over a square feature map of ``side``."""

    channels_in: int
    channels_out: int
    side: int
    kernel: int
    stride: int
    padding: int
    bias: bool = True


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A maximum over square windows of a square feature map of ``side``."""

    channels: int
    side: int
    kernel: int
    stride: int
    padding: int


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Multi-head attention with its four projections over ``positions`` tokens."""

    hidden: int
    heads: int
    positions: int


@dataclass(frozen=True, slots=True)
class CoreShape:
    """The core of causal attention: scores, softmax and weighted sum of ``heads``, no projections.

    ``head_dim`` is the size of a query's and a key's head, ``value_dim`` that of a value's. Every head has keys
    and values of its own: those of a group are written out, as many implementations do.
    """

    heads: int
    head_dim: int
    value_dim: int
    positions: int

    def part(self, degree: int, dim: str) -> "CoreShape":
        """Return the part of a tensor parallel rank: its share of the heads."""
        return replace(self, heads=math.ceil(self.heads / degree))


@dataclass(frozen=True, slots=True)
class EmbeddingShape:
    """A table of which each sample sums ``bag`` rows, or of which it looks up ``bag`` rows one by one."""

    rows: int
    dim: int
    bag: int
    summed: bool = True

    def part(self, degree: int, dim: str) -> "EmbeddingShape":
        """Return a part of the rows, of which each sample reads its share, or of the columns."""
        if dim == "columns":
            return replace(self, dim=math.ceil(self.dim / degree))
        bag = math.ceil(self.bag / degree) if self.summed else self.bag
        return replace(self, rows=math.ceil(self.rows / degree), bag=bag)


@dataclass(frozen=True, slots=True)
class ConcatShape:
    """Rows of these widths, joined."""

    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ElementwiseShape:
    """Operator with as many numbers per sample in as out; ``inputs`` tensors of them."""

    elements: int
    inputs: int = 1

    def part(self, degree: int, dim: str) -> "ElementwiseShape":
        """Return the share of a tensor parallel rank."""
        return replace(self, elements=math.ceil(self.elements / degree))


@dataclass(frozen=True, slots=True)
class NormShape:
    """A normalization of each of ``positions`` rows of ``width`` numbers."""

    width: int
    positions: int
    kind: str = "rmsnorm"


Shape = (
    DenseShape
    | ConvShape
    | PoolShape
    | AttentionShape
    | CoreShape
    | EmbeddingShape
    | ConcatShape
    | ElementwiseShape
    | NormShape
)
FLOAT_BYTES = 4
"""Operator graphs count float32, whatever the precision of the arithmetic."""


def infer_shapes(graph: OperatorGraph) -> tuple[dict[int, Shape], dict[str, str]]:
    """Return the shape of every operator by its index, and the reasons for those without one by name."""
    shapes: dict[int, Shape] = {}
    left_out: dict[str, str] = {}
    for index, op in enumerate(graph.operators):
        try:
            if op.kind not in INFERENCES:
                raise InvalidInput(f"kind {op.kind}: known are {', '.join(sorted(INFERENCES))}")
            shapes[index] = INFERENCES[op.kind](graph, op, shapes)
        except InvalidInput as error:
            left_out[op.name] = str(error)
    return shapes, left_out


def _dense(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> DenseShape:
    kernel = _tensor(op, 0)
    positions = _whole(op, "flops", op.forward_flops_per_sample / (2 * kernel))
    width_out = _whole(op, "outputs", _outputs(op) / positions)
    width_in = _whole(op, "parameters", kernel / width_out)
    return DenseShape(width_in, width_out, positions, bias=len(op.weights) > 1)


def _embedding(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> EmbeddingShape:
    dim = _outputs(op)
    bag = max(1, round(op.forward_flops_per_sample / dim))
    return EmbeddingShape(_whole(op, "parameters", _tensor(op, 0) / dim), dim, bag)


def _lookup(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> EmbeddingShape:
    match = re.fullmatch(r"Lookup_(\d{1,12})x(\d{1,12})", op.profile_key)
    if match is None:
        raise InvalidInput("kind lookup: its rows and columns are not known")
    rows, dim = int(match[1]), int(match[2])
    return EmbeddingShape(rows, dim, _whole(op, "outputs", _outputs(op) / dim), summed=False)


def _attention(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> AttentionShape:
    hidden = _root(op, "parameters", _tensor(op, 0) / 4)
    match = re.fullmatch(rf"MultiHeadAttention_{hidden}(\d{{1,6}})", op.profile_key)
    if match is None or hidden % int(match[1]):
        raise InvalidInput("kind attention: how many heads it has is not known")
    return AttentionShape(hidden, int(match[1]), _whole(op, "outputs", _outputs(op) / hidden))


def _conv2d(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> ConvShape:
    match = re.fullmatch(r"Conv2D_(\d{1,4})_\1_(\d{1,9})", op.profile_key)
    if match is None:
        raise InvalidInput("kind conv2d: its kernel and channels are not known")
    kernel, channels = int(match[1]), int(match[2])
    channels_in = _whole(op, "parameters", _tensor(op, 0) / (kernel**2 * channels))
    side, stride, padding = _window(op, kernel, channels_in, channels)
    return ConvShape(channels_in, channels, side, kernel, stride, padding, bias=len(op.weights) > 1)


def _pool(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> PoolShape:
    match = re.fullmatch(r"Pool2D_(\d{1,4})_\1", op.profile_key)
    channels = _channels(graph, op, known)
    if match is None or not channels:
        raise InvalidInput("kind pool: its kernel and channels are not known")
    side, stride, padding = _window(op, int(match[1]), channels, channels)
    return PoolShape(channels, side, int(match[1]), stride, padding)


def _concat(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> ConcatShape:
    widths = tuple(_outputs(graph.operators[producer]) for producer in op.inputs)
    rest = _outputs(op) - sum(widths)
    if rest < 0:
        raise InvalidInput("kind concat: its inputs are wider than its output")
    return ConcatShape((*widths, rest) if rest else widths)  # the rest comes from the data loader


def _one_input(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> ElementwiseShape:
    return ElementwiseShape(_outputs(op))


def _two_inputs(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> ElementwiseShape:
    return ElementwiseShape(_outputs(op), inputs=2)


INFERENCES: Mapping[str, Callable[[OperatorGraph, Operator, Mapping[int, Shape]], Shape]] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "attention": _attention,
    "embedding": _embedding,
    "lookup": _lookup,
    "concat": _concat,
    "add": _two_inputs,
    "multiply": _two_inputs,
    "relu": _one_input,
    "pool": _pool,
    "flatten": _one_input,
    "softmax": _one_input,
}
"""Inference of the shape of each kind of operator."""


def _window(op: Operator, kernel: int, channels_in: int, channels_out: int) -> tuple[int, int, int]:
    """Return side, stride and padding; of several that make the same feature map, the least padding."""
    inputs = op.memory_traffic_bytes_per_sample / FLOAT_BYTES - _outputs(op)
    side = _root(op, "memory traffic", inputs / channels_in)
    out = _root(op, "outputs", _outputs(op) / channels_out)
    for padding in range(kernel // 2 + 2):
        for stride in range(1, side + 1):
            if (side + 2 * padding - kernel) // stride + 1 == out:
                return side, stride, padding
    raise InvalidInput(f"kind {op.kind}: no stride leads from a side of {side} to {out}")


def _channels(graph: OperatorGraph, op: Operator, known: Mapping[int, Shape]) -> int:
    """Return the channels of the feature map that an operator reads; 0 if unknown."""
    for producer in op.inputs:
        shape = known.get(producer)
        if isinstance(shape, ConvShape):
            return shape.channels_out
        if isinstance(shape, PoolShape):
            return shape.channels
        if isinstance(shape, ElementwiseShape):
            return _channels(graph, graph.operators[producer], known)
    return 0


def _tensor(op: Operator, index: int) -> int:
    if len(op.weights) <= index:
        raise InvalidInput(f"kind {op.kind}: expected parameters, got none")
    return op.weights[index].size_bytes // FLOAT_BYTES


def _outputs(op: Operator) -> int:
    return op.output_bytes_per_sample // FLOAT_BYTES


def _whole(op: Operator, what: str, value: float) -> int:
    if value < 1 or value != round(value):
        raise InvalidInput(f"kind {op.kind}: its {what} are not those of any {op.kind} operator")
    return round(value)


def _root(op: Operator, what: str, value: float) -> int:
    side = math.isqrt(max(0, round(value)))
    if side < 1 or side * side != value:
        raise InvalidInput(f"kind {op.kind}: its {what} are not those of any square")
    return side


def part_of(shape: Shape, degree: int, dim: str) -> Shape:
    """Return one of ``degree`` channel parts; a shape that cannot be split is returned as it is."""
    if degree == 1 or isinstance(shape, ConvShape | PoolShape | AttentionShape | ConcatShape | NormShape):
        return shape
    return shape.part(degree, dim)


def numbers_of(shape: Shape) -> dict[str, int | tuple[int, ...]]:
    """Return the sizes for a profile file: whole numbers only."""
    words: dict[str, Any] = asdict(shape)
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in words.items()
        if not isinstance(value, str)
    }
