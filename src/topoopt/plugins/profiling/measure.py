"""Measure one part of an operator: warm-up, repetitions, medians, spread and memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling.device import DTYPES, Device
from topoopt.plugins.profiling.shapes import (
    AttentionShape,
    ConcatShape,
    ConvShape,
    CoreShape,
    DenseShape,
    ElementwiseShape,
    EmbeddingShape,
    NormShape,
    PoolShape,
    Shape,
    part_of,
)
from topoopt.workloads import PartSize, PartTime


@dataclass(frozen=True, slots=True)
class TorchOperator:
    """One part of an operator, ready to run.

    Attributes
    ----------
    forward : callable
        Makes the output.
    leaves : tuple of tensor
        Tensors for which the backward pass computes gradients: inputs and weights.
    others : tuple of tensor
        Other tensors in memory, such as the indices of looked-up rows.
    """

    forward: Callable[[], Any]
    leaves: tuple[Any, ...]
    others: tuple[Any, ...] = ()


class Numbers:
    """Makes random tensors on a device, in its precision."""

    def __init__(self, device: Device) -> None:
        self.torch = device.torch
        self._place = device.facts.kind
        self._dtype = getattr(device.torch, DTYPES[device.facts.precision])

    def normal(self, *sizes: int, scale: float = 1.0) -> Any:
        """Return a tensor of normal numbers whose gradient is wanted."""
        tensor = self.torch.empty(sizes, dtype=self._dtype, device=self._place)
        return tensor.normal_(0.0, scale).requires_grad_()

    def table(self, rows: int, dim: int) -> Any:
        """Return an embedding table; every row is written, so that all of them have memory."""
        tensor = self.torch.full((rows, dim), 0.01, dtype=self._dtype, device=self._place)
        return tensor.requires_grad_()

    def indices(self, below: int, *sizes: int) -> Any:
        """Return random row numbers."""
        return self.torch.randint(below, sizes, device=self._place)


def _dense(make: Numbers, shape: DenseShape, samples: int) -> TorchOperator:
    linear = make.torch.nn.functional.linear
    x = make.normal(samples * shape.positions, shape.width_in)
    weight = make.normal(shape.width_out, shape.width_in, scale=shape.width_in**-0.5)
    bias = (make.normal(shape.width_out),) if shape.bias else ()
    return TorchOperator(lambda: linear(x, weight, *bias), (x, weight, *bias))


def _conv2d(make: Numbers, shape: ConvShape, samples: int) -> TorchOperator:
    conv2d = make.torch.nn.functional.conv2d
    window = shape.kernel**2 * shape.channels_in
    x = make.normal(samples, shape.channels_in, shape.side, shape.side)
    weight = make.normal(
        shape.channels_out, shape.channels_in, shape.kernel, shape.kernel, scale=window**-0.5
    )
    bias = make.normal(shape.channels_out) if shape.bias else None
    leaves = (x, weight) if bias is None else (x, weight, bias)
    return TorchOperator(lambda: conv2d(x, weight, bias, shape.stride, shape.padding), leaves)


def _pool(make: Numbers, shape: PoolShape, samples: int) -> TorchOperator:
    pool = make.torch.nn.functional.max_pool2d
    x = make.normal(samples, shape.channels, shape.side, shape.side)
    return TorchOperator(lambda: pool(x, shape.kernel, shape.stride, shape.padding), (x,))


def _attention(make: Numbers, shape: AttentionShape, samples: int) -> TorchOperator:
    functional = make.torch.nn.functional
    hidden, heads = shape.hidden, shape.heads
    x = make.normal(samples, shape.positions, hidden)
    weights = tuple(make.normal(hidden, hidden, scale=hidden**-0.5) for _ in range(4))

    def forward() -> Any:
        split = (samples, shape.positions, heads, hidden // heads)
        queries, keys, values = (
            functional.linear(x, weight).view(split).transpose(1, 2) for weight in weights[:3]
        )
        mixed = functional.scaled_dot_product_attention(queries, keys, values)
        return functional.linear(mixed.transpose(1, 2).reshape(x.shape), weights[3])

    return TorchOperator(forward, (x, *weights))


def _core(make: Numbers, shape: CoreShape, samples: int) -> TorchOperator:
    core = make.torch.nn.functional.scaled_dot_product_attention
    queries, keys = (make.normal(samples, shape.heads, shape.positions, shape.head_dim) for _ in range(2))
    values = make.normal(samples, shape.heads, shape.positions, shape.value_dim)
    return TorchOperator(lambda: core(queries, keys, values, is_causal=True), (queries, keys, values))


def _embedding(make: Numbers, shape: EmbeddingShape, samples: int) -> TorchOperator:
    functional = make.torch.nn.functional
    table, rows = make.table(shape.rows, shape.dim), make.indices(shape.rows, samples, shape.bag)
    if shape.summed:
        return TorchOperator(
            lambda: functional.embedding_bag(rows, table, mode="sum", sparse=True), (table,), (rows,)
        )
    return TorchOperator(lambda: functional.embedding(rows, table), (table,), (rows,))


def _concat(make: Numbers, shape: ConcatShape, samples: int) -> TorchOperator:
    parts = tuple(make.normal(samples, width) for width in shape.widths)
    return TorchOperator(lambda: make.torch.cat(parts, dim=1), parts)


def _elementwise(run: Callable[..., Callable[..., Any]]) -> Callable[..., TorchOperator]:
    def build(make: Numbers, shape: ElementwiseShape, samples: int) -> TorchOperator:
        inputs = tuple(make.normal(samples, shape.elements) for _ in range(shape.inputs))
        function = run(make.torch)
        return TorchOperator(lambda: function(*inputs), inputs)

    return build


def _activation(torch: Any) -> Callable[..., Any]:
    functional = torch.nn.functional

    def run(gate: Any, up: Any = None) -> Any:
        return functional.gelu(gate) if up is None else functional.silu(gate) * up

    return run


def _norm(make: Numbers, shape: NormShape, samples: int) -> TorchOperator:
    functional = make.torch.nn.functional
    x, weight = make.normal(samples * shape.positions, shape.width), make.normal(shape.width)
    if shape.kind == "layernorm":
        bias = make.normal(shape.width)
        return TorchOperator(
            lambda: functional.layer_norm(x, (shape.width,), weight, bias), (x, weight, bias)
        )
    fused = getattr(functional, "rms_norm", None)  # from PyTorch 2.4 on
    if fused is not None:
        return TorchOperator(lambda: fused(x, (shape.width,), weight), (x, weight))
    return TorchOperator(
        lambda: x * make.torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight, (x, weight)
    )


BUILDERS: Mapping[str, Callable[[Numbers, Any, int], TorchOperator]] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "attention": _attention,
    "embedding": _embedding,
    "concat": _concat,
    "add": _elementwise(lambda torch: torch.add),
    "multiply": _elementwise(lambda torch: torch.mul),
    "relu": _elementwise(lambda torch: torch.relu),
    "pool": _pool,
    "flatten": _elementwise(lambda torch: torch.clone),  # FlexFlow copies; PyTorch would only look elsewhere
    "softmax": _elementwise(lambda torch: lambda x: torch.softmax(x, dim=-1)),
    "attention core": _core,
    "activation": _elementwise(_activation),
    "norm": _norm,
    "lookup": _embedding,
}
"""Builders of PyTorch operators for each kind in the zoo, and in a transformer's layer (the last four)."""
OUT_OF_MEMORY = "out of memory"
FEWEST = 3
"""Repetitions of a size that takes longer than :attr:`Repetitions.longest_s`."""
_SIGNS_OF_FULL_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Number of runs of a pass.

    Attributes
    ----------
    warm_up : int
        Runs of both passes that are not counted; one where that takes longer than ``longest_s``.
    measured : int
        Runs of each pass that are counted.
    longest_s : float
        A pass is repeated less often, but :data:`FEWEST` times, where all its runs would take longer.
    """

    warm_up: int = 3
    measured: int = 20
    longest_s: float = 2.0

    def __post_init__(self) -> None:
        for word, value, least in (("warm_up", self.warm_up, 1), ("repetitions", self.measured, FEWEST)):
            if value < least:
                raise InvalidInput(f"{word}: expected an integer >= {least}, got {value}")


class CannotMeasure(Exception):
    """A size that does not fit or that the device cannot compute; the text is the reason."""


def measure_part(
    kind: str, shape: Shape, size: PartSize, device: Device, repetitions: Repetitions
) -> PartTime:
    """Measure one part of an operator on one accelerator.

    The backward pass makes the gradients of inputs and weights from the gradient of the output; the operator's
    graph is recorded in the forward pass, as in training. Optimizer steps are no part of it.

    Raises
    ------
    CannotMeasure
        If it does not fit in memory, or the device lacks it in this precision.
    """
    try:
        device.watch_memory()
        part = part_of(shape, size.channel_degree, size.channel_dim)
        operator = torch_operator(kind, part, size.samples, device)
        gradient = device.torch.randn_like(operator.forward())

        def backward_of(output: Any) -> Callable[[], Any]:
            return lambda: device.torch.autograd.grad(output, operator.leaves, gradient, retain_graph=True)

        def both() -> None:
            backward_of(operator.forward())()

        longest_s = 0.0
        for _ in range(repetitions.warm_up):
            longest_s = sum(device.times_s(both, 1))
            if longest_s > repetitions.longest_s:
                break
        count = int(np.clip(repetitions.longest_s / max(longest_s, 1e-9), FEWEST, repetitions.measured))
        forward_s = device.times_s(operator.forward, count)
        output = operator.forward()
        backward = backward_of(output)
        backward_s = device.times_s(backward, count)
        memory_bytes = device.peak_bytes((*operator.leaves, *operator.others, output, gradient, *backward()))
        return PartTime(
            float(np.median(forward_s)),
            float(np.median(backward_s)),
            _spread_s(forward_s),
            _spread_s(backward_s),
            count,
            memory_bytes,
        )
    except (RuntimeError, MemoryError) as error:  # PyTorch's own errors are all RuntimeError
        text = " ".join(str(error).split())
        if isinstance(error, MemoryError) or any(sign in text for sign in _SIGNS_OF_FULL_MEMORY):
            reason = OUT_OF_MEMORY
        else:
            reason = f"PyTorch: {text[:120]}"
    device.forget()
    raise CannotMeasure(reason)


def _spread_s(times_s: list[float]) -> float:
    low, high = np.quantile(times_s, (0.25, 0.75))
    return float(high - low) / 2


def torch_operator(kind: str, shape: Any, samples: int, device: Device) -> TorchOperator:
    """Return an operator with random inputs of ``samples`` samples; the seed is fixed."""
    device.torch.manual_seed(0)
    return BUILDERS[kind](Numbers(device), shape, samples)
