"""A model in ONNX as a tensor program: shapes by the inference of the package ``onnx``, an extra of ours."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_bytes
from topoopt.workloads.programs.onnx_constants import with_shapes
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, checked_tensor

ELEMENT_BYTES = {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 21, 22, 23, 24), 1),
    **dict.fromkeys((4, 5, 10, 16), 2),
    **dict.fromkeys((1, 6, 12), 4),
    **dict.fromkeys((7, 11, 13, 14), 8),
    15: 16,
}
"""By ``TensorProto.DataType``; numbers of four and of two bits count as one byte."""
FLOATING = (1, 10, 11, 14, 15, 16, 17, 18, 19, 20, 23, 24)
STATISTICS = {"BatchNormalization": (3, 4)}
"""Inputs of an operator that are measured and not trained: mean and variance."""
SUFFIX = ".onnx"


def is_onnx(path: str) -> bool:
    """Return whether a file is a model in ONNX, by its name."""
    return path.lower().endswith(SUFFIX)


def read_onnx(path: str, sizes: Mapping[str, int], samples: int | None = None) -> TensorProgram:
    """Return the program of an ONNX file; weights that lie in other files are not read.

    Parameters
    ----------
    sizes : mapping
        Of dimensions that have a name in the file; a first one that is not said is ``samples``, or 1.

    Raises
    ------
    InvalidInput
        If the package is missing, the file is no model, or a dimension or a shape is not known.
    """
    onnx = _package(path)
    model = _model(onnx, path)
    _set_sizes(model.graph, path, sizes, samples)
    try:
        inferred = with_shapes(onnx, model)
    except Exception as error:  # it raises errors of several libraries
        raise InvalidInput(f"{path}: no shapes can be inferred: {error}") from None
    return _program(onnx, inferred.graph, path)


def _package(path: str) -> Any:
    try:
        onnx = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
        importlib.import_module("onnx.inliner")
    except ImportError:
        raise InvalidInput(
            f"{path}: reading ONNX needs the package onnx: pip install 'topoopt[import]'"
        ) from None
    return onnx


def _model(onnx: Any, path: str) -> Any:
    try:
        model = onnx.load_model_from_string(read_bytes(path))
    except InvalidInput:
        raise
    except Exception as error:  # protobuf's, of which there are several
        raise InvalidInput(f"{path}: no model in ONNX, or cut short: {error}") from None
    if not model.graph.node:
        raise InvalidInput(f"{path}: no model in ONNX: it holds no operators")
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return model


def _set_sizes(graph: Any, path: str, sizes: Mapping[str, int], samples: int | None) -> None:
    """Give every dimension of an input a size."""
    constants = {tensor.name for tensor in graph.initializer}
    met: dict[str, int] = {}
    for value in graph.input:
        if value.name in constants:
            continue
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            name = dim.dim_param
            if name not in sizes and place:
                raise InvalidInput(
                    f'{path}: input {value.name}: dimension {place} has no size; give set="{name or "NAME"}=128", '
                    "or whatever it is"
                    if name
                    else f"{path}: input {value.name}: dimension {place} has neither size nor name; export it with one"
                )
            met[name] = dim.dim_value = sizes.get(name, samples or 1)
    unknown = [name for name in sizes if name not in met]
    if unknown:
        known = ", ".join(sorted(filter(None, met))) or "none"
        raise InvalidInput(
            f"{path}: set: {unknown[0]}: no input has a dimension of that name; there are {known}"
        )


def _program(onnx: Any, graph: Any, path: str) -> TensorProgram:
    tensors = dict(_declared(graph, path))
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for name, tensor in constants.items():
        kind = tensor.data_type
        tensors[name] = checked_tensor(f"{path}: {name}", tuple(tensor.dims), _bytes(kind), kind in FLOATING)
    measured = {
        node.input[place]
        for node in graph.node
        for place in STATISTICS.get(node.op_type, ())
        if place < len(node.input)
    }
    parameters = {
        name: name
        for name, tensor in tensors.items()
        if name in constants and tensor.is_floating and tensor.elements > 1 and name not in measured
    }
    data = tuple(value.name for value in graph.input if value.name not in constants)
    results = tuple(value.name for value in graph.output)
    nodes = tuple(_node(onnx, node) for node in graph.node)
    return TensorProgram("a model in ONNX", path, tensors, parameters, data, results, nodes)


def _declared(graph: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors whose shape is known."""
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
        if kind.HasField("shape") and min(sizes, default=0) >= 0:
            number = kind.elem_type
            place = f"{path}: {value.name}"
            yield value.name, checked_tensor(place, tuple(sizes), _bytes(number), number in FLOATING)


def _node(onnx: Any, node: Any) -> ProgramNode:
    attributes = {
        one.name: _plain(onnx.helper.get_attribute_value(one)) for one in node.attribute if one.type < 9
    }
    named = node.domain and node.domain != "ai.onnx"
    operator = f"{node.domain}::{node.op_type}" if named else _plain(node.op_type)
    return ProgramNode(operator, _plain(node.name), tuple(node.input), tuple(node.output), attributes)


def _plain(value: Any) -> Any:
    """Return a number, a text or a list; of a tensor nothing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float | str):
        return value
    return list(value) if hasattr(value, "__iter__") else None


def _bytes(number: int) -> int:
    return ELEMENT_BYTES.get(number, 4)
