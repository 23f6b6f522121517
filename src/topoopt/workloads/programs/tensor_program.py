"""The noun TensorProgram: what a model computes, tensor by tensor, whoever wrote it down."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import prod
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST

CONSTANT = "constant"
"""Shapes, and numbers that a shape alone decides: what they hold depends on no data."""
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
"""What an operator does, by its name in the file."""
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("aten.add", "aten.add_", "aten.sub", "aten.sub_", "Add", "Sub", "Sum"), "add"),
    **dict.fromkeys(("aten.mul", "aten.mul_", "aten.div", "aten.div_", "Mul", "Div"), "multiply"),
    **dict.fromkeys(("aten.relu", "aten.relu_", "Relu"), "relu"),
    **dict.fromkeys(("aten.softmax", "aten._softmax", "Softmax"), "softmax"),
    **dict.fromkeys(("aten.layer_norm", "aten.native_layer_norm", "LayerNormalization"), "layernorm"),
}
"""The kind of an operator where its name says more than what it does."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Shape and type of a tensor.

    Attributes
    ----------
    shape : tuple of int
        For the samples that the program was exported with.
    element_bytes : float
    is_floating : bool
        Whether gradients go through it; indices and masks are none of them.
    """

    shape: tuple[int, ...]
    element_bytes: int = 4
    is_floating: bool = True

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """What it takes."""
        return self.elements * self.element_bytes


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


@dataclass(frozen=True, slots=True)
class ProgramNode:
    """One call of an operator.

    Attributes
    ----------
    operator : str
        As the file calls it, such as ``aten.linear`` or ``Gemm``.
    label : str
        What a person calls it: the module or the name in the file.
    inputs, outputs : tuple of str
        Tensors, in the order of the operator's arguments; an empty name is an argument that is left out.
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
        Which kind of file it was.
    place : str
        The file, for messages.
    tensors : mapping
        Every tensor whose shape is known, by name.
    parameters : mapping
        What is trained: the names of tensors, and what people call them.
    data : tuple of str
        What comes from the data loader.
    results : tuple of str
        What the model hands back.
    nodes : tuple of ProgramNode
        In an order in which every producer stands before its consumers.
    """

    what: str
    place: str
    tensors: Mapping[str, Tensor]
    parameters: Mapping[str, str]
    data: tuple[str, ...]
    results: tuple[str, ...]
    nodes: tuple[ProgramNode, ...]
