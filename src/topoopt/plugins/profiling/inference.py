"""Shape inference: the sizes of every operator of a graph, from its bytes, operations and producers.

An operator graph holds what splits and networks need: bytes and floating-point operations. A device needs more:
widths, kernels, feature maps. For the kinds of the zoo they follow from what is there. A convolution's kernel and
channels and an attention's heads stand in the operator's profile key, as FlexFlow names it; the number of channels
of a pool is that of what it reads.
"""

import math
import re
from collections.abc import Callable, Mapping

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling.shapes import (
    AttentionShape,
    ConcatShape,
    ConvShape,
    DenseShape,
    ElementwiseShape,
    EmbeddingShape,
    PoolShape,
    Shape,
)
from topoopt.workloads import Operator, OperatorGraph

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
"""How the shape of each kind of operator is found."""


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
    """Return the channels of the feature map that an operator reads; 0 where nobody knows."""
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
