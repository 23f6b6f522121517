"""Floating-point operations of a call, by what it does; the same rules as those of the zoo's layers.

A multiplication and the addition that follows count as two; a bias counts as none. A number that comes out of anything
pointwise counts as one, a number that goes into a softmax or a normalization as five.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod

from topoopt.base.errors import InvalidInput
from topoopt.workloads.programs import tensor_program as roles
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor

ROWWISE_FLOPS = 5.0
"""Maximum or mean, difference, exponential or square, sum, quotient."""
EINSUM = re.compile(r"\s*([a-zA-Z.,\s]+)->([a-zA-Z.\s]*)\s*")

Tensors = Sequence[Tensor]


def flops_of(role: str, node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return the floating-point operations of a call for all samples of the file.

    Raises
    ------
    InvalidInput
        If an einsum is not one that is written out.
    """
    return _RULES[role](node, inputs, outputs)


def _view(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    return 0.0


def _pointwise(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    return float(outputs[0].elements)


def _rowwise(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    return ROWWISE_FLOPS * inputs[0].elements


def _reduction(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    return float(inputs[0].elements)


def _pool(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return the window of each number; where it is not said all windows together are the map that goes in."""
    window = node.attributes.get("kernel_size") or node.attributes.get("kernel_shape")
    if not isinstance(window, list) or not all(isinstance(side, int) for side in window):
        return float(inputs[0].elements)
    dimensions = len(inputs[0].shape) - 2
    sides = window * dimensions if len(window) == 1 else window
    return float(prod(sides) * outputs[0].elements)


def _dense(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return two for each number that comes out and each that is summed for it."""
    first = inputs[1] if node.operator in ("aten.addmm", "aten.addmm_", "aten.baddbmm") else inputs[0]
    transposed = node.operator == "Gemm" and bool(node.attributes.get("transA"))
    summed = first.shape[0 if transposed else -1] if first.shape else 1
    return 2.0 * outputs[0].elements * summed


def _conv(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return two for each number that comes out and each of its window; a window is a filter of the kernel."""
    if node.attributes.get("transposed"):
        return _conv_transposed(node, inputs, outputs)
    kernel = inputs[1]
    return 2.0 * outputs[0].elements * kernel.elements / kernel.shape[0]


def _conv_transposed(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    kernel = inputs[1]
    return 2.0 * inputs[0].elements * kernel.elements / kernel.shape[0]


def _attention(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return those of the scores and of the weighted sum, over the whole sequence, as the zoo's."""
    queries, keys = inputs[0], inputs[1]
    memory = keys.shape[-2]
    return 2.0 * memory * (queries.elements + outputs[0].elements)


def _table(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    return 0.0


def _bag(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return one for each number that is summed."""
    table, rows = inputs[0], inputs[1]
    return float(rows.elements * table.shape[-1])


def _recurrent(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return two for each weight of a matrix, at every position."""
    positions = inputs[0].elements / max(inputs[0].shape[-1], 1)
    of_onnx = not node.operator.startswith("aten.")
    matrices = inputs[1:3] if of_onnx else [tensor for tensor in inputs[1:] if len(tensor.shape) == 2]
    return 2.0 * positions * sum(one.elements for one in matrices)


def _einsum(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return two for each combination of all letters."""
    equation = str(node.attributes.get("equation", ""))
    match = EINSUM.fullmatch(equation)
    if match is None or "." in equation or len(match[1].split(",")) != len(inputs):
        raise InvalidInput(
            f'{node.label}: einsum "{equation}": expected letters for all dimensions, and an arrow'
        )
    sizes: dict[str, int] = {}
    for letters, tensor in zip(match[1].split(","), inputs, strict=True):
        sizes.update(zip(letters.strip(), tensor.shape, strict=False))
    return 2.0 * prod(sizes.values())


_RULES: Mapping[str, Callable[[ProgramNode, Tensors, Tensors], float]] = {
    roles.VIEW: _view,
    roles.POINTWISE: _pointwise,
    roles.ROWWISE: _rowwise,
    roles.REDUCTION: _reduction,
    roles.POOL: _pool,
    roles.CONCAT: _view,
    roles.DENSE: _dense,
    roles.CONV: _conv,
    roles.CONV_TRANSPOSED: _conv_transposed,
    roles.ATTENTION: _attention,
    roles.TABLE: _table,
    roles.BAG: _bag,
    roles.RECURRENT: _recurrent,
    roles.EINSUM: _einsum,
}
