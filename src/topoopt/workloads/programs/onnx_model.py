"""A model in ONNX as a tensor program: shapes by the inference of the package ``onnx``, an extra of ours."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_bytes
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, checked_tensor

MOST_PASSES = 64
"""Rounds of inferring and computing; a model of so many layers that each wait for the one before has few of them."""
MOST_ELEMENTS = 1_000_000
_DRAWN = (
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
)
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
    data = read_bytes(path)
    onnx = _package(path)
    model = _model(onnx, data, path)
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


def _model(onnx: Any, data: bytes, path: str) -> Any:
    try:
        model = onnx.load_model_from_string(data)
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


def with_shapes(onnx: Any, model: Any) -> Any:
    """Return the model with the shapes that can be inferred; what is computed of them becomes constants.

    Raises
    ------
    Exception
        Whatever the inference of ``onnx`` raises on a graph that contradicts itself.
    """
    for _ in range(MOST_PASSES):
        model = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
        found = _computed(onnx, model.graph)
        if not found:
            break
        kept = [node for node in model.graph.node if not set(node.output) <= set(found)]
        del model.graph.node[:]
        model.graph.node.extend(kept)
        model.graph.initializer.extend(
            onnx.numpy_helper.from_array(value, name) for name, value in found.items()
        )
        stale = [value for value in model.graph.value_info if value.name in found]
        for value in stale:
            model.graph.value_info.remove(value)
    return model


def _computed(onnx: Any, graph: Any) -> dict[str, Any]:
    """Return the values of nodes that depend on shapes and on constants that are no weights, by their outputs."""
    shapes = _whole_shapes(graph)
    known: dict[str, Any] = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if _is_plain(tensor)
    }
    found: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "Shape" and node.input[0] in shapes:
            ends = {one.name: one.i for one in node.attribute}
            whole = shapes[node.input[0]]
            value = [np.array(whole[ends.get("start", 0) : ends.get("end", len(whole))], np.int64)]
        elif all(name in known for name in node.input if name) and node.op_type not in _DRAWN:
            value = _run(onnx, node, known)
        else:
            continue
        made = {name: array for name, array in zip(node.output, value, strict=False) if name}
        if value and all(isinstance(one, np.ndarray) and one.size <= MOST_ELEMENTS for one in made.values()):
            known.update(made)
            found.update(made)
    return found


def _run(onnx: Any, node: Any, known: Mapping[str, Any]) -> list[Any]:
    """Return the outputs of a node; none where its own package cannot compute it."""
    try:
        evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(node)
        inputs = {name: known[name] for name in node.input if name}
        return [np.asarray(one) for one in evaluator.run(None, inputs)]
    except Exception:  # whatever its operators raise: then it stays a node
        return []


def _whole_shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim):
            shapes[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
    return shapes


def _is_plain(tensor: Any) -> bool:
    """Return whether a constant is no weight: indices, sizes, or a single number, and not in a file of its own."""
    elements = int(np.prod(tuple(tensor.dims), dtype=np.int64))
    whole = tensor.data_type in (2, 3, 4, 5, 6, 7, 9, 12, 13)
    return elements <= MOST_ELEMENTS and (whole or elements <= 1) and not tensor.external_data
