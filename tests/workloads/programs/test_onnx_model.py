"""Models in ONNX, made here node by node: shapes, weights, what exporters compute of shapes, and what is refused."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import OperatorGraph, read_program

onnx = pytest.importorskip("onnx", reason="pip install 'topoopt[import]'")
FLOAT, INT64 = 1, 7


def weight(name: str, *shape: int) -> Any:
    return onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)


def whole(name: str, *values: int) -> Any:
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


def written(
    path: Path,
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[int, Sequence[Any]]],
    outputs: Sequence[str],
    constants: Sequence[Any] = (),
) -> str:
    """Write a model; inputs have a type and dimensions, numbers or names."""
    given = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    made = [onnx.helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    graph = onnx.helper.make_graph(list(nodes), "g", given, made, list(constants))
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), path)
    return str(path)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(
        kind, inputs.split(), outputs.split(), name=outputs.split(maxsplit=1)[0], **attributes
    )


def perceptron(path: Path, first: Any = "batch") -> str:
    nodes = [node("Gemm", "x w b", "h", transB=1), node("Relu", "h", "r"), node("MatMul", "r v", "y")]
    constants = [weight("w", 32, 8), weight("b", 32), weight("v", 32, 4)]
    return written(path, nodes, {"x": (FLOAT, [first, 8])}, ["y"], constants)


def test_a_perceptron(tmp_path: Path) -> None:
    graph, words = read_program(perceptron(tmp_path / "m.onnx"), {})
    assert words == "a model in ONNX: 2 operators of 3 calls, shapes for 1 sample"
    first, second = graph.operators
    assert (first.kind, first.inputs, first.parameter_bytes) == ("dense", (), 4 * (32 * 8 + 32))
    assert first.forward_flops_per_sample == 2 * 8 * 32 + 32
    assert first.memory_traffic_bytes_per_sample == 4 * (8 + 32)
    assert (second.inputs, second.parameter_bytes, second.output_bytes_per_sample) == ((0,), 4 * 128, 16)
    assert second.splits == {"batch", "out", "in"}


@pytest.mark.parametrize("settings", [{"batch": 16}, {"samples": 16}])
def test_the_first_dimension_is_as_large_as_is_said(settings: dict[str, int], tmp_path: Path) -> None:
    graph, _ = read_program(perceptron(tmp_path / "m.onnx"), settings)
    assert graph.batch_per_accelerator == 16
    assert graph.operators == read_program(perceptron(tmp_path / "n.onnx", 4), {})[0].operators


def test_a_table_is_placed_where_a_sample_has_one_row_and_a_lookup_where_it_has_several(
    tmp_path: Path,
) -> None:
    nodes = [
        node("Gather", "t i", "e"),
        node("Gather", "u j", "f"),
        node("ReduceSum", "f a", "s", keepdims=0),
    ]
    nodes.append(node("Add", "e s", "y"))
    constants = [weight("t", 100, 16), weight("u", 50, 16), whole("a", 1)]
    path = written(tmp_path / "m.onnx", nodes, {"i": (INT64, [4]), "j": (INT64, [4, 7])}, ["y"], constants)
    graph = read_program(path, {})[0]
    placed, lookup, both = graph.operators
    assert placed.kind == "embedding"
    assert placed.splits == {"rows", "columns"}
    assert placed.memory_traffic_bytes_per_sample == 16 * 4 + 8 + 16 * 4
    assert (lookup.kind, lookup.forward_flops_per_sample) == ("lookup", 7 * 16)  # the sum joins it
    assert (both.kind, both.inputs) == ("add", (0, 1))


def test_sizes_that_a_graph_computes_are_computed(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "size"),
        node("Gather", "size one", "length", axis=0),
        node("Range", "zero length step", "places"),
        node("Gather", "table places", "where"),
        node("Gather", "words x", "what"),
        node("Add", "what where", "y"),
    ]
    constants = [weight("table", 64, 8), weight("words", 500, 8)]
    constants += [
        onnx.numpy_helper.from_array(np.array(n, np.int64), name)
        for name, n in (("zero", 0), ("step", 1), ("one", 1))
    ]
    path = written(tmp_path / "m.onnx", nodes, {"x": (INT64, ["batch", "length"])}, ["y"], constants)
    with pytest.raises(InvalidInput, match='input x: dimension 1 has no size; give set="length=128"'):
        read_program(path, {})
    graph: OperatorGraph = read_program(path, {"length": 32, "batch": 2})[0]
    (lookup,) = graph.operators  # the sum of both joins it: places are of no data
    assert lookup.kind == "lookup"
    assert lookup.parameter_bytes == 4 * (64 * 8 + 500 * 8)
    assert lookup.output_bytes_per_sample == 4 * 32 * 8


def test_means_and_variances_are_not_trained(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c s b m v", "y")]
    constants = [weight("w", 8, 3, 3, 3), *(weight(name, 8) for name in "sbmv")]
    path = written(tmp_path / "m.onnx", nodes, {"x": (FLOAT, [2, 3, 6, 6])}, ["y"], constants)
    (conv,) = read_program(path, {})[0].operators
    assert conv.parameter_bytes == 4 * (8 * 27 + 2 * 8)
    assert conv.forward_flops_per_sample == 2 * 8 * 36 * 27 + 5 * 8 * 36


def test_an_einsum_counts_all_combinations(tmp_path: Path) -> None:
    nodes = [node("Einsum", "x z", "y", equation="bij,bjk->bik")]
    inputs = {"x": (FLOAT, [2, 3, 5]), "z": (FLOAT, [2, 5, 7])}
    (product,) = read_program(written(tmp_path / "m.onnx", nodes, inputs, ["y"]), {})[0].operators
    assert (product.kind, product.forward_flops_per_sample) == ("matmul", 2 * 3 * 5 * 7)


def test_operators_that_are_not_known_are_named(tmp_path: Path) -> None:
    nodes = [
        onnx.helper.make_node("Fold", ["x"], ["h"], domain="lab"),
        onnx.helper.make_node("Fold", ["h"], ["y"], domain="lab"),
    ]
    given = [onnx.helper.make_tensor_value_info("x", FLOAT, [2, 8])]
    made = [onnx.helper.make_tensor_value_info("y", FLOAT, [2, 8])]
    sets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("lab", 1)]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", given, made), opset_imports=sets)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    with pytest.raises(
        InvalidInput, match=r"operators that are not known: lab::Fold \(2\); count them by their bytes"
    ):
        read_program(str(path), {})


def test_without_the_package_the_remedy_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = perceptron(tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InvalidInput, match=r'onnx is not installed; pip install "topoopt\[import\]"'):
        read_program(path, {})
    with pytest.raises(InvalidInput, match=r"nothing\.onnx: no such file"):
        read_program(str(tmp_path / "nothing.onnx"), {})
