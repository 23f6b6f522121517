"""What an ONNX graph computes of shapes alone, computed: many exporters write sizes so, and shapes rest on them."""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

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
