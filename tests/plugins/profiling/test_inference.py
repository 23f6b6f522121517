"""Shapes that are inferred from bytes and operations make the same operators again."""

from dataclasses import replace

import pytest

from topoopt.plugins.profiling import infer_shapes
from topoopt.plugins.profiling.shapes import (
    AttentionShape,
    ConvShape,
    DenseShape,
    ElementwiseShape,
    EmbeddingShape,
    PoolShape,
    Shape,
    part_of,
)
from topoopt.workloads import MODELS, Operator, OperatorGraph, load_model, signature_of
from topoopt.workloads.zoo import layers

VARIANTS = [variant.name for entry in MODELS.values() for variant in entry.variants]


def rebuilt(op: Operator, shape: Shape) -> Operator:
    """The operator that the zoo makes of a shape."""
    name, source = op.name, op.inputs[:1]
    match shape:
        case DenseShape(width_in, width_out, positions, bias):
            made = layers.dense(name, source, width_in, width_out, positions=positions, bias=bias)
        case EmbeddingShape(rows, dim, bag, False):
            made = layers.lookup(name, source, rows, dim, bag)
        case EmbeddingShape(rows, dim, bag):
            made = layers.embedding(name, rows, dim, bag)
        case AttentionShape(hidden, heads, positions):
            made = layers.attention(name, source, source, hidden, heads, positions)
        case ConvShape(channels_in, channels, side, kernel, stride, padding):
            image = layers.Image(channels_in, side)
            made = layers.conv2d(name, source, image, channels, kernel, stride, padding)[0]
        case PoolShape(channels, side, kernel, stride, padding):
            made = layers.pool(name, op.inputs[0], layers.Image(channels, side), kernel, stride, padding)[0]
        case ElementwiseShape(elements, inputs):
            made = getattr(layers, op.kind)(name, op.inputs if inputs == 2 else op.inputs[0], elements)
        case _:
            made = layers.concat(name, op.inputs, sum(shape.widths))  # type: ignore[union-attr]
    return made


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_operator_of_the_zoo_has_a_shape_that_makes_it_again(variant: str) -> None:
    graph = load_model(variant)
    shapes, left_out = infer_shapes(graph)
    assert not left_out
    for index, op in enumerate(graph.operators):
        assert signature_of(rebuilt(op, shapes[index])) == signature_of(op), op.name


def test_windows_of_resnet_are_those_that_it_was_built_with() -> None:
    shapes, _ = infer_shapes(load_model("resnet50"))
    pools = [shape for shape in shapes.values() if isinstance(shape, PoolShape)]
    assert pools == [PoolShape(64, 115, 3, 2, 1), PoolShape(2048, 8, 7, 1, 0)]
    assert shapes[0] == ConvShape(3, 64, 229, 7, 2, 3)


def test_dense_features_beside_the_towers_are_an_input_of_the_concatenation() -> None:
    graph = load_model("candle-16")
    shapes, _ = infer_shapes(graph)
    concat = next(shapes[i] for i, op in enumerate(graph.operators) if op.kind == "concat")
    assert concat.widths == (4096, 4096, 4096, 4096, 4096, 2)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "gru"}, "kind gru: known are add, attention, concat"),
        ({"weights": ()}, "expected parameters, got none"),
        ({"forward_flops_per_sample": 1.0}, "its flops are not those of any dense operator"),
    ],
)
def test_an_operator_that_cannot_be_understood_is_named_with_the_reason(
    change: dict[str, object], reason: str
) -> None:
    op = replace(layers.dense("d", (), 8, 4), **change)  # type: ignore[arg-type]
    shapes, left_out = infer_shapes(OperatorGraph("mine", (op,), 1))
    assert not shapes
    assert reason in left_out["d"]


def test_a_part_has_its_share_of_the_channels_rounded_up() -> None:
    assert part_of(DenseShape(10, 7), 4, "out") == DenseShape(10, 2)
    assert part_of(DenseShape(10, 7), 4, "in") == DenseShape(3, 7)
    assert part_of(EmbeddingShape(100, 8, 10), 4, "rows") == EmbeddingShape(25, 8, 3)
    assert part_of(EmbeddingShape(100, 8, 10), 4, "columns") == EmbeddingShape(100, 2, 10)
    assert part_of(PoolShape(3, 8, 3, 2, 1), 4, "out") == PoolShape(3, 8, 3, 2, 1)
