"""What operators of PyTorch and of ONNX do, by name: which rule counts each."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

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
