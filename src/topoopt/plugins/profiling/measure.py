"""Measure one part of an operator: warm-up, repetitions, medians, spread and memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling.device import Device
from topoopt.plugins.profiling.shapes import Shape, part_of
from topoopt.plugins.profiling.torch_operators import TorchOperator, torch_operator
from topoopt.workloads import PartSize, PartTime

OUT_OF_MEMORY = "out of memory"
FEWEST = 3
"""Repetitions of a size that takes longer than :attr:`Repetitions.longest_s`."""
_SIGNS_OF_FULL_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often a pass is run.

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
    """Return what one part of an operator takes on one accelerator.

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
        return _measured(torch_operator(kind, part, size.samples, device), device, repetitions)
    except (RuntimeError, MemoryError) as error:  # PyTorch's own errors are all RuntimeError
        reason = _reason(error)
    device.forget()
    raise CannotMeasure(reason)


def _measured(operator: TorchOperator, device: Device, repetitions: Repetitions) -> PartTime:
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


def _spread_s(times_s: list[float]) -> float:
    low, high = np.quantile(times_s, (0.25, 0.75))
    return float(high - low) / 2


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(sign in text for sign in _SIGNS_OF_FULL_MEMORY):
        return OUT_OF_MEMORY
    return f"PyTorch: {text[:120]}"
