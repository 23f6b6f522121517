"""TensorProgram: a model tensor by tensor, and the floating-point operations of its calls.

A multiplication and the addition that follows count as two; a bias counts as none. A number that comes out of anything
pointwise counts as one, a number that goes into a softmax or a normalization as five.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import prod
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST

CONSTANT = "constant"
"""Shapes, and numbers that depend on shapes alone, not on data."""
VIEW = "view"
"""Another shape, order or part of the same numbers: no work."""
POINTWISE = "pointwise"
"""One operation for each number that comes out."""
ROWWISE = "rowwise"
"""Softmax, normalizations and losses: five operations for each number that goes in."""
REDUCTION = "reduction"
"""One operation for each number that goes in."""
POOL = "pool"
CONCAT = "concat"
DENSE = "dense"
"""A matrix product, the bias included; with a weight or of two activations."""
CONV, CONV_TRANSPOSED = "conv", "conv-transposed"
ATTENTION = "attention"
TABLE, BAG = "table", "bag"
"""Rows of a weight, one for each index, or sums of them."""
RECURRENT = "recurrent"
EINSUM = "einsum"


def _listed() -> Mapping[str, str]:
    """Return the role of every operator that ``roles.toml`` lists; those of PyTorch are called ``aten.NAME``."""
    text = files("topoopt.workloads.programs").joinpath("roles.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    of_torch = {f"aten.{name}": role for role, names in tables["aten"].items() for name in names}
    return {**of_torch, **{name: role for role, names in tables["onnx"].items() for name in names}}


ROLES: Mapping[str, str] = {**_listed(), "_operator.getitem": VIEW}
"""Role of each operator, by its name in the file."""
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("aten.add", "aten.add_", "aten.sub", "aten.sub_", "Add", "Sub", "Sum"), "add"),
    **dict.fromkeys(("aten.mul", "aten.mul_", "aten.div", "aten.div_", "Mul", "Div"), "multiply"),
    **dict.fromkeys(("aten.relu", "aten.relu_", "Relu"), "relu"),
    **dict.fromkeys(("aten.softmax", "aten._softmax", "Softmax"), "softmax"),
    **dict.fromkeys(("aten.layer_norm", "aten.native_layer_norm", "LayerNormalization"), "layernorm"),
}
"""The kind of an operator where its name is more specific than its role."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Shape and type of a tensor.

    Attributes
    ----------
    shape : tuple of int
        Shape for the samples that the program was exported with.
    element_bytes : float
    is_floating : bool
        Whether gradients go through it; indices and masks are none of them.
    """

    shape: tuple[int, ...]
    element_bytes: int = 4
    is_floating: bool = True

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Size in bytes."""
        return self.elements * self.element_bytes


@dataclass(frozen=True, slots=True)
class ProgramNode:
    """One call of an operator.

    Attributes
    ----------
    operator : str
        Name in the file, such as ``aten.linear`` or ``Gemm``.
    label : str
        Readable name: the module, or the name in the file.
    inputs, outputs : tuple of str
        Tensors, in the order of the operator's arguments; an empty name is an omitted argument.
    attributes : mapping
        Numbers and lists that are no tensors.
    """

    operator: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """A model's forward pass.

    Attributes
    ----------
    what : str
        Kind of file that it was read from.
    place : str
        The file, for messages.
    tensors : mapping
        Every tensor whose shape is known, by name.
    parameters : mapping
        Readable names of the trained tensors, by tensor.
    data : tuple of str
        Inputs from the data loader.
    results : tuple of str
        Outputs of the model.
    nodes : tuple of ProgramNode
        Nodes in topological order: every producer precedes its consumers.
    """

    what: str
    place: str
    tensors: Mapping[str, Tensor]
    parameters: Mapping[str, str]
    data: tuple[str, ...]
    results: tuple[str, ...]
    nodes: tuple[ProgramNode, ...]


ROWWISE_FLOPS = 5.0
"""Maximum or mean, difference, exponential or square, sum, quotient."""
EQUATION = re.compile(r"([a-zA-Z.,\s]+)->([a-zA-Z.\s]*)")
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


def _pool(node: ProgramNode, inputs: Tensors, outputs: Tensors) -> float:
    """Return the window size per output number; if it is not given, all windows together are the input map."""
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
    match = EQUATION.fullmatch(equation)
    if match is None or "." in equation or len(match[1].split(",")) != len(inputs):
        raise InvalidInput(
            f'{node.label}: einsum "{equation}": expected letters for all dimensions, and an arrow'
        )
    sizes: dict[str, int] = {}
    for letters, tensor in zip(match[1].split(","), inputs, strict=True):
        sizes.update(zip(letters.strip(), tensor.shape, strict=False))
    return 2.0 * prod(sizes.values())


_RULES: Mapping[str, Callable[[ProgramNode, Tensors, Tensors], float]] = {
    VIEW: _view,
    POINTWISE: lambda node, inputs, outputs: float(outputs[0].elements),
    ROWWISE: lambda node, inputs, outputs: ROWWISE_FLOPS * inputs[0].elements,
    REDUCTION: lambda node, inputs, outputs: float(inputs[0].elements),
    POOL: _pool,
    CONCAT: _view,
    DENSE: _dense,
    CONV: _conv,
    CONV_TRANSPOSED: _conv_transposed,
    ATTENTION: _attention,
    TABLE: _view,
    BAG: _bag,
    RECURRENT: _recurrent,
    EINSUM: _einsum,
}


def checked_tensor(place: str, shape: Sequence[int], element_bytes: int, is_floating: bool) -> Tensor:
    """Return a tensor of a file.

    Raises
    ------
    InvalidInput
        If a dimension is below 0, or it has more bytes than can be counted.
    """
    if any(size < 0 for size in shape) or prod(shape) * element_bytes > LARGEST:
        raise InvalidInput(
            f"{place}: a tensor of {shown(list(shape))} numbers: expected sizes >= 0, of bytes up to 2**53"
        )
    return Tensor(tuple(shape), element_bytes, is_floating)
